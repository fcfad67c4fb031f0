"""The option --filter: what it keeps, and how it says so."""

import pytest

from ledger.ingest import filters
from ledger.ingest.filters import InvalidFilter
from mirror.values.hapi import NodeAddressBook
from tests.ledger.compose import Stream, num
from tests.ledger.ingest.load import load, settings, stored
from tests.ledger.ingest.test_selection import some_transactions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("types=CRYPTOTRANSFER", "of type CRYPTOTRANSFER"),
        (
            "types=cryptotransfer,tokenmint,tokenburn",
            "of type CRYPTOTRANSFER, TOKENMINT or TOKENBURN",
        ),
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
def test_a_filter_says_what_it_keeps(text: str, words: str) -> None:
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
def test_a_filter_that_makes_no_sense_is_refused(text: str, problem: str) -> None:
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
def test_filters_keep_what_they_say(texts: list[str], expected: list[int]) -> None:
    stream = some_transactions()

    with settings(importer__parser__include=filters.setting(map(filters.parse_option, texts))):
        load(stream.block())

    assert [index for (index,) in stored("transaction", "index")] == expected


@pytest.mark.usefixtures("ledger_tables")
def test_address_books_and_stakes_are_kept_whatever_the_filter() -> None:
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
