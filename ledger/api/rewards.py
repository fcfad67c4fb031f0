"""GET /api/v1/accounts/{idOrAliasOrEvmAddress}/rewards: the staking rewards paid to an account.

Source: staking_reward_transfer. Amounts: int64 tinybars.
Errors: 400 malformed parameter; 404 no such entity.
"""

from typing import TypedDict

from rest_framework.response import Response

from ledger.api.account_names import AccountView
from ledger.queries import entities
from mirror.core.db.reading.by_month import by_month, month_conditions
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import Comparison, Row, compare, fetch
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import reject_ne
from mirror.core.values.json_types import EntityId, Int64, Timestamp, page_type


# PARAMETERS
class RewardParameters(classic.PageParameters):
    timestamp = classic.Timestamp("timestamp", column="consensus_timestamp", help="Time of the payment.")


# QUERY
def rewards_of(account_id: int, timestamps: Bounds, query: Query) -> list[Row]:
    return by_month(lambda times: _rewards(account_id, times, query), timestamps, query)


def _rewards(account_id: int, times: Bounds, query: Query) -> list[Row]:
    # Index: staking_reward_transfer__account_timestamp (account_id, consensus_timestamp).
    where = compare("account_id", [Comparison("eq", account_id)]) + query.where
    where += month_conditions(times, "consensus_timestamp") + entities.exists_sql(account_id)
    statement = f"""
        select {REWARD.columns} from staking_reward_transfer {where.sql}
        order by consensus_timestamp {query.direction} limit {query.limit:d}
    """
    return fetch(statement, where.values)


# JSON
class RewardJson(TypedDict):
    account_id: EntityId | None
    amount: Int64
    timestamp: Timestamp | None


REWARD = Record(RewardJson, timestamp="consensus_timestamp")


# VIEW
class Rewards(AccountView):
    """List the staking rewards that were paid to an account.

    Newest first, in tinybars.
    """

    parameters, max_age, answers = RewardParameters, 60, page_type("Rewards", rewards=RewardJson)
    paging = {"timestamp": "timestamp"}
    must_exist = True

    def read(self, parameters: RewardParameters, account_id: int) -> Response:
        reject_ne(parameters.timestamp, "Not equals (ne) operator is not supported for timestamp")
        rows = rewards_of(account_id, Bounds.combine(parameters.timestamp), self.query)
        return self.page("rewards", [REWARD.json(row) for row in rows])
