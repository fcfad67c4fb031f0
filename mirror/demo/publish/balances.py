"""Balance files of the network: what each account holds, signed by all nodes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mirror.core import config
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.streams.balance_files import compose_balances
from mirror.demo.streams.record_files import Block
from mirror.demo.streams.signing import SigningNode
from mirror.demo.world.world import World


class BalanceWriter:
    """Writes a balance file at the end of the first block of every `minutes` of the network's time."""

    def __init__(self, folder: Path, nodes: Sequence[SigningNode], minutes: float) -> None:
        self._folder = folder
        self._nodes = nodes
        self._every = round(minutes * 60 * NANOS_PER_SECOND)
        self._period = -1
        self.files = 0

    def after(self, world: World, block: Block) -> None:
        """Write the balances after a block, if it is the first of its period."""
        if not block.transactions:
            return
        at = max(each.consensus_timestamp for each in block.transactions)
        if at // self._every == self._period:
            return
        self._period = at // self._every
        compose_balances(at, holdings(world), nodes=self._nodes).write(self._folder)
        self.files += 1


def holdings(world: World) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Yield each account with its tinybars, and its units by token; also of tokens that it holds none of.

    Ids are encoded.
    """
    tokens: dict[int, dict[int, int]] = {}
    for token in world.tokens.issued.values():
        for holder, relationship in token.relationships.items():
            tokens.setdefault(holder, {})[config.own_id(token.number)] = relationship.balance
    for number, account in sorted(world.accounts.items()):
        if not account.deleted:
            yield config.own_id(number), account.balance, tokens.get(number, {})
