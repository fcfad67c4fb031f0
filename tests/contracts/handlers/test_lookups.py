"""Rows by which transactions are found for their logs and for the parties of NFT transfers."""

from typing import Any

import pytest

from tests.ledger.ingest.load import load, settings, stored
from tests.tokens.compose import TokenStream, serials, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN, NFT = 5000, 5001
PAYER, ALICE, BOB, COLLECTOR = 1000, 1001, 1002, 1003
HASH = bytes(range(48))


def submit(stream: TokenStream, *moved: Any, **options: Any) -> int:
    """Add a message to a topic; its fee was paid in what moved."""
    body = {"topicID": {"topicNum": 700}, "message": b"m"}
    return stream.happen(
        "consensusSubmitMessage", body, *moved, record={"transactionHash": HASH}, payer=ALICE, **options
    )


@pytest.mark.checklist("LUT-05")
def test_a_message_that_paid_its_fee_in_tokens_is_found_by_its_hash() -> None:
    stream = TokenStream()
    at = submit(stream, units(TOKEN, {ALICE: -5, COLLECTOR: 5}))
    submit(stream)
    load(stream.block())

    found = stored("transaction_hash", "consensus_timestamp, hash, hash_suffix, payer_account_id")
    assert found == [(at, HASH[:32], HASH[32:], ALICE)]
    assert stored("contract_log", "consensus_timestamp, transaction_hash") == [(at, HASH[:32])]


@pytest.mark.checklist("LUT-05")
def test_logs_of_a_message_are_found_by_its_hash(api: Any) -> None:
    stream = TokenStream()
    submit(stream, units(TOKEN, {ALICE: -5, COLLECTOR: 5}))
    load(stream.block())

    answer = api.get(f"/api/v1/contracts/results/logs?transaction.hash={HASH.hex()}")
    assert [log["contract_id"] for log in answer.json()["logs"]] == [f"0.0.{TOKEN}"]


@pytest.mark.checklist("LUT-05", "CFG-01")
@pytest.mark.parametrize("off", ["syntheticContractLogs", "transactionHash"])
def test_without_logs_or_hashes_it_is_not(off: str) -> None:
    stream = TokenStream()
    submit(stream, units(TOKEN, {ALICE: -5, COLLECTOR: 5}))
    with settings(**{f"persist__{off}": False}):
        load(stream.block())

    assert stored("transaction_hash", "hash") == []


@pytest.mark.checklist("LUT-06")
@pytest.mark.parametrize(
    ("also", "entities"), [(False, [ALICE, BOB]), (True, [3, PAYER, ALICE, BOB, NFT])], ids=["alone", "all"]
)
def test_who_gives_or_gets_a_serial_has_the_transaction_if_configured(
    also: bool, entities: list[int]
) -> None:
    stream = TokenStream()
    at = stream.transfer(serials(NFT, (1, ALICE, BOB), (2, PAYER, BOB)), payer=PAYER)
    with settings(persist__entityNftTransactions=True, persist__entityTransactions=also):
        load(stream.block())

    columns = "consensus_timestamp, entity_id, payer_account_id, result, type"
    assert stored("entity_transaction", columns) == [(at, entity, PAYER, 22, 14) for entity in entities]


@pytest.mark.parametrize("also", [False, True])
def test_excluded_accounts_are_found_as_parties_of_nft_transfers(also: bool) -> None:
    stream = TokenStream()
    stream.transfer(serials(NFT, (1, 98, 800), (2, 801, 802)), payer=PAYER)
    with settings(persist__entityNftTransactions=True, persist__entityTransactions=also):
        load(stream.block())

    found = {entity for (entity,) in stored("entity_transaction", "entity_id")}
    assert found == {98, 800, 801, 802} | ({3, PAYER, NFT} if also else set())


def test_excluded_accounts_have_no_rows_as_entities() -> None:
    stream = TokenStream()
    stream.transfer(serials(NFT, (1, 98, 800)), payer=PAYER)
    with settings(persist__entityTransactions=True):
        load(stream.block())

    assert {entity for (entity,) in stored("entity_transaction", "entity_id")} == {3, PAYER, NFT}
