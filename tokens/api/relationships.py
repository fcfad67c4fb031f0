"""GET /api/v1/accounts/{idOrAliasOrEvmAddress}/tokens: the tokens an account is associated with.

Source: token_account, with token for decimals and for a status the relationship doesn't have of its own; at a
time also token_account_history, and the snapshots in token_balance. Amounts: int64 in the token's smallest
unit.
Errors: 400 malformed parameter; 404 no such entity.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from rest_framework.response import Response

from ledger.api.account_names import AccountView
from ledger.queries import entities
from ledger.queries.balances import window
from ledger.queries.versions_at import VersionRange
from mirror.core.config.clock import now_ns
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.sql import Comparison, Row, compare, fetch
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import reject_ne
from mirror.core.values.json_types import EntityId, Int64, Timestamp, page_type
from tokens.models.token import FREEZE_STATUS, KYC_STATUS
from tokens.queries import holdings


# PARAMETERS
class RelationshipParameters(classic.PageParameters):
    order = classic.Order("asc")
    timestamp = classic.Timestamp(
        "timestamp", help="Time of the relationships; the last snapshot has their balances."
    )
    token_id = classic.TokenId("token.id", column="token_id", help="Token of the relationship.")


# QUERY
_NOW = Statement("token_account", ())
# Where a row has its token.
_TOKEN = 4
_VERSION = (
    "account_id, associated, automatic_association, balance, created_timestamp, freeze_status, kyc_status, "
    "timestamp_range, token_id"
)


def relationships_at(account_id: int, comparisons: list[Comparison], query: Query) -> list[Row]:
    """Return the relationships of a time, with their balances in the last snapshot by then."""
    times = Bounds.combine(comparisons)
    if times.empty:
        return []
    # Indexes: the primary key (account_id, token_id), and of the history (account_id, token_id, lower(...)).
    versions = compare("account_id", [Comparison("eq", account_id)]) + VersionRange.from_bounds(times).where
    source = f"""(
        select distinct on (token_id) {_VERSION} from (
            select {_VERSION} from token_account {versions.sql}
            union all
            select {_VERSION} from token_account_history {versions.sql}
        ) known order by token_id {query.direction}, lower(timestamp_range) desc
    ) latest"""
    rows = relationships_of(account_id, query, Statement(source, versions.values * 2))
    if not rows or (snapshot := window(comparisons, now=now_ns())) is None:
        return rows
    balances = holdings.balances_at(account_id, [row[_TOKEN] for row in rows], snapshot)
    return [(row[0], balances.get(row[_TOKEN], 0), *row[2:]) for row in rows]


def relationships_of(account_id: int, query: Query, source: Statement = _NOW) -> list[Row]:
    # Indexes: the primary keys of token_account (account_id, token_id) and token (token_id).
    where = compare("account_id", [Comparison("eq", account_id)]) + query.where
    where += entities.exists_sql(account_id)
    page = f"""
        select * from {source.sql} {where.sql} and associated
        order by token_id {query.direction} limit {query.limit:d}
    """
    return _with_tokens(page, query.direction, (*source.values, *where.values))


@distributable
def _with_tokens(page: str, direction: str, values: Sequence[Any]) -> list[Row]:
    statement = f"""
        select {RELATIONSHIP.columns} from ({page}) a left join token t on t.token_id = a.token_id
        order by a.token_id {direction}
    """
    return fetch(statement, values)


@_with_tokens.distributed
def _distributed_with_tokens(page: str, direction: str, values: Sequence[Any]) -> list[Row]:
    # A page of token_account, then what its tokens say.
    rows = fetch(
        f"""
        select automatic_association, balance, created_timestamp, token_id, freeze_status, kyc_status
        from ({page}) a order by token_id {direction}
        """,
        values,
    )
    # Index: the primary key (token_id).
    tokens: Sequence[Row] = rows and fetch(
        "select token_id, decimals, freeze_status, kyc_status from token where token_id = any(%s)",
        ([row[3] for row in rows],),
    )
    facts = {token_id: tuple(others) for token_id, *others in tokens}
    relationships = []
    for automatic, balance, created, token_id, freeze, kyc in rows:
        decimals, token_freeze, token_kyc = facts.get(token_id, (None, None, None))
        relationships.append(
            (
                *(automatic, balance, created, decimals, token_id),
                token_freeze if freeze is None else freeze,
                token_kyc if kyc is None else kyc,
            )
        )
    return relationships


# JSON
class RelationshipJson(TypedDict):
    automatic_association: bool | None
    balance: Int64
    created_timestamp: Timestamp | None
    decimals: Int64 | None
    token_id: EntityId | None
    freeze_status: Literal["NOT_APPLICABLE", "FROZEN", "UNFROZEN"] | None
    kyc_status: Literal["NOT_APPLICABLE", "GRANTED", "REVOKED"] | None


RELATIONSHIP = Record(
    RelationshipJson,
    of="a",
    decimals="t.decimals",
    freeze_status="coalesce(a.freeze_status, t.freeze_status)",
    kyc_status="coalesce(a.kyc_status, t.kyc_status)",
    written={"freeze_status": FREEZE_STATUS.get, "kyc_status": KYC_STATUS.get},
)


# VIEW
class Relationships(AccountView):
    """List the tokens of an account with their balances.

    Each with its frozen and KYC status; also those associated with nothing held. With `timestamp` those of
    that time.
    """

    parameters, max_age = RelationshipParameters, 1
    answers = page_type("Relationships", tokens=RelationshipJson)
    paging = {"token.id": "token_id"}
    must_exist = True

    def read(self, parameters: RelationshipParameters, account_id: int) -> Response:
        reject_ne(parameters.token_id, "Not equal (ne) comparison operator is not supported for token.id")
        if parameters.timestamp:
            rows = relationships_at(account_id, parameters.timestamp, self.query)
        else:
            rows = relationships_of(account_id, self.query)
        return self.page("tokens", [RELATIONSHIP.json(row) for row in rows])
