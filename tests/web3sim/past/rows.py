"""Rows of contract transactions of the past: a block, its people, a contract, and what was asked of it."""

from typing import Any

from mirror.core.values.hapi.transaction_types import NUMBERS
from tests.build import SECOND, START, Build, insert
from tests.web3sim.rows import CALLER, TREASURY

CALL, CREATE, ETHEREUM = (
    NUMBERS[name] for name in ("CONTRACTCALL", "CONTRACTCREATEINSTANCE", "ETHEREUMTRANSACTION")
)
BLOCK = 7
AT = START + 1000 * SECOND
VALID_START = AT - 5 * SECOND
SUCCESS, REVERTED = 22, 33


def network(build: Build, *, until: int = AT + SECOND) -> None:
    """A block of two seconds, the treasury and a rich account, all from before it."""
    build.block(BLOCK, end=until, consensus_start=AT - SECOND)
    build.entity(TREASURY, balance=10**18)
    build.entity(CALLER, balance=10**16)


def result(at: int = AT, *, type: int = CALL, **columns: Any) -> int:
    """A successful contract transaction with its transaction row; returns its consensus timestamp."""
    given = {
        "consensus_timestamp": at,
        "contract_id": 5001,
        "payer_account_id": CALLER,
        "sender_id": CALLER,
        "function_parameters": b"",
        "gas_limit": 100_000,
        "transaction_index": 0,
        "transaction_nonce": 0,
        "transaction_result": SUCCESS,
        "transaction_hash": digest(at),
    } | columns
    insert("contract_result", **given)
    insert(
        "transaction",
        consensus_timestamp=at,
        payer_account_id=given["payer_account_id"],
        valid_start_ns=at - 5 * SECOND,
        type=type,
        result=given["transaction_result"],
        nonce=given["transaction_nonce"],
        scheduled=False,
        entity_id=given["contract_id"],
        index=0,
    )
    insert(
        "contract_transaction_hash",
        consensus_timestamp=at,
        hash=digest(at),
        payer_account_id=given["payer_account_id"],
        entity_id=given["contract_id"],
        transaction_result=given["transaction_result"],
    )
    return at


def digest(at: int) -> bytes:
    return at.to_bytes(32, "big")


def ethereum(at: int = AT, **columns: Any) -> None:
    """The Ethereum transaction that a result wrapped; no `to_address` means a creation."""
    insert(
        "ethereum_transaction",
        **{
            "consensus_timestamp": at,
            "payer_account_id": CALLER,
            "data": b"data",
            "gas_limit": 200_000,
            "hash": digest(at),
            "max_gas_allowance": 0,
            "nonce": 5,
            "signature_r": b"\xd6",
            "signature_s": b"\x24",
            "type": 2,
        }
        | columns,
    )


def file(file_id: int, content: bytes, *, at: int = START) -> None:
    insert(
        "file_data",
        consensus_timestamp=at,
        entity_id=file_id,
        file_data=content,
        transaction_type=NUMBERS["FILECREATE"],
    )


def transaction_id(at: int = AT) -> str:
    seconds, nanos = divmod(at - 5 * SECOND, SECOND)
    return f"0.0.{CALLER}-{seconds}-{nanos:09}"
