"""Positions of contract results and logs in their block: other transactions do not count."""

from typing import Any

import pytest

from tests.contracts.compose import CONTRACT, OTHER, ContractStream, ethereum_data, function_result, log
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.tokens.compose import serials, units

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.checklist("CON-29")]

TOKEN, HOOKS = 5000, 365
DUPLICATE_TRANSACTION, INSUFFICIENT_PAYER_BALANCE, REVERTED, WRONG_NONCE = 11, 10, 33, 312
MOVED = units(TOKEN, {1001: -7, 1002: 7})


def positions(table: str = "contract_result") -> list[tuple[int, int | None]]:
    return stored(table, "consensus_timestamp, transaction_index")


def move(stream: ContractStream, *moved: Any) -> int:
    return stream.happen("cryptoTransfer", {}, record={"tokenTransferLists": moved})


def test_transfers_of_hbar_take_no_position() -> None:
    stream = ContractStream()
    stream.crypto_transfer({1002: -1, 1003: 1}, payer=1002)
    first = stream.call(ran=function_result(logInfo=[log()]))
    stream.crypto_transfer({1002: -1, 1003: 1}, payer=1002)
    second = stream.call(ran=function_result(logInfo=[log()]))
    load(stream.block())

    assert positions() == positions("contract_log") == [(first, 0), (second, 1)]
    assert [index for index, _ in stored("transaction", "index, consensus_timestamp")] == [0, 1, 2, 3]


def test_every_block_begins_anew() -> None:
    stream = ContractStream()
    calls = [stream.call(ran=function_result())]
    blocks = [stream.block()]
    calls.append(stream.call(ran=function_result()))
    load_in_any_batches(*blocks, stream.block())

    assert positions() == [(at, 0) for at in calls]


def test_a_wrong_nonce_takes_no_position() -> None:
    stream = ContractStream()
    first = stream.ethereum(ethereum_data(), function_result(), result=WRONG_NONCE)
    second = stream.ethereum(ethereum_data(), function_result())
    load(stream.block())

    assert positions() == [(first, None), (second, 0)]


def test_calls_and_creations_by_a_contract_share_its_position() -> None:
    stream = ContractStream()
    other = stream.call(ran=function_result())
    call = stream.call(ran=function_result())
    created = stream.create(OTHER, parent=call, nonce=1)
    called = stream.call(OTHER, function_result(OTHER), parent=call, nonce=2, result=REVERTED)
    after = stream.create()
    load(stream.block())

    assert positions() == [(other, 0), (call, 1), (created, 1), (called, 1), (after, 2)]


@pytest.mark.parametrize("kind", ["tokenAssociate", "cryptoTransfer"])
def test_children_of_any_type_share_the_position_of_their_parent(kind: str) -> None:
    stream = ContractStream()
    stream.call(ran=function_result())
    call = stream.call(ran=function_result())
    record = {"contractCallResult": function_result(359)}
    child = stream.happen(kind, {}, record=record, parent=call, nonce=1)
    load(stream.block())

    assert positions()[1:] == [(call, 1), (child, 1)]


def test_hooks_of_a_logged_transfer_share_its_position() -> None:
    stream = ContractStream()
    move(stream, MOVED)
    parent = move(stream, MOVED)
    hook = stream.call(HOOKS, function_result(HOOKS), parent=parent, nonce=1)
    within = stream.happen(
        "cryptoTransfer", {}, record={"contractCallResult": function_result(359)}, parent=parent, nonce=2
    )
    last = stream.call(ran=function_result())
    load(stream.block())

    assert positions() == [(hook, 1), (within, 1), (last, 2)]


def test_a_hook_has_a_position_that_what_it_causes_shares() -> None:
    stream = ContractStream()
    parent = stream.happen("cryptoTransfer", {})
    calls = []
    for nonce in (1, 3):
        calls.append(stream.call(HOOKS, function_result(HOOKS), parent=parent, nonce=nonce))
        calls.append(stream.call(OTHER, function_result(OTHER), parent=parent, nonce=nonce + 1))
    load(stream.block())

    assert positions() == list(zip(calls, (0, 0, 1, 1), strict=True))


def test_a_logged_transfer_takes_one_position_for_all_its_logs() -> None:
    stream = ContractStream()
    first = move(stream, MOVED, serials(TOKEN + 1, (1, 1001, 1002)))
    call = stream.call(ran=function_result(logInfo=[log(CONTRACT)]))
    last = move(stream, MOVED)
    load(stream.block())

    assert positions("contract_log") == [(first, 0), (first, 0), (call, 1), (last, 2)]
    assert positions() == [(call, 1)]


def test_transactions_that_failed_their_checks_take_positions() -> None:
    stream = ContractStream()
    refused = stream.call(result=REVERTED)
    stream.ethereum(ethereum_data(), result=DUPLICATE_TRANSACTION)
    stream.ethereum(ethereum_data(), result=WRONG_NONCE)
    failed = stream.ethereum(ethereum_data(), result=INSUFFICIENT_PAYER_BALANCE)
    called = stream.call(ran={})
    within = stream.call(OTHER, parent=called, nonce=1, result=REVERTED)
    load(stream.block())

    assert positions() == [(refused, 0), (failed, 1), (called, 2), (within, 2)]


def test_excluded_calls_count_in_positions() -> None:
    stream = ContractStream()
    stream.call(ran=function_result())
    stream.ethereum(ethereum_data(), function_result(), result=WRONG_NONCE)
    left_out = stream.call(ran=function_result(), payer=1002)
    inner = stream.call(OTHER, function_result(OTHER), parent=left_out, nonce=1, payer=1003)
    moved = stream.happen("cryptoTransfer", {}, record={"tokenTransferLists": [MOVED]}, payer=1003)
    last = stream.call(ran=function_result(), payer=1003)
    with settings(importer__parser__include="entity=1003"):
        load(stream.block())

    assert positions() == [(inner, 1), (last, 3)]
    assert positions("contract_log") == [(moved, 2)]
