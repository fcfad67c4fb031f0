"""Following a bucket: which of the published files are loaded, and what keeps a file waiting."""

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ledger.ingest.following.follower import Follower
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.record_names import signature_name
from ledger.stream.signature.quorum import NoAddressBook
from ledger.stream.source import incidents
from ledger.stream.source.download import PathType
from mirror.models import LoaderState
from mirror.node.loading import following as mirror_following
from tests.composing import Composer, Layout
from tests.ledger.ingest.following.network import NODES, Network, download, follow, loaded
from tests.ledger.ingest.load import stored
from tests.ledger.stream.source.servers import BUCKET, S3Server, web_server
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")

Settings = Callable[..., None]


# SOURCES


@pytest.mark.parametrize("source", ["folder", "s3", "http"])
@pytest.mark.parametrize("layout", Layout)
def test_published_files_are_loaded_from_every_kind_of_source(
    network: Network, source: str, layout: Layout
) -> None:
    network.happen(3, layout=layout)
    if source == "folder":
        done = follow(network)
    elif source == "s3":
        with S3Server(network.folder) as server:
            done = follow(network, download(f"s3://{BUCKET}", endpoint=server.endpoint))
    else:
        with web_server(network.folder) as address:
            done = follow(network, download(address))

    assert loaded() == network.files
    assert (done.files, done.verified) == (3, 3)
    assert len(done.signed_by) >= 2
    assert stored("sidecar_file", "count") == [(1,)] * 3


@pytest.mark.parametrize("name", ["mine", "testnet"])
def test_a_bucket_of_the_operators_choice_is_followed_from_its_beginning(
    network: Network, tmp_path: Path, settings_of: Settings, name: str
) -> None:
    network.happen(3)
    book = tmp_path / "book.bin"
    book.write_bytes(network.book)
    stopping = threading.Event()
    with S3Server(network.folder) as server:
        settings_of(
            {
                "network": name,
                "importer.initialAddressBook": str(book),
                "importer.downloader.bucketName": BUCKET,
                "importer.downloader.endpointOverride": server.endpoint,
                "importer.downloader.allowAnonymousAccess": True,
            }
        )
        guard = threading.Timer(PATIENCE_SECONDS, stopping.set)
        guard.start()

        def stop_when_all_are_loaded() -> None:
            wait_until(lambda: len(loaded()) == 3)
            stopping.set()
            connection.close()

        watching = threading.Thread(target=stop_when_all_are_loaded)
        watching.start()
        mirror_following.follow(print, stopping)
        guard.cancel()
        watching.join()

    assert loaded() == network.files


def test_nodes_change_over_from_folders_by_account_to_folders_by_id(network: Network) -> None:
    network.happen(2)
    network.happen(2, layout=Layout.NODE_ID)

    follow(network)

    assert loaded() == network.files


@pytest.mark.parametrize(
    ("path_type", "layout"), [(PathType.ACCOUNT_ID, Layout.ACCOUNT_ID), (PathType.NODE_ID, Layout.NODE_ID)]
)
def test_the_layout_may_be_fixed(network: Network, path_type: PathType, layout: Layout) -> None:
    network.happen(2, layout=layout)

    follow(network, download(str(network.folder), path_type))

    assert loaded() == network.files


def test_files_appear_while_it_follows(network: Network) -> None:
    network.happen(1)

    def publish() -> None:
        for number in range(1, 6):
            wait_until(lambda count=number: number_loaded_elsewhere() == count)
            network.happen(1)

    publisher = threading.Thread(target=publish)
    publisher.start()
    follow(network, files=6)
    publisher.join()

    assert loaded() == network.files


# START AND END


def test_it_continues_where_loading_ended(network: Network) -> None:
    network.happen(2)
    follow(network)
    network.happen(3)

    done = follow(network, files=3)

    assert (done.files, done.skipped) == (3, 0)
    assert loaded() == network.files


def test_it_starts_with_the_first_file_from_a_time_on(network: Network) -> None:
    network.happen(5)

    follow(network, files=2, start=network.blocks[3].transactions[0].consensus_timestamp)

    assert loaded() == network.files[3:]


def test_a_later_start_leaves_out_what_is_between(network: Network) -> None:
    network.happen(6)
    follow(network, files=1, until=network.blocks[0].transactions[0].consensus_timestamp)

    follow(network, files=2, start=network.blocks[4].transactions[0].consensus_timestamp - 1)

    assert loaded() == [network.files[0], *network.files[4:]]


def test_it_ends_with_the_last_file_of_a_time(network: Network) -> None:
    network.happen(5)

    done = follow(network, until=network.blocks[2].transactions[0].consensus_timestamp)

    assert done.files == 3
    assert loaded() == network.files[:3]


def test_it_ends_when_nothing_more_can_come_before_a_time(network: Network) -> None:
    network.happen(2)

    done = follow(network, files=9, until=network.blocks[1].transactions[-1].consensus_timestamp + 10**12)

    assert done.files == 2


# TRUST


def test_a_file_that_too_few_signed_is_waited_for(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.ingest.following.follower.SECONDS_BEFORE_STUCK", 0.0)
    network.happen(3)
    held_back = {node: network.signature(node, 1) for node in (0, 1, 2)}
    signatures = {node: path.read_bytes() for node, path in held_back.items()}
    for path in held_back.values():
        path.unlink()

    def publish() -> None:
        wait_until(problem_reported_elsewhere)
        assert number_loaded_elsewhere() == 1
        for node, path in held_back.items():
            path.write_bytes(signatures[node])

    publisher = threading.Thread(target=publish)
    publisher.start()
    with Reporting(source="a folder", following=True) as report:
        follow(network, report=report)
    publisher.join()

    assert loaded() == network.files


def number_loaded_elsewhere() -> int:
    """In a thread of its own, with a connection of its own."""
    try:
        return len(loaded())
    finally:
        connection.close()


def problem_reported_elsewhere() -> Any:
    try:
        row = LoaderState.objects.first()
        return row and row.problem
    finally:
        connection.close()


def test_stray_file_of_one_node_is_skipped(network: Network) -> None:
    network.happen(2)
    stray = Composer(nodes=NODES[:1], start=network.composer.consensus_timestamp - 10**9)
    stray.crypto_transfer({1001: -1, 1002: 1})
    stray.block().write(network.folder)
    network.happen(2)

    follow(network)

    assert loaded() == network.files


def test_a_file_of_another_chain_is_never_loaded_whoever_signed_it(network: Network) -> None:
    network.happen(2)
    other = Composer(nodes=NODES, start=network.composer.consensus_timestamp - 10**9)
    other.crypto_transfer({1001: -1, 1002: 1})
    other.block().write(network.folder)
    network.happen(2)

    follow(network)

    assert loaded() == network.files


def test_why_it_is_stuck_is_reported(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.ingest.following.follower.SECONDS_BEFORE_STUCK", 0.0)
    network.happen(2)
    for node in (0, 1):
        network.signature(node, 1).unlink()
    network.signature(2, 1).write_bytes(network.signature(2, 0).read_bytes())

    with Reporting(source="a folder", following=True) as report:
        source, stopping = download(str(network.folder)), threading.Event()
        follower = Follower(source, Quorums(network.book), report, stopping=stopping)
        problems: list[Any] = []

        def stop() -> None:
            problems.append(wait_until(problem_reported_elsewhere))
            stopping.set()

        reader = threading.Thread(target=stop)
        reader.start()
        Pipeline(LoadOptions(quorums=Quorums(network.book))).run(follower.files())
        reader.join()

    (problem,) = problems
    assert problem["file"] == signature_name(network.files[1])
    assert problem["signatures"]["required"] == 2
    assert loaded() == network.files[:1]


def test_without_an_address_book_it_says_so_at_once(network: Network) -> None:
    network.happen(1)
    followed = Follower(download(str(network.folder)), Quorums())

    with pytest.raises(NoAddressBook, match="no address book of the network demo is known"):
        Pipeline().run(followed.files())


def test_garbage_of_a_node_is_an_incident(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: deque[incidents._Incident] = deque()
    monkeypatch.setattr(incidents, "_incidents", noted)
    network.happen(2)
    # Of the first block all copies are garbage, and of the second one all signatures.
    signed = network.signature(0, 1).read_bytes()
    for node in range(len(NODES)):
        name = network.files[0]
        (copy,) = (each for each in network.of_node(node).glob(f"{name}*") if "_sig" not in each.name)
        copy.write_bytes(b"garbage")
        network.signature(node, 1).write_bytes(signed if node else b"garbage")
    quorum = Quorums(network.book).latest()
    source = download(str(network.folder))

    for published in source.listing(quorum, "").files:
        with pytest.raises(StreamFileError):
            source.fetch(published, quorum)

    causes = " ".join(each.cause for each in noted)
    assert "broken gzip data" in causes
    assert "recordstreams/record0.0.3: " in causes
    assert "recordstreams/record0.0.4: a signature that is not by its key" in causes
