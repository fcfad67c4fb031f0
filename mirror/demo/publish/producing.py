"""The blocks of a live network, as time passes.

What is over is forgotten, so that blocks take no longer after days than at first. The world has its whole
history, for tests that compare it with the mirror; a live network retains what can still change, and the last
of what can't.
"""

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from mirror.core import logs
from mirror.core.config import clock
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.streams.record_files import Block
from mirror.demo.world.files import APPEND

if TYPE_CHECKING:
    # Not imported at run time, as it takes long and only the process of the network needs it.
    from mirror.demo.network import Network
    from mirror.demo.world.world import World


log = logs.logger("mirror.demo")

SOURCE = "the live demo network"
TPS = 5
# Loaded blocks are not needed any more, but an auditor may want to look at the last ones.
BLOCKS_RETAINED = 1_000
# What is over is forgotten after so many blocks.
BLOCKS_REMEMBERED = 100
_RETAINED = 20
# A network further ahead of the clock than this waits.
_MAX_AHEAD_SECONDS = 60

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def next_blocks(network: "Network", stopping: threading.Event) -> Iterator[Block | None]:
    """Yield the blocks of a network as time passes, None before it waits for the next one.

    Time never goes back in a network: after a clock that ran ahead was set, it waits.
    """
    # Imported here, as only this process needs it.
    from mirror.demo.actions import topics
    from mirror.demo.publish.history import BLOCK_SECONDS, next_block, wait

    is_waiting = False
    while True:
        yield None
        if stopping.wait(BLOCK_SECONDS - time.time() % BLOCK_SECONDS):
            return
        ahead = (network.now - clock.now_ns()) // NANOS_PER_SECOND
        if ahead > _MAX_AHEAD_SECONDS:
            if not is_waiting:
                log.warning("demo_network_waits", seconds=ahead)
            is_waiting = True
            continue
        is_waiting = False
        # A block holds the transactions of the two seconds before it.
        yield from wait(network, clock.now_ns() - BLOCK_SECONDS * NANOS_PER_SECOND)
        # A new subscriber of that topic gets a message within one block.
        topics.submit_to_oldest(network)
        block = next_block(network, TPS)
        if block.number % BLOCKS_REMEMBERED == 0:
            prune(network.world)
        yield block


# FORGETTING
def prune(world: "World") -> None:
    """Forget what is over and not used again."""
    tokens, issued = world.tokens, world.tokens.issued
    _retain_last(issued, lambda token: token.deleted)
    _retain(tokens.hbar_allowances, lambda key, allowance: allowance.amount)
    _retain(tokens.token_allowances, lambda key, allowance: allowance.amount and key[2] in issued)
    _retain(tokens.nft_allowances, lambda key, allowance: allowance.approved and key[2] in issued)
    _retain(tokens.airdrops, lambda key, airdrop: airdrop.state == "PENDING" and key[2] in issued)
    _forget_contracts(world)
    _retain_last(world.topics, lambda topic: topic.deleted)
    for topic in world.topics.values():
        del topic.messages[:-_RETAINED]
    _retain_last(world.files, lambda file: file.deleted and file.number not in world.system.deleted_files)
    for file in world.files.values():
        # The changes before the contents were last replaced.
        changes = enumerate(file.changes)
        starts = (index for index, change in changes if change.kind != APPEND and change.contents)
        del file.changes[: max(starts, default=0)]
    _retain_last(world.schedules, lambda schedule: not schedule.is_open)
    _retain_last(world.nodes.by_id, lambda node: node.deleted)
    _retain_last(world.nodes.registered, lambda node: node.deleted)
    for events in (world.contracts.results, world.system.freezes, world.system.draws, world.staking.updates):
        del events[:-_RETAINED]
    # Accounts that were closed long ago, and their files.
    closed = set(world.closed)
    _retain(world.accounts, lambda number, account: not account.deleted or number in closed)
    _retain(world.files, lambda number, file: file.owner in world.accounts)
    _retain(world.staking.stakes, lambda number, stake: number in world.accounts)


def _retain_last(known: dict[_Key, _Value], is_finished: Callable[[_Value], bool]) -> None:
    """Retain what is not over, and the last of what is."""
    finished = [key for key, value in known.items() if is_finished(value)]
    for key in finished[:-_RETAINED]:
        del known[key]


def _retain(known: dict[_Key, _Value], fits: Callable[[_Key, _Value], object]) -> None:
    for key in [key for key, value in known.items() if not fits(key, value)]:
        del known[key]


def _forget_contracts(world: "World") -> None:
    """Forget contracts that are no longer called, and the contracts they created."""
    contracts, accounts = world.contracts, world.accounts
    called = {number for numbers in contracts.living.values() for number in numbers}
    for contract in list(contracts.deployed.values()):
        # Its creator precedes it in this order.
        lost = contract.creator is not None and contract.creator not in contracts.deployed
        if contract.number in called and not lost:
            continue
        if lost and contract.number in called:
            contracts.retire(contract)
        del contracts.deployed[contract.number], contracts.by_address[contract.address]
        del accounts[contract.number]
    _retain(contracts.hooks, lambda key, hook: key[0] in accounts and not accounts[key[0]].deleted)
    for contract in contracts.deployed.values():
        # For other kinds the places of the parties matter.
        if contract.kind in ("Coin", "Exchange"):
            contract.parties = [party for party in contract.parties if not accounts[party].deleted]
