"""GET /api/v1/balances: the balances of accounts and contracts, now or at a time.

Source: entity and token_account; at a time the snapshots in account_balance and token_balance, where an
account that no snapshot of the month knows is left out. Amounts: int64 tinybars, of tokens their smallest
unit. Errors: 400 malformed parameter, or more than one alias or EVM address.
"""

import re
from typing import TypedDict

from rest_framework.response import Response

from ledger.api.account_names import find_account
from ledger.api.accounts import HolderParameters, TokenHoldingJson, tokens_json
from ledger.queries import accounts as current
from ledger.queries import balances as snapshots
from ledger.queries.account_pages import Filters
from ledger.queries.accounts import Holdings
from mirror.core import config
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, compare
from mirror.core.rest.answers.errors import BadRequest, InvalidEntityId, InvalidParameter
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import (
    AccountName,
    NotAnEntityId,
    is_numeric_id,
    read_account,
    read_numeric_id,
)
from mirror.core.rest.views import ReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, Int64, Page, Timestamp

_ACCOUNT = "account.id"
# An EVM address or an alias.
_NAME = re.compile(r"0x[0-9a-fA-F]{40}|(?:[0-9]{1,5}\.){0,2}(?:[0-9a-fA-F]{40}|[A-Z2-7]+)")


_MAX_TOKENS = "rest.response.limit.tokenBalance.multipleAccounts"


# PARAMETERS
class AccountParameter(classic.EntityId):
    """An account id; or an alias or EVM address, with or without the network's shard and realm.

    Only an id in numbers is read at once; `account_names` reads other text once everything else is valid.
    """

    schema = {"type": "string"}

    def read(self, text: str) -> int | str:
        try:
            return read_numeric_id(text) if is_numeric_id(text) else text
        except InvalidEntityId:
            return text

    def value_of(self, text: str) -> AccountName:
        if not (is_numeric_id(text) or _NAME.fullmatch(text)):
            raise InvalidParameter(self.name)
        try:
            return read_account(text)
        except NotAnEntityId:
            raise BadRequest(f"Invalid accountAlias string {text}") from None


_ACCOUNT_ID = AccountParameter(_ACCOUNT, help="Account id, or one alias or EVM address.")


class BalanceParameters(HolderParameters):
    account_id = _ACCOUNT_ID
    timestamp = classic.Timestamp("timestamp", help="Time of the balances: the last snapshot counts.")


# QUERIES
def account_ids(parameters: BalanceParameters) -> list[Comparison]:
    """Return the comparisons with encoded ids; None for an unknown name. Errors: BadRequest."""
    return [Comparison(operator, find_account(name)) for operator, name in account_names(parameters)]


def account_names(parameters: BalanceParameters) -> list[Comparison]:
    """Return the comparisons with AccountNames, each once. Errors: BadRequest, for the first problem."""
    distinct = dict(zip(parameters.texts.get(_ACCOUNT, ()), parameters.account_id, strict=True))
    comparisons: list[Comparison] = []
    has_name = False
    for operator, text in distinct.values():
        is_name = isinstance(text, str) and not is_numeric_id(text) and _NAME.fullmatch(text) is not None
        if is_name and has_name:
            raise InvalidParameter(_ACCOUNT, detail="Only one EVM address or alias is allowed.")
        has_name = has_name or is_name
        comparisons.append(
            Comparison(operator, text if isinstance(text, int) else _ACCOUNT_ID.value_of(text))
        )
        if is_name and operator != "eq":
            raise InvalidParameter(_ACCOUNT, detail="EVM address or alias only supports equals operator")
    return comparisons


def balances_now(
    parameters: BalanceParameters, query: Query, accounts: list[Comparison]
) -> "tuple[int | None, list[AccountBalanceJson], int | None]":
    """Return the time of the page's latest balance, the page, and where it continues if time ran out."""
    filters = Filters(accounts, parameters.account_balance, parameters.account_publickey)
    rows, continue_at = current.balances(
        query.filter(compare("id", accounts)), filters, tokens=config.value(_MAX_TOKENS)
    )
    changed = [row.balance_timestamp for row in rows if row.balance_timestamp is not None]
    page = [balance_json(row.account_id, row.balance, row.tokens) for row in rows]
    return max(changed, default=None), page, continue_at


def balances_at(
    parameters: BalanceParameters, query: Query, accounts: list[Comparison]
) -> "tuple[int | None, list[AccountBalanceJson], int | None]":
    """Return the same of a snapshot. Operators of the public key are ignored here."""
    public_keys = {key for _, key in parameters.account_publickey}
    if len(public_keys) > 1:
        return None, [], None
    selection = snapshots.BalanceSelection(
        accounts, parameters.account_balance, next(iter(public_keys), None)
    )
    times, tokens = parameters.timestamp, config.value(_MAX_TOKENS)
    if (full := snapshots.full_page(selection, times, query, tokens=tokens, now=now_ns())) is not None:
        at, rows = full
        return at, [balance_json(*row) for row in rows], None
    window = snapshots.window(times, now=now_ns())
    if window is None:
        return None, [], None
    rows, continue_at = snapshots.balances_at(selection, window, query, tokens=tokens)
    return window.snapshot if rows else None, [balance_json(*row) for row in rows], continue_at


# JSON
class AccountBalanceJson(TypedDict):
    account: EntityId | None
    balance: Int64 | None
    tokens: list[TokenHoldingJson]


class BalancesJson(Page):
    timestamp: Timestamp | None
    balances: list[AccountBalanceJson]


def balance_json(account_id: int, balance: int | None, tokens: Holdings | None) -> AccountBalanceJson:
    return {"account": entity_id.text(account_id), "balance": balance, "tokens": tokens_json(tokens)}


# VIEWS
class Balances(ReadView):
    """List the balances of accounts, now or at a time.

    At a time they are those of the last snapshot before it.
    """

    parameters, max_age, answers = BalanceParameters, 1, BalancesJson
    paging = {_ACCOUNT: "account"}

    def read(self, parameters: BalanceParameters) -> Response:
        accounts = account_ids(parameters)
        read = balances_at if parameters.timestamp else balances_now
        at, rows, continue_at = read(parameters, self.query, accounts)
        before, after = {"timestamp": timestamp.text(at)}, entity_id.bound(continue_at)
        return self.page("balances", rows, before=before, after=after)
