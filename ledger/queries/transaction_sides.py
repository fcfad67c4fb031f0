"""The sides of a list of transactions: accounts on one, types and results on the other.

Either side can drive: its rows are looked at one after another, and the conditions of the other one are
probed for each. Which one finds a page soonest depends on the request: a rare type is found by its type, a
quiet account by its transfers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ledger.queries.transaction_streams import TRANSACTION, Side, Sql, Stream
from ledger.queries.transactions import and_same_payer
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64, NOTHING, Comparison, Where, compare, fetch
from mirror.core.values.hapi import result_codes

# The index of transfers by account leaves out the account that collects all fees, as nearly every transaction
# has it. The condition tells PostgreSQL that the index has all rows of another account.
_FEE_COLLECTOR = 98
_INDEXED = Where((f"c.entity_id::bigint <> {_FEE_COLLECTOR}",))

# The index of credits leaves out the accounts of the network itself, as most of their transfers are credits:
# nodes and collectors get a part of each fee.
_LAST_SYSTEM_NUM = 1000

# Of a condition for which rows are looked at, columns are not plain, such that no other index drives.
_CODES = ", ".join(str(code) for code in sorted(result_codes.SUCCESS))
_SUCCEEDED = Where((f"(t.result + 0) in ({_CODES})",))
_FAILED = Where((f"(t.result + 0) not in ({_CODES})",))
# The side of types and results calls its rows y, and conditions on t are probed.
_TYPE_TABLE = "transaction y"
_FAILED_BY_INDEX = Where((f"y.result not in ({_CODES})",))


#: A value that stands for the times of the transactions to which a condition is applied.
TIMES = object()


@dataclass(frozen=True, slots=True)
class TransactionSelection:
    """The transactions of a list.

    `accounts` pay or take part in transfers, or with `entities` are named by a row of entity_transaction.
    `credit`: with a transfer to (True) or from (False) the account. `succeeded`: by result. `preceding`:
    types whose synthetic records count as their payer's own.
    """

    timestamps: Bounds = Bounds()
    accounts: Sequence[Comparison] = ()
    credit: bool | None = None
    succeeded: bool | None = None
    types: Sequence[int] = ()
    preceding: Sequence[int] = ()
    entities: bool = False


#: Accounts by their ids, or those within bounds; None for all.
Accounts = tuple[int, ...] | Bounds | None


@dataclass(frozen=True, slots=True)
class Sides:
    """The sides that can drive, and whether the only one reads no more rows than it finds."""

    sides: tuple[Side, ...]
    direct: bool


def accounts_of(comparisons: Sequence[Comparison]) -> Accounts:
    """Return the accounts that comparisons select: one equality has to hold, and all others."""
    if not comparisons:
        return None
    if len(comparisons) == 1 and comparisons[0].operator == "eq":
        (account,) = comparisons[0][1:]
        return () if account is None else (account,)
    others = [comparison for comparison in comparisons if comparison.operator != "eq"]
    if any(value is None for _, value in others):
        return ()
    bounds = Bounds.combine(others)
    if len(others) == len(comparisons):
        return () if bounds.empty else bounds
    equal_bounds = Bounds.combine(comparison for comparison in comparisons if comparison.value is not None)
    return tuple(sorted(equal_bounds.equal_within - bounds.unequal))


def has_single_index(selection: TransactionSelection, accounts: Accounts) -> bool:
    """Return whether a list is all of one account, or of one type, or of no other choice."""
    bounds = selection.timestamps
    if selection.credit is not None or bounds.equal or bounds.unequal:
        return False
    if not all(end is None or 0 <= end < MAX_INT64 for end in (bounds.lower, bounds.upper)):
        return False
    if accounts is None:
        return len(selection.types) <= 1 and selection.succeeded is not True
    return (
        isinstance(accounts, tuple)
        and len(accounts) == 1
        and accounts[0] not in (0, _FEE_COLLECTOR)
        and not selection.types
        and selection.succeeded is None
    )


def sides_of(selection: TransactionSelection, accounts: Accounts) -> Sides:
    """Return the sides of a selection with these accounts."""
    types, recheck = _type_stream(selection), _type_recheck(selection)
    succeeded = _SUCCEEDED if selection.succeeded else NOTHING
    if accounts is None and selection.credit is None:
        side = Side((types,), succeeded) if types else Side((Stream(TRANSACTION, "t", recheck=succeeded),))
        return Sides((side,), direct=not succeeded.conditions)
    parties = Side(tuple(_party_streams(selection, accounts)), recheck)
    if types is not None:
        return Sides((parties, Side((types,), succeeded + _where_party(selection, accounts))), direct=False)
    simple = isinstance(accounts, tuple) and _FEE_COLLECTOR not in accounts and not recheck.conditions
    return Sides((parties,), simple and selection.credit is None)


def distinct_accounts(bounds: Bounds, *, entities: bool, most: int) -> tuple[int, ...] | None:
    """Return the ids within bounds that any row names, at most so many; None if there are more."""
    # Each account is one step in the index that begins with it. Indexes:
    # crypto_transfer__entity_id_consensus_timestamp, transaction__payer_account_id_consensus_ns,
    # token_transfer__account_timestamp, the primary key of entity_transaction.
    tables = [
        ("crypto_transfer c", "c.entity_id", _INDEXED),
        ("transaction t", "t.payer_account_id", NOTHING),
        ("token_transfer k", "k.account_id", NOTHING),
    ]
    if entities:
        tables.append(("entity_transaction e", "e.entity_id", NOTHING))
    # Ids of the upper half of all shards are negative.
    id_bounds = bounds.between(MIN_INT64 if bounds.lower is None else bounds.lower, bounds.upper)
    collector = Bounds(id_bounds.lower, id_bounds.upper, frozenset({_FEE_COLLECTOR}))
    accounts = set(collector.equal_within)
    for table, column, where in tables:
        statement = _distinct(table, column, id_bounds, where, most + 1)
        accounts.update(number for (number,) in fetch(statement.text, statement.values))
        if len(accounts) > most:
            return None
    return tuple(sorted(accounts - bounds.unequal))


@distributable
def _distinct(table: str, column: str, id_bounds: Bounds, extra: Where, most: int) -> Sql:
    """Return a statement of the smallest values of a column, which is the first one of an index."""
    first = extra + replace(id_bounds, unequal=frozenset()).where(column)
    upper = Bounds(upper=id_bounds.upper).where(column)
    following = extra + Where((f"{column} > found.id",)) + upper
    text = f"""
        with recursive found (id) as (
            (select {column}::bigint from {table} {first.sql} order by {column} limit 1)
            union all
            select (select {column}::bigint from {table} {following.sql} order by {column} limit 1)
            from found where found.id is not null
        )
        select id from found where id is not null limit {most:d}
    """
    return Sql(text, (*first.values, *following.values))


@_distinct.distributed
def _distributed_distinct(table: str, column: str, id_bounds: Bounds, extra: Where, most: int) -> Sql:
    where = extra + replace(id_bounds, unequal=frozenset()).where(column)
    text = f"select distinct {column}::bigint as id from {table} {where.sql} order by id limit {most:d}"
    return Sql(text, where.values)


# TYPES AND RESULTS


def _type_stream(selection: TransactionSelection) -> Stream | None:
    """Return the stream of the types, or of the failures; None if all times are as good."""
    # Indexes: transaction__type_consensus_timestamp (type, consensus_timestamp); of failures
    # transaction__failed_type (type, consensus_timestamp) and transaction__failed (consensus_timestamp).
    types = tuple(dict.fromkeys(selection.types))
    where = _FAILED_BY_INDEX if selection.succeeded is False else NOTHING
    if not types:
        return Stream(_TYPE_TABLE, "y", where) if where.conditions else None
    if len(types) == 1:
        return Stream(_TYPE_TABLE, "y", where, first="y.type", value=Where(("%s",), types))
    return Stream(_TYPE_TABLE, "y", where, each=types, first="y.type", value=Where(("one.value",)))


def _type_recheck(selection: TransactionSelection) -> Where:
    types = Where(("(t.type + 0) = any(%s)",), (list(selection.types),)) if selection.types else NOTHING
    if selection.succeeded is None:
        return types
    return types + (_SUCCEEDED if selection.succeeded else _FAILED)


# ACCOUNTS


def _party_streams(selection: TransactionSelection, accounts: Accounts) -> list[Stream]:
    if isinstance(accounts, tuple):
        return _account_streams(selection, accounts)
    return _time_streams(selection, accounts)


def _account_streams(selection: TransactionSelection, accounts: tuple[int, ...]) -> list[Stream]:
    if not accounts:
        return []
    if selection.credit is False:
        return _debit_streams(accounts, selection.timestamps)
    streams = []
    if selection.credit is None:
        # Index: transaction__payer_account_id_consensus_ns (payer_account_id, consensus_timestamp).
        streams.append(_by_account(TRANSACTION, "t.payer_account_id", accounts, recheck=_is_own(selection)))
        if selection.entities:
            # Index: the primary key (entity_id, consensus_timestamp). The table has types and results, too.
            streams.append(_by_account("entity_transaction t", "t.entity_id", accounts))
    streams += _transfer_streams(accounts, _sign(selection.credit, "c"))
    # Index: token_transfer__account_timestamp (account_id, consensus_timestamp).
    recheck = _sign(selection.credit, "k")
    streams.append(_by_account("token_transfer k", "k.account_id", accounts, recheck=recheck))
    return streams


def _transfer_streams(accounts: tuple[int, ...], sign: Where) -> list[Stream]:
    """Return the streams of transfers of hbar to accounts, or of all transfers."""
    streams = []
    others = tuple(account for account in accounts if account != _FEE_COLLECTOR)
    if sign.conditions:
        users = tuple(account for account in others if account > _LAST_SYSTEM_NUM)
        others = tuple(account for account in others if account <= _LAST_SYSTEM_NUM)
        if users:
            # Index: crypto_transfer__credit (entity_id, consensus_timestamp).
            where = sign + Where((f"c.entity_id > {_LAST_SYSTEM_NUM}",))
            streams.append(_by_account("crypto_transfer c", "c.entity_id", users, where=_INDEXED + where))
    if others:
        # Index: crypto_transfer__entity_id_consensus_timestamp (entity_id, consensus_timestamp).
        streams.append(_by_account("crypto_transfer c", "c.entity_id", others, where=_INDEXED, recheck=sign))
    if _FEE_COLLECTOR in accounts:
        # Index: crypto_transfer__consensus_timestamp.
        recheck = Where((f"c.entity_id = {_FEE_COLLECTOR}",)) + sign
        streams.append(Stream("crypto_transfer c", "c", recheck=recheck))
    return streams


def _debit_streams(accounts: tuple[int, ...], times: Bounds) -> list[Stream]:
    """Return the streams of what accounts pay: nearly all they pay for, and what others take from them.

    Nodes and those who collect fees hardly ever pay; their other transfers are not looked at.
    """
    # Indexes: transaction__payer_account_id_consensus_ns (payer_account_id, consensus_timestamp),
    # crypto_transfer__debit_of_others (entity_id, consensus_timestamp), token_transfer__debit_of_others
    # (account_id, consensus_timestamp).
    has_own_debit = Where(
        (
            f"({_exists('crypto_transfer c', 'c.entity_id = t.payer_account_id and c.amount < 0', times)} "
            f"or {_exists('token_transfer k', 'k.account_id = t.payer_account_id and k.amount < 0', times)})",
        )
    )
    taken_by_others = "{0}.amount < 0 and {1} <> {0}.payer_account_id"
    return [
        _by_account(TRANSACTION, "t.payer_account_id", accounts, recheck=has_own_debit),
        _by_account(
            "crypto_transfer c",
            "c.entity_id",
            accounts,
            where=Where((taken_by_others.format("c", "c.entity_id"),)),
        ),
        _by_account(
            "token_transfer k",
            "k.account_id",
            accounts,
            where=Where((taken_by_others.format("k", "k.account_id"),)),
        ),
    ]


def _by_account(
    table: str,
    column: str,
    accounts: tuple[int, ...],
    *,
    where: Where = NOTHING,
    recheck: Where = NOTHING,
) -> Stream:
    alias = column.partition(".")[0]
    if len(accounts) == 1:
        return Stream(table, alias, Where((f"{column} = %s",), accounts) + where, recheck)
    return Stream(table, alias, Where((f"{column} = one.value",)) + where, recheck, accounts)


def _time_streams(selection: TransactionSelection, accounts: Bounds | None) -> list[Stream]:
    """Return the streams of all times, whose accounts are looked at. Indexes: those by time alone."""
    streams = []
    if selection.credit is None:
        recheck = _unindexed(accounts, "t.payer_account_id") + _is_own(selection)
        streams.append(Stream(TRANSACTION, "t", recheck=recheck))
        if selection.entities:
            # Index: entity_transaction__consensus_timestamp.
            streams.append(Stream("entity_transaction t", "t", recheck=_unindexed(accounts, "t.entity_id")))
    for table, column in (("crypto_transfer c", "c.entity_id"), ("token_transfer k", "k.account_id")):
        alias = column[0]
        recheck = _unindexed(accounts, column) + _sign(selection.credit, alias)
        streams.append(Stream(table, alias, recheck=recheck))
    return streams


def _unindexed(accounts: Bounds | None, column: str) -> Where:
    """Return the condition on an account, such that no index by account is used for it."""
    return NOTHING if accounts is None else accounts.where(f"({column} + 0)")


def _is_own(selection: TransactionSelection) -> Where:
    return Where(
        ("(t.nonce = 0 or t.parent_consensus_timestamp is not null or t.type = any(%s))",),
        (list(selection.preceding),),
    )


def _sign(credit: bool | None, alias: str) -> Where:
    return NOTHING if credit is None else Where((f"{alias}.amount {'>' if credit else '<'} 0",))


def _where_party(selection: TransactionSelection, accounts: Accounts) -> Where:
    """Return the condition that accounts take part in transaction t, the cheapest of its probes first.

    Scalar sub-selects with a limit: PostgreSQL might hash the whole table for `exists` within `or`.
    """
    conditions: list[Where] = []
    if selection.credit is None:
        payer = _where_account(accounts, "(t.payer_account_id + 0)") + _is_own(selection)
        conditions.append(Where((" and ".join(payer.conditions),), payer.values))
    for table, column in (("crypto_transfer c", "c.entity_id"), ("token_transfer k", "k.account_id")):
        condition = _where_account(accounts, column) + _sign(selection.credit, column[0])
        exists = _exists(table, " and ".join(condition.conditions), selection.timestamps)
        conditions.append(Where((exists,), condition.values))
    if selection.credit is None and selection.entities:
        conditions.append(_where_named(_where_account(accounts, "e.entity_id"), selection.timestamps))
    text = " or ".join(f"({alternative.conditions[0]})" for alternative in conditions)
    return Where((f"({text})",), tuple(value for alternative in conditions for value in alternative.values))


@distributable
def _where_named(condition: Where, times: Bounds) -> Where:
    """Return the condition that a row of entity_transaction names transaction t."""
    exists = _exists("entity_transaction e", " and ".join(condition.conditions), times)
    return Where((exists,), condition.values)


@_where_named.distributed
def _distributed_where_named(condition: Where, times: Bounds) -> Where:
    # These rows are with their entity, not with the payer, so they are looked up by times that are known.
    # Index: the primary key (entity_id, consensus_timestamp).
    where = condition + Where(("e.consensus_timestamp = any(%s)",), (TIMES,))
    among = f"select e.consensus_timestamp from entity_transaction e {where.sql}"
    return Where((f"t.consensus_timestamp in ({among})",), where.values)


def _where_account(accounts: Accounts, column: str) -> Where:
    if isinstance(accounts, tuple):
        return compare(column, [Comparison("eq", account) for account in accounts])
    return _unindexed(accounts, column)


def _exists(tables: str, condition: str, times: Bounds) -> str:
    alias = tables.partition(" ")[2]
    condition += and_same_payer(alias)
    return (
        f"coalesce((select true from {tables} where {alias}.consensus_timestamp = t.consensus_timestamp "
        f"and {condition}{and_months(times, f'{alias}.consensus_timestamp')} limit 1), false)"
    )
