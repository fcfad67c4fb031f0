"""Rows of contract results, and the columns they are read from: shared by all forms of their statements."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contracts.queries.ethereum import Ethereum
from mirror.core.db.reading.query import Bounds
from mirror.core.values.hapi import result_codes

# The senders of a list: accounts, or what they have to meet if they are too many to name; None for all.
Senders = Sequence[int] | Bounds | None


class ResultBlock(NamedTuple):
    number: int
    hash: str
    gas_used: int | None


class Result(NamedTuple):
    """One contract result, with its block and Ethereum transaction where a query reads them."""

    amount: int | None
    bloom: bytes | None
    call_result: bytes | None
    consensus_timestamp: int
    contract_id: int
    created_contract_ids: list[int] | None
    error_message: str | None
    evm_address: bytes | None
    failed_initcode: bytes | None
    function_parameters: bytes | None
    function_result: bytes | None
    gas_consumed: int | None
    gas_limit: int
    gas_used: int | None
    sender_id: int | None
    transaction_hash: bytes | None
    transaction_index: int | None
    transaction_result: int
    payer_account_id: int
    block: ResultBlock | None = None
    ethereum: Ethereum | None = None

    @property
    def is_synthetic(self) -> bool:
        """Whether it stands for logs of the mirror: a result that is stored has parameters, if no bytes."""
        return self.function_parameters is None


class Native(NamedTuple):
    """What results without an Ethereum transaction have instead of its chain id and price of gas.

    `chain_id` is hex, and `gas_prices` are by consensus timestamp, in tinybars.
    """

    chain_id: str
    gas_prices: Mapping[int, int | None]


RESULT_LENGTH = len(Result._fields) - 2


def result_columns(evm_address: str) -> str:
    """Return the columns of a result r without its block and Ethereum transaction."""
    return f"""
        r.amount, r.bloom, r.call_result, r.consensus_timestamp, r.contract_id, r.created_contract_ids,
        r.error_message, {evm_address}, r.failed_initcode, r.function_parameters,
        case when r.sender_id is null then r.function_result end, r.gas_consumed, r.gas_limit, r.gas_used,
        r.sender_id, r.transaction_hash, r.transaction_index, r.transaction_result, r.payer_account_id
    """


# The columns of a synthetic result: a successful call of the token that was moved, by whoever paid.
SYNTHETIC = {
    "amount": "null::bigint",
    "bloom": "null::bytea",
    "call_result": "null::bytea",
    "consensus_timestamp": "l.consensus_timestamp::nanos_timestamp",
    "contract_id": "coalesce(root_contract_id, contract_id)::bigint",
    "created_contract_ids": "null::bigint[]",
    "error_message": "null::text",
    "failed_initcode": "null::bytea",
    "function_parameters": "null::bytea",
    "function_result": "null::bytea",
    "gas_consumed": "null::bigint",
    "gas_limit": "0::bigint",
    "gas_used": "null::bigint",
    "sender_id": "payer_account_id::bigint",
    "transaction_hash": "transaction_hash",
    "transaction_index": "transaction_index",
    "transaction_result": f"{result_codes.NUMBERS['SUCCESS']}::smallint",
    "payer_account_id": "payer_account_id::bigint",
}
SYNTHETIC_COLUMNS = ", ".join(SYNTHETIC.get(name, "null::bytea") for name in Result._fields[:RESULT_LENGTH])


def synthetic_index(contract_id: int | None) -> str:
    """Return the index of the synthetic logs of a contract, or of all."""
    return f"contract_log__synthetic{'_contract' if contract_id else ''}_timestamp"
