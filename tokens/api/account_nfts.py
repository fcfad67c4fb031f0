"""GET /api/v1/accounts/{idOrAliasOrEvmAddress}/nfts: the serials an account holds.

Source: nft, with entity for the token's deletion.
Errors: 400 malformed parameter; 404 unknown alias or EVM address. An unknown account number has an
empty list.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

from rest_framework.response import Response

from ledger.api.account_names import AccountView
from mirror.core.db.distribution import choose, distributable
from mirror.core.db.reading.query import PairBounds, Query, pair_condition, pair_page
from mirror.core.db.reading.sql import Comparison, Row, compare, fetch
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.answers.records import Record
from mirror.core.rest.paging.pairs import classic_pair
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import reject_ne
from mirror.core.values.json_types import Base64, EntityId, Int64, Timestamp, page_type

_PAIR = ("token_id", "serial_number")


# PARAMETERS
class AccountNftParameters(classic.PageParameters):
    serial_number = classic.Number("serialnumber", low=1, help="Serial number, within the range of tokens.")
    spender_id = classic.EntityId("spender.id", help="The spender who may transfer the serial.")
    token_id = classic.TokenId("token.id", help="Token of the serial.")


def check_spender(comparisons: Sequence[Comparison]) -> None:
    """Refuse more than one bound on a side. Errors: BadRequest."""
    for side in (("gt", "gte"), ("lt", "lte")):
        if sum(operator in side for operator, _ in comparisons) > 1:
            raise BadRequest("Multiple range params not allowed for spender.id")
    reject_ne(comparisons, "Not equals (ne) comparison operator is not supported")


# QUERY
def nfts_of(account_id: int, bounds: PairBounds, spender: list[Comparison], query: Query) -> list[Row]:
    query = query.filter(compare("account_id", [Comparison("eq", account_id)]) + compare("spender", spender))
    if not spender or (len(spender) == 1 and spender[0].operator == "eq"):
        # Index: nft__account_token_serialnumber (account_id, token_id, serial_number), or with one spender
        # nft__allowance (account_id, spender, token_id, serial_number).
        along = pair_page("select * from nft", query, bounds, _PAIR)
        return _with_tokens(along.sql, query.direction, along.values)
    # Index: nft__allowance (account_id, spender, ...). Few serials have a spender at all, so they are read
    # first: along the other index they would be searched among all that the account holds.
    allowed = query.where + pair_condition(bounds, _PAIR)
    order = f"order by token_id {query.direction}, serial_number {query.direction}"
    source = choose(
        "(with allowed as materialized (select * from nft {}) select * from allowed) nft",
        distributed="nft {}",
    )
    page = f"select * from {source.format(allowed.sql)} {order} limit {query.limit:d}"
    return _with_tokens(page, query.direction, allowed.values)


@distributable
def _with_tokens(page: str, direction: str, values: Sequence[Any]) -> list[Row]:
    # Index: the primary key of entity.
    statement = f"""
        select {NFT.columns} from ({page}) n left join entity e on e.id = n.token_id
        order by n.token_id {direction}, n.serial_number {direction}
    """
    return fetch(statement, values)


@_with_tokens.distributed
def _distributed_with_tokens(page: str, direction: str, values: Sequence[Any]) -> list[Row]:
    """Read the page first: an outer join would bring the whole other table to the coordinator."""
    order = f"order by token_id {direction}, serial_number {direction}"
    rows = fetch(f"select {_SERIAL.columns} from ({page}) n {order}", values)
    tokens = sorted({row[-1] for row in rows})
    # Index: the primary key (id).
    gone = tokens and fetch("select id from entity where id = any(%s) and deleted", (tokens,))
    deleted = {token_id for (token_id,) in gone}
    return [(*row[:3], row[-1] in deleted or row[3], *row[4:]) for row in rows]


# JSON
class NftJson(TypedDict):
    account_id: EntityId | None
    created_timestamp: Timestamp | None
    delegating_spender: EntityId | None
    deleted: bool | None
    metadata: Base64 | None
    modified_timestamp: Timestamp | None
    serial_number: Int64
    spender: EntityId | None
    token_id: EntityId | None


_SERIAL = Record(NftJson, modified_timestamp="lower(timestamp_range)")
NFT = Record(
    NftJson,
    of="n",
    deleted="n.deleted or coalesce(e.deleted, false)",
    modified_timestamp="lower(n.timestamp_range)",
)


NftsJson = page_type("Nfts", nfts=NftJson)


# VIEW
class AccountNfts(AccountView):
    """List the NFTs of an account.

    Newest tokens first; `token.id` and `serialnumber` narrow the list.
    """

    parameters, max_age, answers = AccountNftParameters, 1, NftsJson
    paging = {"token.id": "token_id", "serialnumber": "serial_number"}

    def read(self, parameters: AccountNftParameters, account_id: int) -> Response:
        bounds = classic_pair(parameters, "token_id", "serial_number")
        check_spender(parameters.spender_id)
        return self.page(
            "nfts", [NFT.json(row) for row in nfts_of(account_id, bounds, parameters.spender_id, self.query)]
        )
