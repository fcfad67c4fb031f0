"""GET /api/v1/tokens/{tokenId}/balances: the accounts that hold a token, now or at a time.

Source: token_account; at a time the snapshots in token_balance. Decimals: token.
Amounts: int64 in the token's smallest unit.
Errors: 400 malformed parameter or id. An unknown token has no holders: an empty list.
"""

from typing import TypedDict

from rest_framework.response import Response

from ledger.api.token_names import OfToken
from ledger.queries import balances as snapshots
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.query import Query
from mirror.core.rest.parameters import classic
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, Int64, Page, Timestamp
from tokens.queries import holdings
from tokens.queries.holdings import Holders, Holding


# PARAMETERS
class TokenBalanceParameters(classic.PageParameters):
    account_balance = classic.Number("account.balance", help="Balance in the token's smallest unit.")
    account_id = classic.EntityId("account.id", help="Account id, or long-zero EVM address.")
    account_publickey = classic.PublicKey(
        "account.publickey", help="Public key of the account; the last value counts."
    )
    timestamp = classic.Timestamp("timestamp", help="Time of the balances: the last snapshot counts.")


# QUERY
def holders(
    token_id: int, parameters: TokenBalanceParameters, query: Query
) -> tuple[int | None, list[Holding], int | None]:
    """Return the time of the page's latest balance, or of the snapshot, and the page.

    With it comes the account after which the next page continues if there was no time to fill this one.
    """
    keys = parameters.account_publickey
    selection = Holders(
        token_id, parameters.account_id, parameters.account_balance, keys[-1].value if keys else None
    )
    if not parameters.timestamp:
        rows, continue_at = holdings.holders_now(selection, query)
        changed = [holding.balance_timestamp for holding in rows if holding.balance_timestamp is not None]
        return max(changed, default=None), rows, continue_at
    window = snapshots.window(parameters.timestamp, now=now_ns())
    if window is None:
        return None, [], None
    rows, continue_at = holdings.holders_at(selection, window, query)
    return window.snapshot if rows else None, rows, continue_at


# JSON
class TokenBalanceJson(TypedDict):
    account: EntityId | None
    balance: Int64
    decimals: Int64 | None


class TokenBalancesJson(Page):
    timestamp: Timestamp | None
    balances: list[TokenBalanceJson]


def holding_json(holding: Holding) -> TokenBalanceJson:
    return {
        "account": entity_id.text(holding.account_id),
        "balance": holding.balance,
        "decimals": holding.decimals,
    }


# VIEW
class TokenBalances(OfToken):
    """List the accounts that hold a token, with their balances.

    At a `timestamp`, those of the last snapshot before it.
    """

    parameters, max_age, answers = TokenBalanceParameters, 1, TokenBalancesJson
    paging = {"account.id": "account"}

    def read(self, parameters: TokenBalanceParameters, token_id: int) -> Response:
        at, holdings_page, continue_at = holders(token_id, parameters, self.query)
        rows = [holding_json(holding) for holding in holdings_page]
        before, after = {"timestamp": timestamp.text(at)}, entity_id.bound(continue_at)
        return self.page("balances", rows, before=before, after=after)
