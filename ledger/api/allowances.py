"""GET /api/v1/accounts/{idOrAliasOrEvmAddress}/allowances/crypto: hbar that an account lets others spend.

Source: crypto_allowance with something left. Amounts: int64 tinybars.
Errors: 400 malformed parameter; 404 unknown alias or EVM address. An unknown account number: empty list.
"""

from typing import TypedDict

from rest_framework.response import Response

from ledger.api.account_names import AccountView
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, Row, compare, fetch
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import reject_ne
from mirror.core.values.json_types import EntityId, Int64, TimestampRangeJson, page_type


# PARAMETERS
class CryptoAllowanceParameters(classic.PageParameters):
    spender_id = classic.EntityId("spender.id", column="spender", help="The spender.")


# QUERY
def crypto_allowances_of(account_id: int, query: Query) -> list[Row]:
    # Index: the primary key (owner, spender).
    where = compare("owner", [Comparison("eq", account_id)]) + query.where
    statement = f"""
        select {CRYPTO_ALLOWANCE.columns}
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


CRYPTO_ALLOWANCE = Record(CryptoAllowanceJson)


# VIEW
class CryptoAllowances(AccountView):
    """List the hbar allowances that an account gave.

    Each says what the spender may still take, and what was granted.
    """

    parameters, max_age = CryptoAllowanceParameters, 1
    answers = page_type("CryptoAllowances", allowances=CryptoAllowanceJson)
    paging = {"spender.id": "spender"}

    def read(self, parameters: CryptoAllowanceParameters, account_id: int) -> Response:
        reject_ne(parameters.spender_id, "Not equal (ne) comparison operator is not supported for spender.id")
        rows = crypto_allowances_of(account_id, self.query)
        return self.page("allowances", [CRYPTO_ALLOWANCE.json(row) for row in rows])
