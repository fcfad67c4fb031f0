"""After every block the API answers with the state of the simulated network's own model.

`MIRROR_TEST_SEEDS=20` runs that many networks, each for 2,000 transactions or more
(`MIRROR_TEST_TRANSACTIONS`), and checks that each has transactions of every type.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mirror.core.values.hapi import transaction_types
from mirror.demo.publish.history import ALL, History
from mirror.demo.streams.record_files import Block
from mirror.demo.world.world import World
from tests.e2e import (
    accounts,
    allowances,
    contracts,
    hooks,
    network,
    nfts,
    registered_nodes,
    results,
    schedules,
    stream,
    tokens,
    topics,
)
from tests.e2e.bucket import Bucket
from tests.e2e.life import Life
from tests.e2e.rest import Rest
from tests.ledger.ingest.load import load, settings
from tests.ledger.ingest.tables import contents, empty_tables, versions_meet

pytestmark = pytest.mark.usefixtures("ledger_tables")

LONG = "MIRROR_TEST_SEEDS" in os.environ
SEEDS = int(os.environ.get("MIRROR_TEST_SEEDS", "1"))
TRANSACTIONS = int(os.environ.get("MIRROR_TEST_TRANSACTIONS", "2000" if LONG else "300"))
# This many transactions include some of every type.
ENOUGH_FOR_ALL = 2_000
TYPICAL_BLOCK = 60 if LONG else 30
# Of tables whose versions are kept.
KEYS = {
    "crypto_allowance": "owner, spender",
    "custom_fee": "entity_id",
    "entity": "id",
    "entity_stake": "id",
    "nft": "token_id, serial_number",
    "nft_allowance": "owner, spender, token_id",
    "node": "node_id",
    "token": "token_id",
    "token_account": "account_id, token_id",
    "token_airdrop": "sender_account_id, receiver_account_id, token_id, serial_number",
    "token_allowance": "owner, spender, token_id",
    "topic": "id",
}

CHECKS: tuple[Callable[[Rest, World, Random], None], ...] = (
    accounts.check,
    tokens.check,
    nfts.check,
    allowances.check,
    contracts.check,
    results.check,
    hooks.check,
    network.check,
    registered_nodes.check,
    topics.check,
    schedules.check,
)
CHECKS_OF_THE_PAST: tuple[Callable[[Rest, Life, int, Random], None], ...] = (
    accounts.check_past,
    tokens.check_past,
    nfts.check_past,
    contracts.check_past,
    hooks.check_past,
    network.check_past,
    stream.check_past,
)


@pytest.mark.checklist("FILE-01", "MRG-03", "MRG-04", "MRG-05", "MRG-11", "XFER-04")
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_rest_answers_match_the_network(seed: int, tmp_path: Path) -> None:
    began = time.monotonic()
    life, choose = Life(seed), Random(seed)
    rest, bucket = Rest(choose), Bucket(tmp_path)
    live(rest, life, bucket, choose)
    versions_meet(KEYS)
    undisturbed = contents()
    crashes = load_again(rest, life, bucket, choose)
    again = contents()
    for table in undisturbed | again:
        assert again.get(table) == undisturbed.get(table), table

    counts = count(life.blocks)
    print(
        f"\nseed {seed}: {life.transactions} transactions in {len(life.blocks)} blocks, "
        f"{rest.requests} requests, {crashes['aborted']} loads aborted, {crashes['killed']} killed, "
        f"{time.monotonic() - began:.1f} s"
    )
    print(", ".join(f"{name} {counts[name]}" for name in transaction_types.NUMBERS if counts[name]))
    missing = transaction_types.NUMBERS.keys() - counts.keys()
    assert not (TRANSACTIONS >= ENOUGH_FOR_ALL and missing), f"never happened: {', '.join(sorted(missing))}"


def test_rest_answers_match_a_network_in_which_all_actions_happened() -> None:
    """The networks above are too young for airdrops that are over, allowances for all, or slots of hooks."""
    *_, (network, _) = played = list(History(blocks=10, tps=100, seed=1).play(()))
    assert {action.perform for action in ALL} == set(network.performed)
    load(*(block for _, block in played))
    for check in CHECKS:
        check(Rest(Random(1)), network.world, Random(1))


def live(rest: Rest, life: Life, bucket: Bucket, choose: Random) -> None:
    """Let the network live, and compare it with the API after every block."""
    loaded = 0
    while loaded < len(life.blocks):
        bucket.publish(life.blocks[loaded : loaded + 1])
        bucket.load(loaded)
        loaded += 1
        agrees(rest, life, loaded, choose)
        stream.check(rest, life.blocks[loaded - 1], choose)
        if choose.random() < 0.2:
            agrees_of_the_past(rest, life, loaded, choose)
        if loaded == len(life.blocks) and life.transactions < TRANSACTIONS:
            life.go_on(choose.randint(1, 2 * TYPICAL_BLOCK))
    agrees_of_the_past(rest, life, len(life.blocks), choose)


def load_again(rest: Rest, life: Life, bucket: Bucket, choose: Random) -> Counter[str]:
    """Load all of it again in batches of any size, while the loader is killed and the database fails.

    Compares whenever a loader has stopped; half of it each time, as the tables are compared in the end.
    """
    crashes = Counter[str]()
    loaded = len(life.blocks)
    while loaded < len(life.blocks) or not (crashes["aborted"] and crashes["killed"]):
        if loaded == len(life.blocks):
            empty_tables()
            loaded = 0
        count = min(choose.choice((1, 2, 5, 10)), len(life.blocks) - loaded)
        loaded = load_some(rest, bucket, loaded, count, crashes, choose)
        if loaded:
            agrees(rest, life, loaded, choose, share=0.5)
            agrees_of_the_past(rest, life, loaded, choose, share=0.5)
    return crashes


def agrees(rest: Rest, life: Life, blocks: int, choose: Random, share: float = 1) -> None:
    world = life.ends[blocks - 1].world
    for check in CHECKS:
        if choose.random() < share:
            check(rest, world, choose)


def agrees_of_the_past(rest: Rest, life: Life, blocks: int, choose: Random, share: float = 1) -> None:
    for check in CHECKS_OF_THE_PAST:
        if choose.random() < share:
            check(rest, life, blocks, choose)


def load_some(
    rest: Rest, bucket: Bucket, first: int, count: int, crashes: Counter[str], choose: Random
) -> int:
    """Load some more blocks, or try to, in batches of any size. Return how many are loaded."""
    with settings(importer__parser__record__batch__maxItems=choose.choice((1, 50, 200, 60_000))):
        if crashes["aborted"] == 0 or choose.random() < 0.2:
            bucket.load_and_abort(first, count, choose)
            crashes["aborted"] += 1
        elif crashes["killed"] == 0 or choose.random() < 0.3:
            crashes["killed"] += bucket.load_and_kill(first, count, choose)
        else:
            bucket.load(first, count)
    return number_of_blocks(rest)


def number_of_blocks(rest: Rest) -> int:
    newest = rest.get("blocks", limit=1)["blocks"]
    return newest[0]["number"] + 1 if newest else 0


def count(blocks: list[Block]) -> Counter[str]:
    """Count the transactions of each type."""
    numbers = (stream.type_number(one) for block in blocks for one in block.transactions)
    return Counter(map(transaction_types.name, numbers))
