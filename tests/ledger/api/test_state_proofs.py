"""GET /api/v1/transactions/{transactionId}/stateproof, as a client sees it."""

import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ledger.state_proofs import fetching
from ledger.stream import record_names
from ledger.stream.signature.signature_file import read_signature_file
from mirror.demo.streams.keys import nodes
from tests.api import Answer, Api
from tests.build import Build
from tests.ledger.state_proofs.files import BOOK, PAYER, VERSIONS, Published, load_book, published, signatures
from tests.ledger.stream.source.servers import BUCKET, Fault, S3Server, web_server
from tests.waiting import PATIENCE_SECONDS

BY_NODE = "demo/0/{node}/record"
STREAMS = "rest.stateproof.streams."
Settings = Callable[..., None]


def base64(content: bytes) -> str:
    return b64encode(content).decode()


@pytest.fixture
def folder(tmp_path: Path, settings_of: Settings) -> Path:
    """Return an empty folder, where nodes publish by the settings. State proofs are on."""
    settings_of(
        {
            "rest.stateproof.enabled": True,
            "importer.downloader.cloudProvider": "LOCAL",
            "importer.dataPath": str(tmp_path),
            "importer.archive.location": str(tmp_path / "kept"),
            STREAMS + "httpOptions.timeout": PATIENCE_SECONDS,
        }
    )
    streams = tmp_path / "streams"
    streams.mkdir()
    return streams


@pytest.fixture
def file(build: Build, folder: Path) -> Published:
    """Return a loaded file of format 6, which nodes still publish."""
    file = published()
    file.load(build)
    file.write(folder)
    return file


def assert_fails(answer: Answer, status: int, message: str) -> None:
    assert (answer.status, answer.messages) == (status, [message])


def not_enough(file: Published, count: int) -> str:
    name = record_names.signature_name(file.name)
    return f"Require at least 1/3 signature files to prove consensus, got {count} out of 4 for file {name}"


# WHAT A PROOF CONSISTS OF


@pytest.mark.parametrize("version", VERSIONS)
def test_a_proof_has_the_file_all_signatures_and_the_address_book(
    api: Api, build: Build, folder: Path, version: int
) -> None:
    file = published(version)
    file.load(build)
    file.write(folder)

    answer = api.get(file.url)

    assert answer.status == 200, answer
    assert answer.headers["cache-control"] == "public, max-age=600"
    proof = answer.json()
    assert list(proof) == ["address_books", "record_file", "signature_files", "version"]
    assert proof["version"] == version
    assert proof["address_books"] == [base64(BOOK)]
    assert proof["signature_files"] == {
        f"0.0.{node.account_id}": base64(signature) for node, signature in file.signatures.items()
    }
    if version < 5:
        assert proof["record_file"] == base64(file.content)
        return
    short = proof["record_file"]
    assert list(short) == [
        *("head", "start_running_hash_object", "hashes_before", "record_stream_object", "hashes_after"),
        *("end_running_hash_object", "block_number"),
    ]
    assert b64decode(short["record_stream_object"]).endswith(file.proved.transaction_bytes)
    number = None if version == 5 else base64(bytes(8))
    assert (len(short["hashes_before"]), len(short["hashes_after"]), short["block_number"]) == (1, 1, number)


def test_all_address_books_up_to_the_transaction_are_in_it_if_wanted(
    api: Api, file: Published, settings_of: Settings
) -> None:
    load_book(5, b"second")
    load_book(file.proved.consensus_timestamp + 1, b"later")

    assert api.get(file.url).json()["address_books"] == [base64(b"second")]

    settings_of({"rest.stateproof.addressBookHistory": True})
    assert api.get(file.url).json()["address_books"] == [base64(BOOK), base64(b"second")]


# WHERE FILES ARE


def places(folder: Path, file: Published, kind: str) -> Iterator[dict[str, Any]]:
    if kind == "folder by account":
        file.write(folder)
        yield {}
    elif kind == "folder by node id":
        file.write(folder, BY_NODE)
        yield {}
    elif kind == "web server":
        file.write(folder / "files")
        with web_server(folder / "files") as address:
            yield {STREAMS + "cloudProvider": "HTTP", STREAMS + "endpointOverride": address}
    elif kind == "S3":
        file.write(folder / "files", BY_NODE)
        with S3Server(folder / "files") as store:
            yield {
                STREAMS + "cloudProvider": "S3",
                STREAMS + "bucketName": BUCKET,
                STREAMS + "endpointOverride": store.endpoint,
                "importer.downloader.accessKey": "AKIA",
                "importer.downloader.secretKey": "secret",
            }
            # The credentials are for another service.
            assert not [headers for _, headers in store.requests if "authorization" in headers]
    elif kind == "kept":
        # Only one of the nodes has the file there, all have their signatures.
        for node in nodes():
            of_node = file.write_of(node, folder.parent / "kept")
            if node is not nodes()[2]:
                (of_node / file.name).unlink()
        yield {"importer.downloader.cloudProvider": "S3", "network": "other"}


@pytest.mark.parametrize("kind", ["folder by account", "folder by node id", "web server", "S3", "kept"])
def test_files_come_from_wherever_they_are(
    api: Api, build: Build, folder: Path, settings_of: Settings, kind: str
) -> None:
    file = published()
    file.load(build)
    for changes in places(folder, file, kind):
        settings_of(changes)
        answer = api.get(file.url)
        assert answer.status == 200, answer
        assert len(answer.json()["signature_files"]) == 4


def test_the_demo_network_that_a_node_makes_is_one_of_these_places(
    api: Api, build: Build, folder: Path, settings_of: Settings, settings: Any
) -> None:
    settings.DATA_DIR = folder
    settings_of({"importer.downloader.cloudProvider": "S3"})
    file = published()
    file.load(build)
    file.write(folder / "demo-stream")

    assert api.get(file.url).status == 200


def test_a_file_in_the_database_is_not_fetched(api: Api, build: Build, folder: Path) -> None:
    file = published()
    file.load(build, bytes=file.data)
    for node in nodes():
        (file.write_of(node, folder) / file.name).unlink()

    assert api.get(file.url).status == 200


def test_a_file_that_has_come_in_a_block_is_fetched_as_nodes_have_published_it(
    api: Api, build: Build, folder: Path
) -> None:
    file = published()
    file.load(build, bytes=b"a block", name=file.name.removesuffix(".gz"))
    file.write(folder)

    assert api.get(file.url).status == 200


def test_a_file_in_the_database_that_was_spoiled_is_fetched(api: Api, build: Build, folder: Path) -> None:
    file = published()
    file.load(build, bytes=file.data[:-9])
    file.write(folder)

    assert api.get(file.url).status == 200


# SIGNATURES AND FILES THAT PROVE NOTHING


def spoiled(file: Published, how: str) -> bytes:
    first, second, *_ = nodes()
    return {
        "of another node": file.signatures[second],
        "of another file": published(start=10**18).signatures[first],
        "cut off": file.signatures[first][:-1],
        "empty": b"",
        "too large": file.signatures[first] + bytes(64 * 1024),
        "of another format": signatures(published(5).name, published(5).data)[first],
    }[how]


@pytest.mark.parametrize(
    "how", ["of another node", "of another file", "cut off", "empty", "too large", "of another format"]
)
def test_a_signature_that_does_not_hold_is_no_part_of_a_proof(
    api: Api, file: Published, folder: Path, how: str
) -> None:
    path = folder / "recordstreams/record0.0.3" / record_names.signature_name(file.name)
    path.write_bytes(spoiled(file, how))

    answer = api.get(file.url)

    assert (answer.status, [*answer.json()["signature_files"]]) == (200, ["0.0.4", "0.0.5", "0.0.6"])


@pytest.mark.parametrize("left", [2, 1, 0])
def test_a_third_of_the_nodes_has_to_have_signed(api: Api, file: Published, folder: Path, left: int) -> None:
    for node in nodes()[left:]:
        (
            folder / f"recordstreams/record0.0.{node.account_id}" / record_names.signature_name(file.name)
        ).unlink()

    answer = api.get(file.url)

    if left == 2:
        assert (answer.status, len(answer.json()["signature_files"])) == (200, 2)
    else:
        assert_fails(answer, 502, not_enough(file, left))


def test_another_node_has_the_file_that_one_has_lost_or_spoiled(
    api: Api, file: Published, folder: Path
) -> None:
    (folder / "recordstreams/record0.0.3" / file.name).unlink()
    (folder / "recordstreams/record0.0.4" / file.name).write_bytes(published(start=10**18).data)

    assert api.get(file.url).status == 200


def test_a_file_that_no_signer_has_is_named(api: Api, file: Published, folder: Path) -> None:
    for node in nodes():
        (folder / f"recordstreams/record0.0.{node.account_id}" / file.name).unlink()

    assert_fails(api.get(file.url), 502, f"Failed to download record file {file.name} from node 0.0.3")


def test_a_place_that_is_none_is_like_one_without_files(
    api: Api, file: Published, settings_of: Settings
) -> None:
    settings_of({"importer.dataPath": "/nowhere"})
    assert_fails(api.get(file.url), 502, not_enough(file, 0))


@pytest.mark.parametrize("fault", [Fault.SLOW, Fault.REFUSED, Fault.BUSY, Fault.CUT_OFF, Fault.WRONG_BYTES])
def test_a_place_that_fails_or_never_answers_ends_with_an_error(
    api: Api, build: Build, folder: Path, settings_of: Settings, fault: Fault
) -> None:
    file = published()
    file.load(build)
    file.write(folder)
    with S3Server(folder) as store:
        store.fault = lambda: fault
        settings_of(
            {
                STREAMS + "cloudProvider": "S3",
                STREAMS + "bucketName": BUCKET,
                STREAMS + "endpointOverride": store.endpoint,
                STREAMS + "httpOptions.timeout": 0.2,
            }
        )
        assert_fails(api.get(file.url), 502, not_enough(file, 0))


def test_only_so_many_proofs_are_made_at_once(api: Api, file: Published, settings_of: Settings) -> None:
    settings_of({STREAMS + "httpOptions.timeout": 0.1})
    with ExitStack() as others:
        for _ in range(fetching.MAX_PROOFS):
            others.enter_context(fetching.limited(time.monotonic() + PATIENCE_SECONDS))
        answer = api.get(file.url)
    assert_fails(answer, 503, "Too many state proofs are being made: try again later")

    settings_of({STREAMS + "httpOptions.timeout": PATIENCE_SECONDS})
    assert api.get(file.url).status == 200


# WHICH TRANSACTION


def test_of_the_transactions_of_an_id_the_successful_one_of_a_kind_is_proved(
    api: Api, build: Build, file: Published
) -> None:
    before, proved, _ = file.transactions
    start = int(file.url.split("-")[1]) * 10**9 + int(file.url.split("-")[2].partition("/")[0])
    build.transaction(before.consensus_timestamp - 7, payer=PAYER, valid_start_ns=start, result=11)
    build.transaction(before.consensus_timestamp - 8, payer=PAYER, valid_start_ns=start, nonce=1)
    for at, changes in ((before, {"scheduled": True}), (proved, {"nonce": 2})):
        build.transaction(at.consensus_timestamp + 1, payer=PAYER, valid_start_ns=start, **changes)

    def transaction_of(query: str) -> bytes:
        return b64decode(api.get(file.url + query).json()["record_file"]["record_stream_object"])

    assert transaction_of("").endswith(proved.transaction_bytes)
    assert transaction_of("?nonce=0&scheduled=false").endswith(proved.transaction_bytes)
    assert transaction_of("?nonce=7&nonce=0").endswith(proved.transaction_bytes)
    for query in ("?scheduled=true", "?nonce=2", "?scheduled=false&scheduled=true"):
        # These are found, and are not in the file.
        assert_fails(api.get(file.url + query), 502, f"Record file {file.name} does not have the transaction")
    assert_fails(api.get(f"{file.url}?nonce=3"), 404, "Transaction not found")
    assert_fails(api.get(f"{file.url}?nonce=2&scheduled=true"), 404, "Transaction not found")


@pytest.mark.parametrize("result", [10, 11, 22, 104, 220])
def test_only_a_successful_transaction_is_proved(api: Api, build: Build, folder: Path, result: int) -> None:
    build.transaction(10**18, payer=PAYER, valid_start_ns=10**18 - 5, result=result)

    answer = api.get(f"/api/v1/transactions/0.0.{PAYER}-999999999-999999995/stateproof")

    if result in (10, 11):
        assert_fails(answer, 404, "Transaction not found")
    else:
        assert_fails(answer, 404, f"No matching RCD file found with {10**18} in the range")


def test_without_an_address_book_there_is_no_proof(api: Api, build: Build, folder: Path) -> None:
    at = build.transaction()
    build.block(end=at)
    seconds = at // 10**9 - 1

    assert_fails(
        api.get(f"/api/v1/transactions/0.0.1001-{seconds}-0/stateproof"), 404, "No address book found"
    )


def test_a_scheduled_transaction_may_be_executed_long_after_its_valid_start(
    api: Api, build: Build, folder: Path
) -> None:
    file = published()
    file.load(build)
    file.write(folder)
    at = file.proved.consensus_timestamp
    hours = 3600 * 10**9
    build.transaction(at + 1, payer=PAYER, valid_start_ns=at - 5 * hours, scheduled=True)
    build.transaction(at + 2, payer=PAYER, valid_start_ns=at - 5 * hours)
    seconds, nanos = divmod(at - 5 * hours, 10**9)
    url = f"/api/v1/transactions/0.0.{PAYER}-{seconds}-{nanos}/stateproof"

    assert_fails(api.get(url), 404, "Transaction not found")
    assert api.get(f"{url}?scheduled=true").status == 502


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        (
            "0.0.94139-ss-nn",
            [
                'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are seconds '
                "and nnn are nanoseconds"
            ],
        ),
        ("ab" * 48, None),
        ("99999.0.1-1-1", ['Invalid entity ID "99999.0.1"']),
    ],
)
def test_the_path_has_to_be_a_transaction_id(
    api: Api, folder: Path, name: str, messages: list[str] | None
) -> None:
    answer = api.get(f"/api/v1/transactions/{name}/stateproof")
    assert answer.status == 400
    assert messages is None or answer.messages == messages


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("nonce=-1", "Invalid parameter: nonce"),
        ("nonce=x", "Invalid parameter: nonce"),
        ("nonce=gt:1", "Invalid parameter: nonce"),
        ("scheduled=maybe", "Invalid parameter: scheduled"),
        ("limit=1", "Unknown query parameter: limit"),
    ],
)
def test_wrong_parameters_are_named(api: Api, file: Published, query: str, message: str) -> None:
    assert_fails(api.get(f"{file.url}?{query}"), 400, message)


def test_a_valid_start_beyond_64_bits_is_that_of_no_transaction(api: Api, folder: Path) -> None:
    url = f"/api/v1/transactions/0.0.1-{2**63 - 1}-999999999/stateproof"
    assert_fails(api.get(url), 404, "Transaction not found")


# SWITCHED OFF


def test_it_is_off_by_default_and_then_like_any_unknown_path(api: Api) -> None:
    for name in ("0.0.1001-1-1", "x"):
        answer = api.get(f"/api/v1/transactions/{name}/stateproof?limit=x")
        unknown = api.get(f"/api/v1/transactions/{name}/other")
        assert (answer.status, answer.body, answer.statements) == (404, unknown.body, [])
        assert answer.headers == unknown.headers


def test_signature_files_in_a_proof_are_as_published(api: Api, file: Published) -> None:
    for account, text in api.get(file.url).json()["signature_files"].items():
        node = next(node for node in nodes() if f"0.0.{node.account_id}" == account)
        signature = read_signature_file(record_names.signature_name(file.name), b64decode(text))
        assert signature.is_signed_by(node.address_book_node.public_key)
