"""Rows of contracts for reader tests, with sensible values for what a test does not name."""

from collections.abc import Sequence
from typing import Any

from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR, signed_bytes
from tests.build import SECOND, START, Build, insert

CONTRACT, OTHER, SENDER, PAYER = 5001, 5002, 8001, 102

#: Of no block's time in particular: tests name times as seconds after it.
AT = START + 1000 * SECOND


def contract(
    build: Build, contract_id: int = CONTRACT, *, code: dict[str, Any] | None = None, **columns: Any
) -> int:
    """A contract as it is now, and its code."""
    build.entity(contract_id, type="CONTRACT", **columns)
    insert("contract", id=contract_id, **(code or {}))
    return contract_id


def result(at: int = AT, *, contract_id: int = CONTRACT, **columns: Any) -> int:
    """A successful call alone; returns its consensus timestamp."""
    insert(
        "contract_result",
        **{
            "consensus_timestamp": at,
            "contract_id": contract_id,
            "amount": 30,
            "bloom": b"\5",
            "call_result": b"\6\6",
            "function_parameters": b"\7",
            "gas_limit": 1000,
            "gas_used": 100,
            "payer_account_id": PAYER,
            "sender_id": SENDER,
            "transaction_hash": digest(at),
            "transaction_index": 1,
            "transaction_result": 22,
        }
        | columns,
    )
    return at


def digest(at: int) -> bytes:
    return at.to_bytes(32, "big")


def transaction(at: int = AT, *, involved: Sequence[int] = (CONTRACT,), **columns: Any) -> int:
    """A call with the rows by which one result is found; returns its consensus timestamp."""
    result(at, **columns)
    found_by(at, involved=involved, **{key: columns[key] for key in _FOUND_BY if key in columns})
    return at


_FOUND_BY = ("contract_id", "transaction_result")


def found_by(
    at: int,
    *,
    involved: Sequence[int] = (CONTRACT,),
    contract_id: int = CONTRACT,
    transaction_result: int = 22,
    transaction_hash: bytes | None = None,
) -> None:
    for entity_id in {*involved, PAYER}:
        insert(
            "contract_transaction",
            consensus_timestamp=at,
            entity_id=entity_id,
            contract_ids=[*involved, PAYER],
            payer_account_id=PAYER,
        )
    hash_of(at, contract_id, transaction_result, transaction_hash)


def hash_of(
    at: int = AT, contract_id: int = CONTRACT, transaction_result: int = 22, hash: bytes | None = None
) -> None:
    insert(
        "contract_transaction_hash",
        consensus_timestamp=at,
        hash=hash or digest(at),
        payer_account_id=PAYER,
        entity_id=contract_id,
        transaction_result=transaction_result,
    )


def weibars(tinybars: int) -> bytes:
    return signed_bytes(tinybars * WEIBARS_PER_TINYBAR)


def ethereum(at: int = AT, **columns: Any) -> None:
    """The Ethereum transaction of type 2 that a call wrapped: it sends 10 tinybars, and pays 0x4b for gas."""
    insert(
        "ethereum_transaction",
        **{
            "consensus_timestamp": at,
            "payer_account_id": PAYER,
            "chain_id": b"\1\x2a",
            "data": b"data",
            "gas_limit": 2000,
            "hash": digest(at),
            "max_fee_per_gas": weibars(0x4B).lstrip(b"\0"),
            "max_gas_allowance": 0,
            "nonce": 5,
            "recovery_id": 1,
            "signature_r": b"\xd6",
            "signature_s": b"\x24",
            "type": 2,
            "value": weibars(10),
        }
        | columns,
    )


def log(at: int = AT, index: int = 0, *, contract_id: int = CONTRACT, **columns: Any) -> tuple[int, int]:
    """A log with two topics; returns what it is known by."""
    insert(
        "contract_log",
        **{
            "consensus_timestamp": at,
            "index": index,
            "contract_id": contract_id,
            "bloom": b"\1",
            "data": b"\2",
            "topic0": b"\x97",
            "topic1": b"\xe8\x01",
            "payer_account_id": PAYER,
            "root_contract_id": contract_id,
            "transaction_hash": digest(at),
            "transaction_index": 1,
        }
        | columns,
    )
    return at, index


def state(slot: int, value: int, *, contract_id: int = CONTRACT, at: int = AT) -> None:
    insert(
        "contract_state",
        contract_id=contract_id,
        slot=slot.to_bytes(32, "big"),
        value=value.to_bytes(1, "big"),
        created_timestamp=at,
        modified_timestamp=at,
    )


def state_change(slot: bytes, *, at: int = AT, contract_id: int = CONTRACT, **columns: Any) -> None:
    insert(
        "contract_state_change",
        **{
            "consensus_timestamp": at,
            "contract_id": contract_id,
            "payer_account_id": PAYER,
            "slot": slot,
            "value_read": b"\1",
            "value_written": None,
        }
        | columns,
    )


def action(index: int, *, at: int = AT, **columns: Any) -> None:
    """A call of a contract by another one."""
    insert(
        "contract_action",
        **{
            "consensus_timestamp": at,
            "index": index,
            "payer_account_id": PAYER,
            "call_depth": 1,
            "call_operation_type": 1,
            "call_type": 1,
            "caller": SENDER,
            "caller_type": "ACCOUNT",
            "gas": 900,
            "gas_used": 90,
            "input": b"\7",
            "recipient_contract": CONTRACT,
            "result_data": b"\6",
            "result_data_type": 11,
            "value": 20,
        }
        | columns,
    )


def address(number: int) -> str:
    """A long-zero address."""
    return f"0x{number:040x}"


def word(number: int) -> str:
    return f"0x{number:064x}"


def seconds(at: int) -> str:
    """The time as requests and answers write it."""
    return f"{at // SECOND}.{at % SECOND:09}"
