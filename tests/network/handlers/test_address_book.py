"""Address books: from the contents of the files 101 and 102, and the one bundled for a network."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi.messages import NodeAddressBook
from network import bundled
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, Stream, num
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

BOOK = "start_consensus_timestamp, end_consensus_timestamp, file_id, node_count"
ENTRY = "consensus_timestamp, node_id, node_account_id, memo, public_key, description, stake, node_cert_hash"
ENDPOINT = "node_id, ip_address_v4, port, domain_name"


def book(*nodes: dict[str, Any]) -> bytes:
    serialized: bytes = NodeAddressBook(nodeAddress=nodes).SerializeToString()
    return serialized


def node(number: int, **fields: Any) -> dict[str, Any]:
    return {"nodeId": number, "nodeAccountId": num(number + 3), "RSA_PubKey": f"{number:04x}"} | fields


def put(stream: Stream, kind: str, contents: bytes, file: int = 102, **options: Any) -> int:
    return stream.happen(kind, {"fileID": {"fileNum": file}, "contents": contents}, **options)


TWO_NODES = book(node(0, description="first", stake=5, nodeCertHash=b"hash", memo=b"0.0.3"), node(1))


@pytest.mark.checklist("ADB-01", "ADB-02")
def test_a_book_in_one_update_holds_from_the_next_nanosecond_on() -> None:
    stream = Stream()
    at = put(stream, "fileUpdate", TWO_NODES)

    load(stream.block())

    assert stored("address_book", BOOK) == [(at + 1, None, 102, 2)]
    assert stored("address_book", "file_data") == [(TWO_NODES,)]
    assert stored("address_book_entry", ENTRY) == [
        (at + 1, 0, 3, "0.0.3", "0000", "first", 5, b"hash"),
        (at + 1, 1, 4, None, "0001", "", 0, None),
    ]


@pytest.mark.checklist("ADB-01", "ADB-07")
@pytest.mark.parametrize("together", [True, False])
def test_a_book_in_parts_is_read_once_it_is_complete(together: bool) -> None:
    parts = TWO_NODES[:7], TWO_NODES[7:30], TWO_NODES[30:]
    stream = Stream()
    blocks = []
    for kind, part in zip(("fileUpdate", "fileAppend", "fileAppend"), parts, strict=True):
        at = put(stream, kind, part)
        if not together:
            blocks.append(stream.block())
    if together:
        blocks.append(stream.block())

    load_in_any_batches(*blocks)

    assert stored("address_book", BOOK) == [(at + 1, None, 102, 2)]
    assert stored("address_book", "file_data") == [(TWO_NODES,)]


@pytest.mark.checklist("ADB-02")
def test_a_book_ends_the_previous_one_of_its_file() -> None:
    stream = Stream()
    first = put(stream, "fileUpdate", TWO_NODES)
    other = put(stream, "fileUpdate", TWO_NODES, file=101)
    block = stream.block()
    second = put(stream, "fileUpdate", book(node(0)))

    load_in_any_batches(block, stream.block())

    assert stored("address_book", BOOK) == [
        (first + 1, second, 102, 2),
        (other + 1, None, 101, 2),
        (second + 1, None, 102, 1),
    ]


@pytest.mark.checklist("ADB-01")
def test_failures_empty_updates_and_other_files_make_no_book() -> None:
    stream = Stream()
    put(stream, "fileUpdate", TWO_NODES, result=INSUFFICIENT_PAYER_BALANCE)
    put(stream, "fileUpdate", b"")
    put(stream, "fileUpdate", TWO_NODES, file=111)

    load(stream.block())

    assert stored("address_book", BOOK) == []


@pytest.mark.checklist("ADB-03")
def test_early_books_number_nodes_by_account_and_name_it_in_the_memo() -> None:
    content = book(
        *({"memo": f"0.0.{account}".encode()} for account in (3, 4, 19)), node(0, nodeAccountId=num(25))
    )
    stream = Stream()
    put(stream, "fileUpdate", content)

    load(stream.block())

    assert stored("address_book_entry", "node_id, node_account_id") == [(0, 3), (1, 4), (16, 19)]


@pytest.mark.checklist("ADB-03", "ADB-04")
def test_entries_of_one_node_become_one_with_all_endpoints() -> None:
    content = book(
        node(0, ipAddress=b"1.2.3.4", portno=50_211, description="one"),
        node(0, ipAddress=b"1.2.3.5", portno=50_212, description="other"),
        node(
            1,
            serviceEndpoint=[
                {"ipAddressV4": bytes([10, 0, 0, 1]), "port": 50_211},
                {"ipAddressV4": bytes([10, 0, 0, 1]), "port": 50_211},
                {"domain_name": "node1.example", "port": 50_212},
            ],
        ),
    )
    stream = Stream()
    put(stream, "fileUpdate", content)

    load(stream.block())

    assert stored("address_book", "node_count") == [(2,)]
    assert stored("address_book_entry", "node_id, description") == [(0, "one"), (1, "")]
    assert stored("address_book_service_endpoint", ENDPOINT) == [
        (0, "1.2.3.4", 50_211, ""),
        (0, "1.2.3.5", 50_212, ""),
        (1, "", 50_212, "node1.example"),
        (1, "10.0.0.1", 50_211, ""),
    ]


@pytest.mark.checklist("ADB-01")
def test_a_book_with_a_node_without_account_is_skipped() -> None:
    stream = Stream()
    put(stream, "fileUpdate", book({"memo": b"nobody", "RSA_PubKey": "00"}))

    load(stream.block())

    assert stored("address_book", BOOK) == []
    assert stored("transaction", "result") == [(22,)]


@pytest.mark.checklist("ADB-06")
@pytest.mark.parametrize(("network", "nodes"), [("mainnet", 13), ("testnet", 7), ("previewnet", 7)])
def test_a_network_begins_with_its_bundled_book(network: str, nodes: int) -> None:
    stream = Stream()
    stream.send({1001: -1, 1002: 1})

    with settings(network=network):
        load(stream.block())

    assert stored("address_book", BOOK) == [(1, None, 102, nodes)]
    assert len(stored("address_book_entry", "node_id", "length(public_key) > 500")) == nodes


@pytest.mark.parametrize(
    ("network", "start", "name"),
    [
        ("mainnet", "", "mainnet"),
        ("mainnet", "2019-09-13", "mainnet"),
        ("mainnet", "2026-01-28T18:00:00.803405896Z", "mainnet"),
        ("mainnet", "2026-01-28T18:00:00.803405897Z", "mainnet-1769623200803405897"),
        ("mainnet", "2030-01-01", "mainnet-1769623200803405897"),
        ("testnet", "2025-12-30T18:00:00.294393896Z", "testnet"),
        ("testnet", "2025-12-30T18:00:00.294393897Z", "testnet-1767117600294393897"),
        ("previewnet", "2030-01-01", "previewnet"),
    ],
)
def test_a_network_that_is_loaded_from_a_time_on_begins_with_the_latest_book_of_before(
    network: str, start: str, name: str
) -> None:
    with settings(network=network, importer__startDate=start):
        assert bundled.address_book() == (bundled.FOLDER / f"{name}.bin").read_bytes()


def test_a_later_book_is_bundled_by_putting_it_into_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    for name in ("new", "new-5000000000", "new-7000000000", "newer-6000000000"):
        (tmp_path / f"{name}.bin").write_bytes(name.encode())
    found = []
    for second in (0, 4, 5, 6, 7, 8):
        with settings(network="new", importer__startDate=f"1970-01-01T00:00:0{second}Z"):
            found.append(bundled.address_book())
    assert found == [b"new", b"new", *[b"new-5000000000"] * 2, *[b"new-7000000000"] * 2]


@pytest.mark.checklist("ADB-05", "ADB-06")
def test_the_first_book_is_loaded_once_and_ended_by_the_next() -> None:
    stream = Stream()
    stream.send({1001: -1, 1002: 1})
    first = stream.block()
    at = put(stream, "fileUpdate", TWO_NODES)

    with settings(network="testnet"):
        load(first)
        load(stream.block())
        load()

    assert stored("address_book", BOOK) == [(1, at, 102, 7), (at + 1, None, 102, 2)]


@pytest.mark.checklist("ADB-06")
def test_the_operator_can_set_the_first_book(tmp_path: Path) -> None:
    given = tmp_path / "book.bin"
    given.write_bytes(TWO_NODES)

    with settings(importer__initialAddressBook=str(given)):
        load()

    assert stored("address_book", BOOK) == [(1, None, 102, 2)]


def test_a_first_book_that_can_not_be_read_is_named() -> None:
    with (
        settings(importer__initialAddressBook="/no/such/file"),
        pytest.raises(OperatorError, match="names /no/such/file, which cannot be read: No such file"),
    ):
        bundled.address_book()


@pytest.mark.checklist("ADB-05", "ADB-07")
def test_books_in_contents_stored_earlier_are_read_at_start() -> None:
    stream = Stream()
    at = put(stream, "fileUpdate", TWO_NODES)
    load(stream.block())
    with connection.cursor() as cursor:
        cursor.execute("truncate address_book, address_book_entry, address_book_service_endpoint")

    load()
    load()

    assert stored("address_book", BOOK) == [(at + 1, None, 102, 2)]
    assert stored("address_book_entry", "node_id") == [(0,), (1,)]


@pytest.mark.parametrize("content", [b"", b"{}", bytes(range(200))], ids=["empty", "text", "bytes"])
def test_a_file_that_is_no_address_book_is_named_with_its_setting(tmp_path: Path, content: bytes) -> None:
    given = tmp_path / "book.bin"
    given.write_bytes(content)

    with settings(importer__initialAddressBook=str(given)), pytest.raises(OperatorError) as raised:
        bundled.address_book()

    assert str(raised.value).startswith(
        f"SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK names {given}, which is no address book: "
    )


def test_another_first_book_counts_until_a_file_is_loaded(tmp_path: Path) -> None:
    given = tmp_path / "book.bin"
    given.write_bytes(TWO_NODES)
    stream = Stream()
    stream.send({1001: -1, 1002: 1})

    with settings(network="testnet"):
        load()
        with settings(importer__initialAddressBook=str(given)):
            load()
            load(stream.block())
        load()

    assert stored("address_book", BOOK) == [(1, None, 102, 2)]
    assert stored("address_book_entry", "node_id") == [(0,), (1,)]
