"""Transactions with their transfers: pages by account, type, result and time, and by id or hash.

Every statement that returns transactions returns their transfers with them, as arrays of numbers made by
two correlated sub-selects: for a page that costs about a third of fetching the transfers' rows in
statements of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mirror.db.bounds import Bounds
from mirror.db.query import Query
from mirror.db.sql import Comparison, Row, Where, compare, fetch
from mirror.values import result_codes

# Index: crypto_transfer__consensus_timestamp, token_transfer__token_account_timestamp (both lead with the
# time).
_COLUMNS = """
    t.consensus_timestamp, t.payer_account_id, t.valid_start_ns, t.type, t.result, t.scheduled, t.nonce,
    t.batch_key, t.transaction_bytes, t.charged_tx_fee, t.entity_id, t.max_fee, t.max_custom_fees, t.memo,
    t.nft_transfer, t.node_account_id, t.parent_consensus_timestamp, t.transaction_hash,
    t.valid_duration_seconds,
    (
        select array_agg(
            array[c.entity_id::bigint, c.amount::bigint, coalesce(c.is_approval, false)::int]
            order by c.entity_id, c.amount
        )
        from crypto_transfer c where c.consensus_timestamp = t.consensus_timestamp
    ),
    (
        select array_agg(
            array[k.token_id::bigint, k.account_id::bigint, k.amount::bigint, coalesce(k.is_approval,
            false)::int] order by k.token_id, k.account_id ) from token_transfer k where
            k.consensus_timestamp = t.consensus_timestamp )
"""

# What the answers to one transaction id or hash show besides. Index:
# assessed_custom_fee__consensus_timestamp.
_MORE_COLUMNS = """,
    (
        select json_agg(
            json_build_array(f.amount, f.collector_account_id, f.token_id, f.effective_payer_account_ids)
            order by f.collector_account_id, f.amount
        )
        from assessed_custom_fee f where f.consensus_timestamp = t.consensus_timestamp
    ),
    t.inner_transactions
"""

# The account that collects all fees is left out of the index of transfers by account, being in nearly every
# transaction; the condition tells PostgreSQL that the index has all rows of the account asked for.
_FEE_COLLECTOR = 98
_INDEXED = Where((f"c.entity_id::bigint <> {_FEE_COLLECTOR}",))

_MOST_OF_A_HASH = 25


class FullTransaction(NamedTuple):
    """One transaction with its transfers; the last two only where one transaction id or hash is asked for."""

    consensus_timestamp: int
    payer_account_id: int
    valid_start_ns: int
    type: int
    result: int
    scheduled: bool
    nonce: int
    batch_key: bytes | None
    transaction_bytes: bytes | None
    charged_tx_fee: int | None
    entity_id: int | None
    max_fee: int | None
    max_custom_fees: list[bytes] | None
    memo: bytes | None
    nft_transfer: list[dict[str, int | bool | None]] | None
    node_account_id: int | None
    parent_consensus_timestamp: int | None
    transaction_hash: bytes | None
    valid_duration_seconds: int | None
    transfers: list[tuple[int, int, int]] | None  # account, amount, is_approval
    token_transfers: list[tuple[int, int, int, int]] | None  # token, account, amount, is_approval
    assessed_custom_fees: list[tuple[int, int, int | None, list[int]]] | None
    inner_transactions: list[int] | None

    @property
    def successful(self) -> bool:
        return self.result in result_codes.SUCCESS


@dataclass(frozen=True, slots=True)
class Selection:
    """Which transactions a list has.

    `accounts`: who pays or takes part in transfers. `credit`: with a transfer that gives (True) or takes
    (False). `succeeded`: by result. `preceding`: types whose synthetic records count as their payer's own.
    """

    timestamps: Bounds = Bounds()
    accounts: Sequence[Comparison] = ()
    credit: bool | None = None
    succeeded: bool | None = None
    types: Sequence[int] = ()
    preceding: Sequence[int] = ()


def transactions(selection: Selection, query: Query) -> list[FullTransaction]:
    """A page of transactions by consensus timestamp.

    First the page's keys: an ordered and limited sub-select per source of keys, so that each runs along its
    own index and stops early; then the rows of those keys.
    """
    page = f"order by consensus_timestamp {query.direction} limit {query.limit:d}"
    parts = list(_keys(selection, page))
    if not parts:
        return []
    values = [value for part in parts for value in part.values]
    keys = " union ".join(f"({part.sql})" for part in parts)
    statement = f"""
        select {_COLUMNS}, null, null
        from (select consensus_timestamp from ({keys}) part {page}) key
        join transaction t on t.consensus_timestamp = key.consensus_timestamp
        order by t.consensus_timestamp {query.direction}
    """
    return [FullTransaction._make(row) for row in fetch(statement, values)]


class _Part(NamedTuple):
    sql: str
    values: tuple[object, ...]


def _keys(selection: Selection, page: str) -> Iterable[_Part]:
    """The sub-selects whose union are the consensus timestamps of the page."""
    if not selection.accounts and selection.credit is None:
        yield from _keys_of_all(selection, page)
        return
    kind = _kind(selection)
    join = "join transaction t on t.consensus_timestamp = {}.consensus_timestamp" if kind.conditions else ""
    sign = Where() if selection.credit is None else Where((f"amount {'>' if selection.credit else '<'} 0",))
    for accounts in _alternatives(selection.accounts):
        if selection.credit is None:
            # Index: transaction__payer_account_id_consensus_ns (payer_account_id, consensus_timestamp).
            own = Where(
                ("(t.nonce = 0 or t.parent_consensus_timestamp is not null or t.type = any(%s))",),
                (list(selection.preceding),),
            )
            payer = compare("t.payer_account_id", accounts)
            where = payer + own + selection.timestamps.where("t.consensus_timestamp") + kind
            yield _Part(f"select t.consensus_timestamp from transaction t {where.sql} {page}", where.values)
        # Index: crypto_transfer__entity_id_consensus_timestamp (entity_id, consensus_timestamp).
        where = compare("c.entity_id", accounts) + (_INDEXED if _is_indexed(accounts) else Where())
        where += selection.timestamps.where("c.consensus_timestamp") + sign + kind
        yield _distinct(f"crypto_transfer c {join.format('c')}", "c", where, page)
        # Index: token_transfer__account_timestamp (account_id, consensus_timestamp).
        where = compare("k.account_id", accounts)
        where += selection.timestamps.where("k.consensus_timestamp") + sign + kind
        yield _distinct(f"token_transfer k {join.format('k')}", "k", where, page)


def _keys_of_all(selection: Selection, page: str) -> Iterable[_Part]:
    """Without account: by the primary key, or per type by transaction__type_consensus_timestamp."""
    timestamps = selection.timestamps.where("t.consensus_timestamp")
    result = _result(selection.succeeded)
    of_types = [Where(("t.type = %s",), (number,)) for number in dict.fromkeys(selection.types)]
    for of_type in of_types or [Where()]:
        where = of_type + timestamps + result
        yield _Part(f"select t.consensus_timestamp from transaction t {where.sql} {page}", where.values)


def _distinct(tables: str, alias: str, where: Where, page: str) -> _Part:
    return _Part(
        f"select distinct {alias}.consensus_timestamp from {tables} {where.sql} {page}", where.values
    )


def _alternatives(accounts: Sequence[Comparison]) -> Iterable[Sequence[Comparison]]:
    """Several accounts are asked for one by one: only one runs along an index in the order of time."""
    if all(operator == "eq" for operator, _ in accounts):
        distinct = dict.fromkeys(accounts)
        return [(account,) for account in distinct if account.value is not None] if distinct else [()]
    return [accounts]


def _is_indexed(accounts: Sequence[Comparison]) -> bool:
    return len(accounts) == 1 and accounts[0].operator == "eq" and accounts[0].value != _FEE_COLLECTOR


def _kind(selection: Selection) -> Where:
    types = Where(("t.type = any(%s)",), (list(selection.types),)) if selection.types else Where()
    return types + _result(selection.succeeded)


def _result(succeeded: bool | None) -> Where:
    """The codes stand in the text: PostgreSQL knows how common they are, and would guess without them."""
    if succeeded is None:
        return Where()
    codes = ", ".join(str(code) for code in sorted(result_codes.SUCCESS))
    return Where((f"t.result {'in' if succeeded else 'not in'} ({codes})",))


def first_consensus_timestamp() -> int:
    """When the first transaction known here was agreed on; 0 when there is none."""
    ((first,),) = fetch("select coalesce(min(consensus_timestamp), 0) from transaction")
    return int(first)


def transactions_of_id(payer_account_id: int, valid_start_ns: int, query: Query) -> list[FullTransaction]:
    """All transactions of one id, whenever they reached consensus; the query narrows t."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id). A condition on the time would
    # tempt PostgreSQL to read all that this payer did in that time instead.
    where = compare("t.valid_start_ns", [Comparison("eq", valid_start_ns)])
    where += Where(("t.payer_account_id = %s",), (payer_account_id,))
    return _all(where + query.where)


def transactions_of_ids(ids: Sequence[tuple[int, int]], query: Query) -> list[FullTransaction]:
    """The same for several ids, pairs of payer and valid start."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id).
    among = "(t.payer_account_id, t.valid_start_ns) in (select * from unnest(%s::bigint[], %s::bigint[]))"
    where = Where((among,), ([payer for payer, _ in ids], [start for _, start in ids]))
    return _all(where + query.where)


def transactions_of_hash(digest: bytes, query: Query) -> list[FullTransaction]:
    """All transactions of one 48-byte hash; those of another payer than the first one are left out."""
    # Indexes: transaction_hash__hash of the one partition that the first byte decides; then the primary key
    # (consensus_timestamp).
    statement = f"""
        with found as materialized (
            select consensus_timestamp, payer_account_id
            from (
                select consensus_timestamp, payer_account_id, hash || coalesce(hash_suffix, '') as digest
                from transaction_hash
                where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s
                order by consensus_timestamp limit {_MOST_OF_A_HASH}
            ) candidate
            where digest = %s
        ),
        payer as materialized (
            select payer_account_id from found order by consensus_timestamp limit 1
        )
        select {_COLUMNS} {_MORE_COLUMNS}
        from transaction t
        where t.consensus_timestamp = any(array(select consensus_timestamp from found))
            and t.payer_account_id = coalesce((select payer_account_id from payer), t.payer_account_id)
            {query.where.and_sql}
        order by t.consensus_timestamp
    """
    values = (digest[0] % 32, digest[:32], digest, *query.where.values)
    return [FullTransaction._make(row) for row in fetch(statement, values)]


def _all(where: Where) -> list[FullTransaction]:
    statement = f"""
        select {_COLUMNS} {_MORE_COLUMNS} from transaction t {where.sql} order by t.consensus_timestamp
    """
    return [FullTransaction._make(row) for row in fetch(statement, where.values)]


def staking_reward_transfers(timestamps: Sequence[int]) -> list[Row]:
    """(consensus_timestamp, account_id, amount) of the rewards paid in these transactions."""
    # Index: the primary key (consensus_timestamp, account_id).
    return fetch(
        """
        select consensus_timestamp, account_id, amount from staking_reward_transfer
        where consensus_timestamp = any(%s) order by consensus_timestamp, account_id
        """,
        (list(timestamps),),
    )
