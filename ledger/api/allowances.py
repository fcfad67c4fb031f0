"""GET /api/v1/accounts/{idOrAliasOrEvmAddress}/allowances/crypto: hbar that an account lets others spend.

Source: crypto_allowance with something left. Amounts: int64 tinybars.
Errors: 400 malformed parameter; 404 unknown alias or EVM address. An unknown account number: empty list.
"""

from typing import TypedDict

from rest_framework.response import Response

from ledger.api.names.accounts import OfAccount
from mirror.core.db.reading.sql import Comparison, Row, compare, fetch
from mirror.core.db.sql.query import Query
from mirror.core.rest.parameters.parameter_set import ParameterSet, refuse_ne
from mirror.core.rest.parameters.types import EntityIdParameter, LimitParameter, OrderParameter
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, Int64, Page, TimestampRangeJson


# PARAMETERS
class CryptoAllowanceParameters(ParameterSet):
    limit = LimitParameter()
    order = OrderParameter("desc")
    spender_id = EntityIdParameter("spender.id", column="spender", help="The spender.")


# QUERY
def crypto_allowances_of(account_id: int, query: Query) -> list[Row]:
    # Index: the primary key (owner, spender).
    where = compare("owner", [Comparison("eq", account_id)]) + query.where
    statement = f"""
        select amount, amount_granted, owner, spender, lower(timestamp_range), upper(timestamp_range)
        from crypto_allowance {where.sql} and amount > 0
        order by spender {query.direction} limit {query.limit:d}
    """
    return fetch(statement, where.values)


# JSON
class CryptoAllowanceJson(TypedDict):
    amount: Int64
    amount_granted: Int64
    owner: EntityId | None
    spender: EntityId | None
    timestamp: TimestampRangeJson


class CryptoAllowancesJson(Page):
    allowances: list[CryptoAllowanceJson]


def crypto_allowance_json(row: Row) -> CryptoAllowanceJson:
    amount, granted, owner, spender, since, until = row
    return {
        "amount": amount,
        "amount_granted": granted,
        "owner": entity_id.text(owner),
        "spender": entity_id.text(spender),
        "timestamp": timestamp.range_json(since, until),
    }


# VIEW
class CryptoAllowances(OfAccount):
    """List the hbar allowances that an account gave.

    Each says what the spender may still take, and what was granted.
    """

    parameters, max_age, answers = CryptoAllowanceParameters, 1, CryptoAllowancesJson
    paging = {"spender.id": "spender"}

    def read(self, parameters: CryptoAllowanceParameters, account_id: int) -> Response:
        refuse_ne(parameters.spender_id, "Not equal (ne) comparison operator is not supported for spender.id")
        rows = crypto_allowances_of(account_id, self.query)
        return self.page("allowances", [crypto_allowance_json(row) for row in rows])
