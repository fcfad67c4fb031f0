"""Rows of contract results, the columns they are read from, and what belongs to them and is elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contracts.queries import ethereum
from contracts.queries.ethereum import Ethereum
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import Row, fetch
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
    """The chain id in hex and the gas prices by time (tinybars) of results without Ethereum transaction."""

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


def evm_addresses(ids: Iterable[int]) -> dict[int, bytes | None]:
    """Return the EVM addresses of entities, by id."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    # Index: the primary key (id), on the machines of these ids.
    return dict(fetch("select id, evm_address from entity where id = any(%s)", (wanted,)))


def blocks(times: Sequence[int], longest: int | None = None) -> dict[int, Row]:
    """Return number, hash and gas used of the block of each time, if it is stored.

    With `longest`, a block that ends more nanoseconds than that after the last of the times is left out, and
    one that begins after its time as well.
    """
    if not times:
        return {}
    # Index: the primary key of record_file (consensus_end).
    shown = "" if longest is None else "where b.consensus_start <= wanted.at and b.consensus_end <= %s"
    rows = fetch(
        f"""
        select wanted.at, b.index, b.hash, b.gas_used
        from (select distinct at from unnest(%s::bigint[]) at) wanted
        cross join lateral (
            select * from record_file where consensus_end >= wanted.at order by consensus_end limit 1
        ) b {shown}
        """,
        (list(times), *(() if longest is None else (max(times) + longest,))),
    )
    return {row[0]: row[1:] for row in rows}


def ethereum_transactions(
    keys: Iterable[tuple[int, int]], times: Bounds, *, one: bool = False
) -> dict[int, Row]:
    """Return the columns of Ethereum transactions of these times and payers, by time."""
    wanted = list(keys)
    if not wanted:
        return {}
    more = f", {ethereum.COLUMNS_OF_ONE}" if one else ""
    # Index: the primary key (consensus_timestamp, payer_account_id), on the machines of these payers.
    statement = f"""
        select t.consensus_timestamp, {ethereum.COLUMNS}{more} from ethereum_transaction t
        where t.consensus_timestamp = any(%s) and t.payer_account_id = any(%s)
            {and_months(times, "t.consensus_timestamp")}
    """
    values = [timestamp for timestamp, _ in wanted], sorted({payer for _, payer in wanted})
    return {row[0]: row[1:] for row in fetch(statement, values)}
