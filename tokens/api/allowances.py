"""GET /api/v1/accounts/{id}/allowances/tokens and .../allowances/nfts: tokens that an account
lets others spend.

Source: token_allowance with something left; nft_allowance that holds for all serials.
Amounts: int64 in the token's smallest unit.
Errors: 400 malformed parameter; 404 unknown alias or EVM address. An unknown account number has an
empty list.
"""

from typing import TypedDict

from rest_framework.response import Response

from ledger.api.account_names import AccountView, SpringOfAccount, spring_account_id
from mirror.core.db.reading.query import PairBounds, Query, pair_page
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch
from mirror.core.rest.answers.records import Record
from mirror.core.rest.paging.pairs import classic_pair, spring_pair
from mirror.core.rest.parameters import classic, spring
from mirror.core.rest.parameters.entity_ids import AccountName
from mirror.core.values.json_types import EntityId, Int64, TimestampRangeJson, page_type


# PARAMETERS
class TokenAllowanceParameters(classic.PageParameters):
    order = classic.Order("asc")
    spender_id = classic.EntityId("spender.id", help="The spender.")
    token_id = classic.TokenId("token.id", help="Token, within the range of spenders.")


class NftAllowanceParameters(spring.ParameterSet):
    account_id = spring.EntityId(
        "account.id",
        variable="accountIds",
        help="The other party: the spender, or with owner=false the owner.",
    )
    limit = spring.Limit()
    order = spring.Order()
    owner = spring.Boolean("owner", True, help="Whether the account in the path owns or spends.")
    token_id = spring.EntityId("token.id", variable="tokenIds", help="Token, within those of accounts.")


# QUERIES
def token_allowances_of(account_id: int, bounds: PairBounds, query: Query) -> list[Row]:
    # Index: the primary key (owner, spender, token_id).
    page = pair_page(
        f"select {TOKEN_ALLOWANCE.columns} from token_allowance",
        query.filter(compare("owner", [Comparison("eq", account_id)]) + Where(("amount > 0",))),
        bounds,
        ("spender", "token_id"),
    )
    return fetch(page.sql, page.values)


def nft_allowances_of(account_id: int, bounds: PairBounds, query: Query, *, as_owner: bool) -> list[Row]:
    # Indexes: the primary key (owner, spender, token_id); nft_allowance__spender_owner_token (spender, owner,
    # token_id).
    path, other = ("owner", "spender") if as_owner else ("spender", "owner")
    page = pair_page(
        f"select {NFT_ALLOWANCE.columns} from nft_allowance",
        query.filter(compare(path, [Comparison("eq", account_id)]) + Where(("approved_for_all",))),
        bounds,
        (other, "token_id"),
    )
    return fetch(page.sql, page.values)


# JSON
class TokenAllowanceJson(TypedDict):
    amount: Int64
    amount_granted: Int64
    owner: EntityId | None
    spender: EntityId | None
    timestamp: TimestampRangeJson
    token_id: EntityId | None


class NftAllowanceJson(TypedDict):
    approved_for_all: bool
    owner: EntityId | None
    spender: EntityId | None
    timestamp: TimestampRangeJson
    token_id: EntityId | None


TOKEN_ALLOWANCE = Record(TokenAllowanceJson)
NFT_ALLOWANCE = Record(NftAllowanceJson, spring=True)


# VIEWS
class TokenAllowances(AccountView):
    """List the allowances for fungible tokens that an account gave.

    Each says what the spender may still take, and what was granted.
    """

    parameters, max_age = TokenAllowanceParameters, 1
    answers = page_type("TokenAllowances", allowances=TokenAllowanceJson)
    paging = {"spender.id": "spender", "token.id": "token_id"}

    def read(self, parameters: TokenAllowanceParameters, account_id: int) -> Response:
        bounds = classic_pair(parameters, "spender_id", "token_id")
        rows = token_allowances_of(account_id, bounds, self.query)
        return self.page("allowances", [TOKEN_ALLOWANCE.json(row) for row in rows])


class NftAllowances(SpringOfAccount):
    """List the allowances for all NFTs of a token that an account gave.

    With `owner=false` those that it got.
    """

    parameters, max_age = NftAllowanceParameters, 1
    answers = page_type("NftAllowances", allowances=NftAllowanceJson)

    def read(self, parameters: NftAllowanceParameters, account: AccountName) -> Response:
        bounds = spring_pair(parameters, "account_id", "token_id")
        self.paging = {"account.id": "spender" if parameters.owner else "owner", "token.id": "token_id"}
        rows = nft_allowances_of(spring_account_id(account), bounds, self.query, as_owner=parameters.owner)
        return self.page("allowances", [NFT_ALLOWANCE.json(row) for row in rows])
