"""404s and headers say what is not loaded.

Loaded are blocks 100 to 199 and 300 to 399, unless a test says something else.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ledger import loaded_ranges
from mirror.node.health.loaded_ranges import loaded_text
from tests.api import Api
from tests.build import SECOND, START, insert
from tests.upgrading import put_ahead

HASH = "ab" * 48
FROM = "2023-11-14T22:15:00Z"
EDGES = "199 (2023-11-14T22:16:40Z) and 300 (2023-11-14T22:18:20Z)"
KNOWS = f"the node knows the ledger from block 100 ({FROM}) on"
GAP = "blocks 200 to 299 (2023-11-14T22:16:40Z to 2023-11-14T22:18:20Z)"


def block(number: int) -> int:
    return START + number * SECOND


def load(first: int, last: int, **columns: Any) -> None:
    insert(
        "loaded_range",
        **{
            "consensus_start": block(first),
            "consensus_end": block(last + 1),
            "first_block": first,
            "last_block": last,
            "files": last - first + 1,
            "transactions": 1,
            "signed": True,
            "filters": "{}",
            "rests_on": "nothing",
            "basis": "",
        }
        | columns,
    )
    loaded_ranges.forget()


@pytest.fixture
def two_ranges(db: None) -> None:
    load(100, 199)
    load(300, 399)


def seconds(time: int) -> str:
    return f"{time // SECOND}.{time % SECOND:09}"


def identity(time: int) -> str:
    return f"0.0.1001-{time // SECOND}-000000000"


LOOKUPS = {
    "blocks/5": f"Not loaded: the node has no block before 100 ({FROM}).",
    "blocks/250": f"Not loaded: the node has no block between {EDGES}.",
    "blocks/400": "Not loaded: the node has no block after 399 (2023-11-14T22:20:00Z) yet.",
    "blocks/150": None,
    f"blocks/{HASH}": f"Perhaps not loaded: {KNOWS}, without {GAP}.",
    f"transactions/{identity(block(5))}": f"Perhaps not loaded: the node has no block before 100 ({FROM}).",
    f"transactions/{identity(block(150))}": f"Perhaps not loaded: the node has no block between {EDGES}.",
    f"transactions/{HASH}": f"Perhaps not loaded: {KNOWS}, without {GAP}.",
    "accounts/7777": f"Not known: {KNOWS}, without {GAP}.",
    "tokens/7777": f"Not known: {KNOWS}, without {GAP}.",
    "contracts/7777": f"Not known: {KNOWS}, without {GAP}.",
    "schedules/7777": f"Not known: {KNOWS}, without {GAP}.",
    "tokens/7777/nfts/1": f"Not known: {KNOWS}, without {GAP}.",
    f"topics/messages/{seconds(block(250))}": f"Not loaded: the node has no block between {EDGES}.",
    f"topics/messages/{seconds(block(150))}": None,
    "topics/7777/messages/1": f"Perhaps not loaded: {KNOWS}, without {GAP}.",
    f"contracts/results/{identity(block(5))}": "Perhaps not loaded: the node has no block before 100 "
    f"({FROM}).",
    f"contracts/7777/results/{seconds(block(250))}": f"Not loaded: the node has no block between {EDGES}.",
    f"contracts/results/{HASH}/actions": f"Perhaps not loaded: {KNOWS}, without {GAP}.",
}


@pytest.mark.parametrize("path", LOOKUPS)
def test_a_lookup_says_that_it_lies_outside_of_what_is_loaded(api: Api, two_ranges: None, path: str) -> None:
    answer = api.get(f"/api/v1/{path}")

    detail = {"detail": LOOKUPS[path]} if LOOKUPS[path] else {}
    assert answer.status == 404
    assert answer.json() == {"_status": {"messages": [{"message": "Not found"} | detail]}}


def test_texts_that_errors_have_already_stay(api: Api, two_ranges: None) -> None:
    alias = api.get("/api/v1/accounts/AAAQEAYEAUDAOCAJ").json()["_status"]["messages"]
    topic = api.get("/api/v1/topics/7777").json()["_status"]["messages"]

    missing = f"Not known: {KNOWS}, without {GAP}."
    assert alias == [{"message": "No account with a matching alias found", "detail": missing}]
    assert topic == [
        {"detail": "Topic not found", "message": "Not Found"},
        {"detail": missing, "message": "Not Found"},
    ]


def test_traces_of_past_calls_say_it_too(
    api: Api, two_ranges: None, settings_of: Callable[..., None]
) -> None:
    settings_of({"web3.opcode.tracer.enabled": True})
    name = identity(block(5))

    messages = api.get(f"/api/v1/contracts/results/{name}/opcodes").json()["_status"]["messages"]

    assert [each["detail"] for each in messages] == [
        f"Transaction not found: {name}",
        f"Perhaps not loaded: the node has no block before 100 ({FROM}).",
    ]


@pytest.mark.parametrize("ranges", ["unknown", "not listed yet", "all"])
def test_nothing_is_said_where_everything_is_loaded_or_nobody_knows(api: Api, db: None, ranges: str) -> None:
    if ranges == "not listed yet":
        load(100, 199)
        put_ahead("loaded_ranges")
    if ranges == "all":
        load(0, 199, rests_on="genesis")
        load(200, 399, rests_on="range")

    for path in LOOKUPS:
        assert api.get(f"/api/v1/{path}").json() == {"_status": {"messages": [{"message": "Not found"}]}}


def test_the_balance_file_that_it_rests_on_is_named(api: Api, db: None) -> None:
    load(100, 199, rests_on="balances", basis="2023-11-14T22_15_00Z_Balances.pb.gz")

    (message,) = api.get("/api/v1/accounts/7777").json()["_status"]["messages"]

    assert message["detail"] == (
        f"Not known: {KNOWS}, and before that what 2023-11-14T22_15_00Z_Balances.pb.gz says."
    )


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ('{"snapshot.entities": ""}', "as it was loaded from a snapshot of some entities"),
        (
            '{"importer.parser.include": [], "snapshot.entities": ""}',
            "as importer.parser.include says, and as it was loaded from a snapshot of some entities",
        ),
    ],
    ids=["a snapshot", "a setting and a snapshot"],
)
def test_a_snapshot_of_some_entities_is_no_setting(api: Api, db: None, filters: str, reason: str) -> None:
    load(0, 399, rests_on="genesis", filters=filters)

    (message,) = api.get("/api/v1/accounts/7777").json()["_status"]["messages"]

    assert message["detail"] == f"The node stores a part of the ledger only, {reason}."
    assert loaded_text(loaded_ranges.read()).endswith(f"; only a part is stored, {reason}")


def test_filters_and_dropped_rows_are_told(api: Api, db: None) -> None:
    load(0, 399, rests_on="genesis", filters='{"importer.parser.include": []}')
    insert("dropped_rows", table_name="transaction", before=block(100))
    part = "The node stores a part of the ledger only, as importer.parser.include says."
    dropped = f"Dropped: the node has kept transactions from {FROM} on."

    def detail(path: str) -> Any:
        return api.get(f"/api/v1/{path}").json()["_status"]["messages"][0].get("detail")

    assert detail("accounts/7777") == part
    assert detail(f"transactions/{identity(block(50))}") == dropped
    # The valid start of what is in the network's first block lies before that block.
    assert detail(f"transactions/{identity(block(-5))}") == dropped
    assert detail(f"transactions/{HASH}") == f"{dropped} {part}"
    assert detail("blocks/500") == "Not loaded: the node has no block after 399 (2023-11-14T22:20:00Z) yet."


def test_a_header_names_the_loaded_blocks(api: Api, two_ranges: None) -> None:
    for path in ("blocks", "blocks/5", "accounts/7777", "network/stake", "topics/7777"):
        assert api.get(f"/api/v1/{path}").headers["mirror-loaded"] == "blocks=100-199,300-"
    assert "mirror-loaded" not in api.get("/api/v1/nothing").headers


def test_the_header_tells_filters_and_leaves_out_old_ranges(api: Api, db: None) -> None:
    for first in range(0, 230, 10):
        load(first, first + 4, filters='{"importer.parser.include": []}')
    insert("dropped_rows", table_name="transaction", before=block(50))
    loaded_ranges.forget()

    named = ",".join(f"{first}-{first + 4}" for first in range(30, 220, 10))
    assert api.get("/api/v1/blocks").headers["mirror-loaded"] == (
        f"blocks={named},220-; earlier=3; filtered; dropped"
    )


def test_there_is_no_header_where_nobody_knows_what_is_loaded(api: Api) -> None:
    assert "mirror-loaded" not in api.get("/api/v1/blocks").headers


def test_an_answer_from_the_cache_keeps_the_header_of_its_rows(two_ranges: None) -> None:
    api = Api(cached=True)
    first = api.get("/api/v1/blocks?limit=7")
    load(500, 599)

    again = api.get("/api/v1/blocks?limit=7")
    unchanged = api.get("/api/v1/blocks?limit=7", if_none_match=first.headers["etag"])

    assert not again.statements
    assert again.headers["mirror-loaded"] == "blocks=100-199,300-"
    assert (unchanged.status, unchanged.headers["mirror-loaded"]) == (304, "blocks=100-199,300-")
    assert api.get("/api/v1/blocks?limit=8").headers["mirror-loaded"] == "blocks=100-199,300-399,500-"
