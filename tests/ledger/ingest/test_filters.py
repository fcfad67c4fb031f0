"""Filters of what is loaded: dates, settings and the option --filter; and what stops at a problem."""

from typing import Any

import pytest

from ledger.ingest import IngestError, filters
from ledger.ingest.filters import InvalidFilter, TransactionFilters
from mirror.core.values import timestamp
from mirror.core.values.hapi.messages import ContractFunctionResult, NodeAddressBook
from tests.ledger.compose import Stream, num
from tests.ledger.ingest.load import load, settings, stored
from tests.ledger.ingest.tables import contents

pytestmark = pytest.mark.usefixtures("ledger_tables")

START = 1_735_689_600 * 10**9


@pytest.mark.checklist("FILE-09", "FILE-10")
def test_transactions_outside_the_dates_count_for_gas_and_bloom_alone() -> None:
    stream = Stream(start=START, interval=10**9)
    for byte in (1, 2, 4, 8):
        result = ContractFunctionResult(gasUsed=100, bloom=bytes([byte]) * 256)
        stream.happen("contractCall", record={"contractCallResult": result})

    with settings(
        importer__startDate="2025-01-01T00:00:01Z", importer__endDate=timestamp_text(START + 2 * 10**9)
    ):
        load(stream.block())

    assert stored("transaction", "index") == [(1,), (2,)]
    assert stored("record_file", "count, gas_used, logs_bloom") == [(2, 400, b"\x0f" * 256)]


def timestamp_text(at: int) -> str:
    return f"2025-01-01T00:00:{(at - START) // 10**9:02}.000000000Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-01-01", START),
        ("2025-01-01T00:00:00Z", START),
        ("2025-01-01T00:00:00.5Z", START + 500_000_000),
        ("2025-01-01T00:00:00.000000001Z", START + 1),
    ],
)
def test_a_date_is_read_to_the_nanosecond(text: str, expected: int) -> None:
    assert timestamp.parse_iso(text) == expected


@pytest.mark.parametrize("text", ["yesterday", "2025-13-01", "2025-01-01T25:00:00Z", "2025-01-01T00:00:00"])
def test_an_invalid_date_is_refused(text: str) -> None:
    with (
        settings(importer__startDate=text),
        pytest.raises(InvalidFilter, match="SVC_MIRROR_IMPORTER_STARTDATE: .* is not a time of the form"),
    ):
        TransactionFilters()


def some_transactions() -> Stream:
    """At index 0 to 4: hbar, tokens, an NFT, a message, an account."""
    stream = Stream()
    stream.send({1001: -5, 1002: 5}, payer=1001)
    token = {"token": {"tokenNum": 800}}
    moved = [{"accountID": num(1003), "amount": -1}, {"accountID": num(1004), "amount": 1}]
    stream.happen("cryptoTransfer", record={"tokenTransferLists": [token | {"transfers": moved}]})
    serial = {"serialNumber": 1, "senderAccountID": num(1005), "receiverAccountID": num(1006)}
    stream.happen("cryptoTransfer", record={"tokenTransferLists": [token | {"nftTransfers": [serial]}]})
    stream.happen("consensusSubmitMessage", {"topicID": {"topicNum": 700}}, payer=1007)
    stream.create(1008)
    return stream


@pytest.mark.checklist("FILE-14", "FILE-15")
@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ("", "", [0, 1, 2, 3, 4]),
        ("entity=0.0.1001", "", [0]),
        ("entity=1002", "", [0]),
        ("entity=800", "", [1, 2]),
        ("entity=1003", "", [1]),
        ("entity=1004", "", [1]),
        ("entity=1005", "", [2]),
        ("entity=1006", "", [2]),
        ("entity=700", "", [3]),
        ("entity=1007", "", [3]),
        ("entity=1008", "", [4]),
        ("transaction=CONSENSUSSUBMITMESSAGE", "", [3]),
        ("transaction=cryptotransfer,cryptocreateaccount", "", [0, 1, 2, 4]),
        ("entity=1001,800 transaction=CRYPTOTRANSFER", "", [0, 1, 2]),
        ("entity=1001 transaction=CRYPTODELETE", "", []),
        ("entity=1001; transaction=CRYPTOCREATEACCOUNT", "", [0, 4]),
        ("", "entity=800", [0, 3, 4]),
        ("transaction=CRYPTOTRANSFER", "entity=800;entity=5", [0]),
        ("entity=1001", "entity=1001", []),
    ],
)
def test_filters_choose_by_entity_and_type_and_exclusion_wins(
    include: str, exclude: str, expected: list[int]
) -> None:
    stream = some_transactions()

    with settings(importer__parser__include=include, importer__parser__exclude=exclude):
        load(stream.block())

    assert [index for (index,) in stored("transaction", "index")] == expected


@pytest.mark.checklist("FILE-14")
def test_transactions_filtered_out_write_nothing() -> None:
    stream = some_transactions()

    with settings(importer__parser__include="entity=9999"):
        load(stream.block())

    assert set(contents()) == {"record_file"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("entity=abc", "'abc' is not an entity id such as 0.0.1001"),
        ("transaction=TRANSFER", "'TRANSFER' is not a transaction type"),
        ("account=5", "'account=5' is not entity=... or transaction=..."),
        ("entity", "the filter 'entity' names no entity and no type"),
    ],
)
def test_an_unusable_filter_in_the_settings_is_refused(text: str, problem: str) -> None:
    with (
        settings(importer__parser__exclude=text),
        pytest.raises(InvalidFilter, match="SVC_MIRROR_IMPORTER_PARSER_EXCLUDE: ") as raised,
    ):
        TransactionFilters()
    assert problem in str(raised.value)


@pytest.mark.checklist("FILE-16")
@pytest.mark.parametrize("halt", [True, False])
def test_a_problem_of_one_transaction_stops_only_if_so_configured(
    halt: bool, caplog: pytest.LogCaptureFixture
) -> None:
    stream = Stream()
    stream.create(1001)
    first = stream.block()
    body: dict[str, Any] = {"deleteAccountID": num(1001), "transferAccountID": {"alias": b"who"}}
    stream.happen("cryptoDelete", body)
    second = stream.block()

    with settings(importer__parser__haltOnError=halt):
        if halt:
            with pytest.raises(IngestError, match="account that obtains the rest is not known.*haltOnError"):
                load(first, second)
        else:
            load(first, second)
            assert "recoverable_problem" in caplog.text

    assert stored("record_file", "index") == ([(0,)] if halt else [(0,), (1,)])


# THE OPTION


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("types=CRYPTOTRANSFER", "of type CRYPTOTRANSFER"),
        ("types=cryptotransfer,tokenmint,tokenburn", "of type CRYPTOTRANSFER, TOKENMINT or TOKENBURN"),
        ("accounts=0.0.1001", "that account 0.0.1001 takes part in"),
        (
            "account=1001,0.0.1002 token=0.0.5000",
            "that account 0.0.1001, account 0.0.1002 or token 0.0.5000 takes part in",
        ),
        (
            "topics=0.0.700 types=CONSENSUSSUBMITMESSAGE",
            "of type CONSENSUSSUBMITMESSAGE that topic 0.0.700 takes part in",
        ),
        ("contracts=0.0.800", "that contract 0.0.800 takes part in"),
    ],
)
def test_filter_option_describes_what_it_includes(text: str, words: str) -> None:
    assert str(filters.parse_option(text)) == words
    assert f"Only transactions {words} are kept" in filters.sentence([filters.parse_option(text)])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.0.1001", "'0.0.1001' is not accounts=, tokens=, topics=, contracts= or types="),
        ("nodes=3", "'nodes=3' is not accounts="),
        ("accounts=me", "'me' is not the id of an account such as 0.0.1001"),
        ("token=0.0.0", "'0.0.0' is not the id of a token"),
        ("types=TRANSFER", "'TRANSFER' is not a transaction type such as CRYPTOTRANSFER"),
        ("accounts=", "'accounts=' names nothing to keep"),
        ("", "'' names nothing to keep"),
    ],
)
def test_an_unusable_filter_option_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidFilter) as raised:
        filters.parse_option(text)

    assert problem in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["accounts=0.0.1001"], [0]),
        (["tokens=0.0.800 types=CRYPTOTRANSFER"], [1, 2]),
        (["topics=0.0.700"], [3]),
        (["types=CRYPTOCREATEACCOUNT", "accounts=0.0.1002"], [0, 4]),
        (["tokens=0.0.800 types=CRYPTODELETE"], []),
    ],
)
def test_filter_options_include_what_they_name(texts: list[str], expected: list[int]) -> None:
    stream = some_transactions()

    with settings(importer__parser__include=filters.setting(map(filters.parse_option, texts))):
        load(stream.block())

    assert [index for (index,) in stored("transaction", "index")] == expected


@pytest.mark.usefixtures("ledger_tables")
def test_address_books_and_stakes_pass_every_filter() -> None:
    stream = Stream()
    book = NodeAddressBook(nodeAddress=[{"nodeId": 0, "nodeAccountId": num(3), "RSA_PubKey": "ab"}])
    body = {"fileID": {"fileNum": 102}, "contents": book.SerializeToString()}
    stream.happen("fileUpdate", body)
    stream.happen("node_stake_update", {"node_stake": [{"node_id": 0, "stake": 5}]})
    stream.send({1001: -1, 1002: 1})

    with settings(importer__parser__include=filters.setting([filters.parse_option("accounts=0.0.9999")])):
        load(stream.block())

    assert stored("address_book_entry", "node_id, public_key") == [(0, "ab")]
    assert stored("node_stake", "node_id, stake") == [(0, 5)]
    assert stored("crypto_transfer", "amount") == []
