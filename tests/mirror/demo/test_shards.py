"""A demo network is in the shard and realm of the settings."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.balance_file import read_balance_file
from ledger.stream.source.local import find_record_files
from mirror.core import config
from mirror.core.values import entity_id
from mirror.demo.publish.history import BalanceWriter, BlockWriter, History, next_block
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.keys import first_book, nodes
from tests.api import Api

SHARD, REALM = 1, 2
# Ids in another shard or realm; 0.0.0 is none.
ELSEWHERE = re.compile(r'"0\.0\.[1-9]\d*')
LISTS = (
    "accounts?limit=100&balance=true",
    "accounts?limit=100&order=desc",
    "balances?limit=100",
    "blocks",
    "contracts?limit=100",
    "contracts/results?limit=100",
    "contracts/results/logs?limit=100",
    "network/nodes",
    "network/supply",
    "schedules?limit=100",
    "tokens?limit=100",
    "topics/{topic}/messages?limit=100",
    "transactions?limit=100",
    "transactions?limit=100&order=asc",
)


@pytest.fixture
def own(settings_of: Callable[..., None]) -> None:
    settings_of({"common.shard": SHARD, "common.realm": REALM})


@pytest.mark.usefixtures("own", "ledger_tables")
@pytest.mark.parametrize("blocks_from", [None, 8], ids=["record files", "blocks"])
def test_all_entities_of_a_demo_network_are_in_its_shard_and_realm(
    api: Api, tmp_path: Path, blocks_from: int | None
) -> None:
    writer = BlockWriter(tmp_path, "demo", blocks_from=blocks_from or 12)
    *_, (network, _) = played = list(History(12, 60, seed=3, blocks_from=blocks_from).play(nodes()))
    for _, block in played:
        writer.write(block)
    Pipeline(LoadOptions(quorums=Quorums(first_book()))).run(find_record_files([tmp_path]))
    api.budgeted = False
    world = network.world

    topic = next(number for number, topic in world.topics.items() if topic.messages)
    for path in LISTS:
        answer = api.get(f"/api/v1/{path.format(topic=topic)}")
        assert answer.status == 200, path
        assert not ELSEWHERE.search(answer.body.decode()), path
    for path in (
        *(f"accounts/{number}" for number in world.people[:5]),
        *(f"tokens/{number}" for number in list(world.tokens.issued)[:5]),
        *(f"contracts/{number}" for number in list(world.contracts.deployed)[:5]),
        *(f"schedules/{number}" for number in list(world.schedules)[:5]),
    ):
        assert api.get(f"/api/v1/{path}").status == 200, path
    listed = api.get("/api/v1/network/nodes").json()["nodes"]
    assert {each["node_account_id"] for each in listed} >= {f"1.2.{number}" for number in (3, 4, 5, 6)}


@pytest.mark.usefixtures("own")
def test_its_files_are_in_folders_of_its_nodes(tmp_path: Path) -> None:
    for network, block in History(blocks=2, tps=5, seed=1).play(nodes()):
        block.write(tmp_path)
        BalanceWriter(tmp_path, nodes(), 15).after(network.world, block)

    folders = {path.name for path in (tmp_path / "recordstreams").glob("record*.*")}
    assert folders == {f"record1.2.{number}" for number in (3, 4, 5, 6)}
    (balances, *_) = sorted((tmp_path / "accountBalances/balance1.2.3").glob("*_Balances.pb.gz"))
    held = list(read_balance_file(balances.name, balances.read_bytes()).holdings())
    assert held
    assert {entity_id.decode(each.account_id)[:2] for each in held} == {config.shard_and_realm()}


@pytest.mark.usefixtures("own")
def test_a_network_that_resumes_stays_in_it(tmp_path: Path) -> None:
    publisher = Publisher(tmp_path, nodes())
    for played, block in History(blocks=2, tps=5, seed=1).play(nodes()):
        publisher.publish(played, block)

    network, _ = Publisher(tmp_path, nodes()).resume()
    block = next_block(network, tps=5)

    assert {entity_id.from_account(each.record.transactionID.accountID) for each in block.transactions} == {
        config.own_id(each.record.transactionID.accountID.accountNum) for each in block.transactions
    }


def test_a_network_of_another_realm_does_not_resume(settings_of: Callable[..., None], tmp_path: Path) -> None:
    publisher = Publisher(tmp_path, nodes())
    for played, block in History(blocks=2, tps=5, seed=1).play(nodes()):
        publisher.publish(played, block)
    assert publisher.is_resumable

    settings_of({"common.shard": SHARD, "common.realm": REALM})

    assert not publisher.is_resumable
