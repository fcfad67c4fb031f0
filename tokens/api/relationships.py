"""GET /api/v1/accounts/{idOrAliasOrEvmAddress}/tokens: the tokens an account is associated with.

Source: token_account, with token for decimals and for a status the relationship doesn't have of its own.
Amounts: int64 in the token's smallest unit.
Errors: 400 malformed parameter; 404 no such entity.
"""

from typing import Final, Literal, TypedDict

from rest_framework.response import Response

from ledger.api.names.accounts import OfAccount
from ledger.queries import entities
from mirror.core.db.distribution import is_distributed
from mirror.core.db.reading.sql import Comparison, Row, compare, fetch
from mirror.core.db.sql.query import Query
from mirror.core.rest.parameters.parameter_set import ParameterSet, refuse_ne
from mirror.core.rest.parameters.types import LimitParameter, OrderParameter, TokenIdParameter
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, Int64, Page, Timestamp

_FREEZE_STATUS: Final = ("NOT_APPLICABLE", "FROZEN", "UNFROZEN")
_KYC_STATUS: Final = ("NOT_APPLICABLE", "GRANTED", "REVOKED")


# PARAMETERS
class RelationshipParameters(ParameterSet):
    limit = LimitParameter()
    order = OrderParameter("asc")
    token_id = TokenIdParameter("token.id", column="token_id", help="Token of the relationship.")


# QUERY
def relationships_of(account_id: int, query: Query) -> list[Row]:
    # Indexes: the primary keys of token_account (account_id, token_id) and token (token_id).
    where = compare("account_id", [Comparison("eq", account_id)]) + query.where
    where += entities.exists_sql(account_id)
    if is_distributed():
        from tokens.queries.distributed import pages

        page = f"""
            select * from token_account {where.sql} and associated
            order by token_id {query.direction} limit {query.limit:d}
        """
        return pages.relationships(page, query.direction, where.values)
    statement = f"""
        select a.automatic_association, a.balance, a.created_timestamp, t.decimals, a.token_id,
            coalesce(a.freeze_status, t.freeze_status), coalesce(a.kyc_status, t.kyc_status)
        from (
            select * from token_account {where.sql} and associated
            order by token_id {query.direction} limit {query.limit:d}
        ) a
        left join token t on t.token_id = a.token_id
        order by a.token_id {query.direction}
    """
    return fetch(statement, where.values)


# JSON
class RelationshipJson(TypedDict):
    automatic_association: bool | None
    balance: Int64
    created_timestamp: Timestamp | None
    decimals: Int64 | None
    token_id: EntityId | None
    freeze_status: Literal["NOT_APPLICABLE", "FROZEN", "UNFROZEN"] | None
    kyc_status: Literal["NOT_APPLICABLE", "GRANTED", "REVOKED"] | None


class RelationshipsJson(Page):
    tokens: list[RelationshipJson]


def relationship_json(row: Row) -> RelationshipJson:
    automatic, balance, created, decimals, token, freeze_status, kyc_status = row
    return {
        "automatic_association": automatic,
        "balance": balance,
        "created_timestamp": timestamp.text(created),
        "decimals": decimals,
        "token_id": entity_id.text(token),
        "freeze_status": None if freeze_status is None else _FREEZE_STATUS[freeze_status],
        "kyc_status": None if kyc_status is None else _KYC_STATUS[kyc_status],
    }


# VIEW
class Relationships(OfAccount):
    """List the tokens of an account with their balances.

    Each with its frozen and KYC status; also those associated with nothing held.
    """

    parameters, max_age, answers = RelationshipParameters, 1, RelationshipsJson
    paging = {"token.id": "token_id"}
    must_exist = True

    def read(self, parameters: RelationshipParameters, account_id: int) -> Response:
        refuse_ne(parameters.token_id, "Not equal (ne) comparison operator is not supported for token.id")
        rows = relationships_of(account_id, self.query)
        return self.page("tokens", [relationship_json(row) for row in rows])
