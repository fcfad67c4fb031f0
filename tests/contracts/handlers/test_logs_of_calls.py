"""Logs of tokens that contracts moved before nodes logged that themselves: they belong to the call."""

from typing import Any

import pytest

from contracts.handlers.synthetic import TRANSFER
from mirror.core.values import entity_id, log_bloom
from mirror.demo.streams.record_files import account
from tests.contracts.compose import CONTRACT, OTHER, ContractStream, contract, function_result, log
from tests.ledger.ingest.load import load, load_in_any_batches, stored
from tests.tokens.compose import serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN, NFT = 5000, 5001
ALICE, BOB = 1001, 1002
A, B = b"\3\xe9", b"\3\xea"
HOOKS, TOKEN_SERVICE = 365, 359
MOVED = units(TOKEN, {ALICE: -7, BOB: 7})
ADDRESS = b"\0\xab" + b"\1" * 18


def empty_result(number: int = CONTRACT, **more: Any) -> dict[str, Any]:
    return function_result(number, bloom=bytes(256)) | more


def transfer(
    stream: ContractStream, *moved: Any, parent: int | None = None, nonce: int = 1, **record: Any
) -> int:
    record = {"tokenTransferLists": moved, "contractCallResult": empty_result(TOKEN_SERVICE)} | record
    return stream.happen("cryptoTransfer", {}, record=record, parent=parent, nonce=nonce)


def logs(columns: str) -> list[Any]:
    return stored("contract_log", columns)


def bloom_of(contract_id: int, *topics: bytes, address: bytes | None = None) -> bytes:
    return log_bloom.create_bloom(address or entity_id.long_zero(contract_id), topics)


@pytest.mark.checklist("SYN-01")
def test_a_log_of_a_child_is_one_of_the_call() -> None:
    stream = ContractStream()
    call = stream.call(
        ran=empty_result(logInfo=[log(OTHER)]),
        receipt={"contractID": contract(OTHER)},
        record={"transactionHash": b"h" * 48},
    )
    transfer(stream, MOVED, parent=call, transactionHash=b"c" * 48)
    load(stream.block())

    own, units_moved = logs(
        "index, consensus_timestamp, contract_id, root_contract_id, transaction_hash, transaction_index,"
        "synthetic"
    )
    place = (call, CONTRACT, OTHER, b"h" * 32, 0)
    assert own == (0, call, OTHER, OTHER, b"h" * 32, 0, False)
    assert units_moved == (1, *place, True)
    assert logs("index, topic0, topic1, topic2, topic3, data")[1:] == [(1, TRANSFER, A, B, None, b"\7")]


@pytest.mark.checklist("SYN-01")
def test_serials_that_contracts_move_have_no_logs() -> None:
    stream = ContractStream()
    call = stream.call(ran=empty_result())
    transfer(stream, serials(NFT, (1, ALICE, BOB)), parent=call)
    load(stream.block())

    assert logs("index") == []


@pytest.mark.checklist("SYN-01", "SYN-07", "FILE-10")
def test_its_bloom_joins_those_of_the_result_and_of_the_block() -> None:
    stream = ContractStream()
    call = stream.call(ran=empty_result(), receipt={"contractID": contract(CONTRACT)})
    transfer(stream, MOVED, parent=call)
    other = stream.call(OTHER, ran=empty_result(OTHER))
    load_in_any_batches(stream.block())

    bloom = bloom_of(CONTRACT, TRANSFER, A, B)
    assert logs("bloom") == [(bloom,)]
    assert stored("contract_result", "bloom", f"consensus_timestamp = {call}") == [(bloom,)]
    assert stored("contract_result", "bloom", f"consensus_timestamp = {other}") == [(b"",)]
    assert stored("record_file", "logs_bloom") == [(bloom,)]


@pytest.mark.checklist("FILE-10")
def test_a_blocks_bloom_has_the_logs_of_nested_calls_and_its_gas_has_not() -> None:
    stream = ContractStream()
    call = stream.call(ran=empty_result(gasUsed=7))
    nested = bloom_of(OTHER, TRANSFER)
    stream.call(OTHER, function_result(OTHER, bloom=nested, gasUsed=5), parent=call, nonce=1)
    load(stream.block())

    assert stored("record_file", "gas_used, logs_bloom") == [(7, nested)]


@pytest.mark.checklist("SYN-01", "SYN-06", "SYN-07")
def test_the_bloom_is_of_the_addresses_that_are_looked_up() -> None:
    stream = ContractStream()
    stream.create(body={}, created=empty_result() | {"evm_address": {"value": ADDRESS}})
    first = stream.block()
    call = stream.call(ran=empty_result(), receipt={"contractID": contract(CONTRACT)})
    transfer(stream, MOVED, units(NFT, {BOB: -7, ALICE: 7}), parent=call)
    load_in_any_batches(first, stream.block())

    there = bloom_of(CONTRACT, TRANSFER, A, B, address=ADDRESS)
    back = bloom_of(CONTRACT, TRANSFER, B, A, address=ADDRESS)
    assert logs("index, bloom") == [(0, there), (1, back)]
    together = log_bloom.union([there, back])
    assert stored("contract_result", "bloom", f"consensus_timestamp = {call}") == [(together,)]


@pytest.mark.checklist("SYN-07")
def test_what_is_no_bloom_in_a_record_stays_as_it_is() -> None:
    stream = ContractStream()
    call = stream.call(ran=empty_result(bloom=b"\xff" * 300))
    transfer(stream, MOVED, parent=call)
    load(stream.block())

    assert stored("contract_result", "bloom", f"consensus_timestamp = {call}") == [(b"\xff" * 300,)]
    assert stored("record_file", "logs_bloom") == [(bloom_of(CONTRACT, TRANSFER, A, B),)]


@pytest.mark.checklist("SYN-01", "SYN-07")
def test_a_call_that_moves_tokens_in_its_own_record_has_a_log_of_the_token() -> None:
    stream = ContractStream()
    at = stream.call(ran=empty_result(), record={"tokenTransferLists": [MOVED], "transactionHash": b"h" * 48})
    load(stream.block())

    columns = "consensus_timestamp, contract_id, root_contract_id, transaction_hash, transaction_index, bloom"
    bloom = bloom_of(TOKEN, TRANSFER, A, B)
    assert logs(columns) == [(at, TOKEN, TOKEN, b"h" * 32, 0, bloom)]
    assert stored("contract_result", "bloom") == [(bloom,)]


@pytest.mark.checklist("SYN-01", "SYN-07")
def test_the_log_of_a_child_without_a_result_of_its_own_is_one_of_the_call_too() -> None:
    stream = ContractStream()
    call = stream.call(ran=empty_result(), record={"transactionHash": b"h" * 48})
    record = {"tokenTransferLists": [MOVED], "transactionHash": b"c" * 48}
    stream.happen("cryptoTransfer", {}, record=record, parent=call, nonce=1)
    load(stream.block())

    columns = "consensus_timestamp, contract_id, transaction_hash, transaction_index, bloom"
    bloom = bloom_of(CONTRACT, TRANSFER, A, B)
    assert logs(columns) == [(call, CONTRACT, b"h" * 32, 0, bloom)]
    assert stored("contract_result", "bloom") == [(bloom,)]
    assert stored("record_file", "logs_bloom") == [(bloom,)]


@pytest.mark.checklist("SYN-01")
def test_what_a_hook_moves_is_logged_with_the_call_of_the_hook() -> None:
    stream = ContractStream()
    parent = stream.happen(
        "cryptoTransfer", {"tokenTransfers": [MOVED]}, record={"tokenTransferLists": [MOVED]}
    )
    calls, moves = [], []
    for nonce in (1, 3):
        calls.append(
            stream.call(
                HOOKS,
                empty_result(HOOKS),
                parent=parent,
                nonce=nonce,
                receipt={"contractID": contract(HOOKS)},
            )
        )
        moves.append(transfer(stream, MOVED, parent=parent, nonce=nonce + 1))
    load(stream.block())

    assert logs("index, consensus_timestamp, contract_id, root_contract_id, transaction_index") == [
        (0, parent, TOKEN, TOKEN, 0),
        (1, calls[0], HOOKS, HOOKS, 0),
        (2, calls[1], HOOKS, HOOKS, 0),
    ]


@pytest.mark.checklist("SYN-01")
@pytest.mark.parametrize(("version", "number"), [((0, 70, 9), 1), ((0, 71, 0), 0), ((1, 0, 0), 0)])
def test_a_contracts_transfer_has_one_log_whoever_writes_it(version: Any, number: int) -> None:
    # From this version on the node's own log is in the record of the call.
    stream = ContractStream(hapi_version=version)
    node_logs = (
        [] if number else [log(TOKEN, TRANSFER, b"\0" * 30 + A, b"\0" * 30 + B, data=bytes(31) + b"\7")]
    )
    call = stream.call(ran=empty_result(logInfo=node_logs))
    transfer(stream, MOVED, parent=call)
    load(stream.block())

    assert logs("consensus_timestamp, topic1, topic2, synthetic") == [(call, A, B, bool(number))]


def test_only_transfers_of_contracts_are_logged_not_their_approvals() -> None:
    stream = ContractStream()
    call = stream.call(ran=empty_result())
    allowance = {"tokenId": token(TOKEN), "owner": account(ALICE), "spender": account(BOB), "amount": 5}
    stream.happen(
        "cryptoApproveAllowance",
        {"tokenAllowances": [allowance]},
        record={"contractCallResult": empty_result(TOKEN_SERVICE)},
        parent=call,
        nonce=1,
    )
    stream.happen(
        "cryptoDeleteAllowance",
        {"nftAllowances": [{"token_id": token(NFT), "serial_numbers": [2]}]},
        record={"contractCallResult": empty_result(TOKEN_SERVICE)},
        parent=call,
        nonce=2,
    )
    load(stream.block())

    assert logs("index") == []
