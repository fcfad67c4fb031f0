"""The live demo network in blocks: the node follows its block node, from the last record file on."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ledger.ingest.hash_chain import Position
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.stream_file import StreamFile
from mirror.core.config.setting import OperatorError
from mirror.demo.network import Network
from mirror.demo.publish import live_blocks
from mirror.demo.publish.block_node import BlockNodeServer
from mirror.demo.publish.history import History, next_block
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.keys import first_book, nodes
from mirror.demo.streams.state_changes import KnownAccounts
from tests.api import Api

Live = tuple[Publisher, Network]


@pytest.fixture
def live(tmp_path: Path, ledger_tables: None) -> Live:
    """A network that has published two record files, and gone over after a third one."""
    publisher = Publisher(tmp_path, nodes())
    for network, block in History(blocks=2, tps=5, seed=1).play(nodes()):
        publisher.publish(network, block)
    live_blocks.switch_to_blocks(publisher, network)
    return publisher, network


def load(publisher: Publisher, address: str, last: int) -> Progress:
    """Load what a live node would, up to a block."""
    stopping, quorums = threading.Event(), Quorums(first_book())

    def files() -> Iterator[StreamFile | None]:
        for file in live_blocks.files(publisher, quorums, report, stopping):
            yield file
            if file and file.record_file().block_number == last:
                return

    with live_blocks.only_block_node(address), Reporting(source="a test") as report:
        return Pipeline(LoadOptions(quorums=quorums)).run(files())


def test_the_node_goes_over_with_the_network_and_follows_its_block_node(live: Live) -> None:
    publisher, network = live
    with BlockNodeServer(folder=publisher.blocks) as server:
        for _ in range(3):
            publisher.publish(network, next_block(network, 5))
        server.refresh()
        done = load(publisher, f"127.0.0.1:{server.port}", last=5)

    assert (done.files, done.verified) == (6, 6)
    stored = Api().get("/api/v1/blocks?order=asc").json()["blocks"]
    assert [block["number"] for block in stored] == list(range(6))
    assert [block["hapi_version"] for block in stored] == ["0.69.0"] * 3 + ["0.76.0"] * 3
    assert [block["name"].endswith(".blk") for block in stored] == [False] * 3 + [True] * 3


def test_restarted_block_node_has_blocks_missing_in_the_database(
    live: Live,
) -> None:
    publisher, network = live
    for last in (4, 6):
        for _ in range(2):
            publisher.publish(network, next_block(network, 5))
        with BlockNodeServer(folder=publisher.blocks) as server:
            load(publisher, f"127.0.0.1:{server.port}", last)
        stored = Position.stored()
        assert stored
        assert publisher.is_loaded(stored)


def test_the_network_learns_how_far_the_database_has_come(live: Live) -> None:
    publisher, network = live
    publisher.publish(network, next_block(network, 5))
    stopping = threading.Event()

    class Noted(Publisher):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "loaded" and self.loaded and self.loaded.index == 3:
                stopping.set()

    noted = Noted(publisher.folder, nodes())
    with BlockNodeServer(folder=publisher.blocks) as server:
        live_blocks.follow(noted, f"127.0.0.1:{server.port}", stopping)

    assert noted.loaded == Position.stored()


def test_switched_network_stays_with_blocks_and_names_its_ledger_once(
    live: Live,
) -> None:
    publisher, _ = live
    again = Publisher(publisher.folder, nodes())
    network, last = again.resume()

    assert last.record_file().version == 6
    assert again.writes_blocks
    (published,) = network.world.system.ledger_ids.values()
    assert [len(key) for _, _, key in published.contributions] == [192] * 4
    assert again.publish(network, next_block(network, 5)).number == 3


def test_what_a_network_knows_of_its_accounts_is_what_its_transactions_told() -> None:
    learned = KnownAccounts()
    *_, (network, block) = history = list(History(blocks=8, tps=25, seed=3).play(()))
    for _, each in history:
        for transaction in each.transactions:
            learned.learn(transaction)

    known = live_blocks.known_accounts(network)

    def changes(accounts: KnownAccounts) -> list[bytes]:
        return [change.SerializeToString() for change in accounts.changes(block.transactions)]

    assert len(changes(learned)) > 10
    assert changes(known) == changes(learned)


def test_a_port_that_another_program_has_is_named() -> None:
    with (
        BlockNodeServer() as server,
        pytest.raises(OperatorError, match=f"Port {server.port} of 127.0.0.1 is taken .*_DEMO_BLOCKNODEPORT"),
    ):
        BlockNodeServer(server.port)


def test_a_block_node_needs_a_live_network() -> None:
    with pytest.raises(CommandError, match="--block-node says how the demo network goes on: it needs --live"):
        call_command("up", "--block-node")
