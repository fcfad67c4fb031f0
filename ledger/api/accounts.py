"""GET /api/v1/accounts and /api/v1/accounts/{idOrAliasOrEvmAddress}: accounts and contracts.

Source: entity, entity_stake, token_account; at a time their histories, account_balance and token_balance.
One account comes with its transactions (ledger.api.transactions). Balances and rewards: int64 tinybars, of
tokens their smallest unit. Errors: 400 malformed parameter or path; 404 no such account, or none at the time.
"""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.api.account_names import AccountView
from ledger.api.transactions import (
    TransactionJson,
    TransactionsOfAccountParameters,
    transaction_rows,
    transactions_json,
)
from ledger.queries import accounts as queries
from ledger.queries import balances
from ledger.queries.account_pages import UNINDEXED_BALANCE, Filters
from ledger.queries.accounts import Holdings
from ledger.queries.versions_at import VersionRange
from mirror.core import config
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.views import ReadView
from mirror.core.values import alias, entity_id, hexadecimal, timestamp
from mirror.core.values.json_types import (
    Alias,
    EntityId,
    EvmAddress,
    Hex,
    Int32,
    Int64,
    KeyJson,
    Page,
    Timestamp,
    page_type,
)
from mirror.core.values.timestamp import NANOS_PER_DAY

_MAX_TOKENS = "rest.response.limit.tokenBalance.singleAccount"


# PARAMETERS
class WithBalanceParameter(classic.Boolean):
    """The choice to show balances, which leaves out the stand-in of the treasury."""

    def __init__(self) -> None:
        super().__init__("balance", True, help="Whether to show balances.")

    def filter(self, query: Query, value: bool) -> Query:  # type: ignore[override]
        return query.filter(queries.NOT_SYNTHETIC) if value else query


class HolderParameters(classic.PageParameters):
    """The parameters that the lists of accounts and of balances share."""

    strict = True

    account_balance = classic.Number(
        "account.balance", column=UNINDEXED_BALANCE, any_equal=False, help="Balance in tinybars."
    )
    account_publickey = classic.PublicKey(
        "account.publickey", column="public_key", any_equal=False, help="Public key of the account."
    )


class AccountsParameters(HolderParameters):
    account_id = classic.EntityId("account.id", column="id", help="Account id, or long-zero EVM address.")
    balance = WithBalanceParameter()
    order = classic.Order("asc")

    def filter_queryset(self, query: Query) -> Query:  # type: ignore[override]
        if not self.balance:
            # Hidden balances don't narrow the list.
            self.account_balance = []
        return super().filter_queryset(query)


class AccountParameters(TransactionsOfAccountParameters):
    transactions = classic.Boolean("transactions", True, help="Whether to show transactions.")


# QUERIES
def account_at(account_id: int, comparisons: list[Comparison]) -> "AccountJson":
    """Return the account as of timestamps, with the balance of the last snapshot. Errors: NotFound."""
    timestamps = Bounds.combine(comparisons)
    if timestamps.empty:
        raise NotFound("Timestamp range is empty")
    row = not_loaded.found(
        queries.account_at(ACCOUNT.columns, account_id, VersionRange.from_bounds(timestamps))
    )
    window = balances.window(comparisons, now=now_ns())
    if window is None:
        return account_json(row)
    balance = balances.balance_at(account_id, window, tokens=config.value(_MAX_TOKENS))
    return account_json(row) | {"balance": balance_json(balance.balance, window.snapshot, balance.tokens)}


def account_now(account_id: int) -> "AccountJson":
    """Return the account as it is now. Errors: NotFound."""
    row = not_loaded.found(queries.account(ACCOUNT.columns, account_id, tokens=config.value(_MAX_TOKENS)))
    *members, tokens = row
    return account_json(members, tokens)


# JSON
class TokenHoldingJson(TypedDict):
    token_id: EntityId | None
    balance: Int64


class BalanceJson(TypedDict):
    balance: Int64 | None
    timestamp: Timestamp | None
    tokens: list[TokenHoldingJson]


class AccountJson(TypedDict):
    account: EntityId | None
    alias: Alias | None
    auto_renew_period: Int64 | None
    balance: BalanceJson | None
    created_timestamp: Timestamp | None
    decline_reward: bool
    delegation_address: NotRequired[Hex]
    deleted: bool | None
    ethereum_nonce: Int64 | None
    evm_address: EvmAddress | None
    expiry_timestamp: Timestamp | None
    key: KeyJson | None
    max_automatic_token_associations: Int32 | None
    memo: str | None
    pending_reward: Int64
    receiver_sig_required: bool | None
    staked_account_id: EntityId | None
    staked_node_id: Int64 | None
    stake_period_start: Timestamp | None


class AccountWithTransactionsJson(AccountJson, Page):
    transactions: list[TransactionJson]


# A choice of a node, and the period from which it counts.
_HAS_NODE = "e.staked_node_id <> -1"
_HAS_REWARD = f"""{_HAS_NODE} and not e.decline_reward and s.end_stake_period is not null
    and coalesce(e.stake_period_start < s.end_stake_period, true)"""

ACCOUNT = Record(
    AccountJson,
    of="e",
    account="e.id",
    balance="array[e.balance, e.balance_timestamp]",
    evm_address=f"""coalesce(
        e.evm_address, case when length(e.alias) = {alias.EVM_ADDRESS_LENGTH} then e.alias end,
        case when e.id & {entity_id.MAX_NUM} <> 0 then {entity_id.long_zero_sql("e.id")} end
    )""",
    expiry_timestamp="array[e.expiration_timestamp, e.created_timestamp, e.auto_renew_period]",
    pending_reward=f"case when {_HAS_REWARD} then coalesce(s.pending_reward, 0) else 0 end",
    staked_node_id="nullif(e.staked_node_id, -1)",
    stake_period_start=f"case when {_HAS_NODE} then nullif(e.stake_period_start, -1) end",
    written={
        "balance": lambda balance: balance_json(*balance),
        "delegation_address": lambda address: hexadecimal.text(address if any(address or b"") else b""),
        "expiry_timestamp": lambda times: timestamp.text(timestamp.expiry(times)),
        "stake_period_start": lambda day: timestamp.text(None if day is None else day * NANOS_PER_DAY),
    },
)


def account_json(row: Sequence[Any], tokens: Holdings | None = None) -> AccountJson:
    """Return an account, as the settings say with the address of the code that runs for it (EIP-7702)."""
    answer = ACCOUNT.json(row)
    delegation_address = answer.pop("delegation_address")
    if answer["balance"] is not None:
        answer["balance"]["tokens"] = tokens_json(tokens)
    if config.value("rest.response.enableDelegationAddress"):
        answer["delegation_address"] = delegation_address
    return answer


def balance_json(balance: int | None, time: int | None, tokens: Holdings | None = None) -> BalanceJson:
    return {"balance": balance, "timestamp": timestamp.text(time), "tokens": tokens_json(tokens)}


def tokens_json(tokens: Holdings | None) -> list[TokenHoldingJson]:
    return [{"token_id": entity_id.text(token), "balance": balance} for token, balance in tokens or ()]


# VIEWS
class Accounts(ReadView):
    """List accounts.

    Finds those with a public key or with a balance in a range, too. Balances are in tinybars.
    """

    parameters, max_age, answers = AccountsParameters, 10, page_type("Accounts", accounts=AccountJson)
    paging = {"account.id": "account"}

    def read(self, parameters: AccountsParameters) -> Response:
        most: int = config.value("rest.response.limit.tokenBalance.multipleAccounts")
        filters = Filters(parameters.account_id, parameters.account_balance, parameters.account_publickey)
        rows, continue_at = queries.accounts(
            ACCOUNT.columns, self.query, filters, tokens=most if parameters.balance else 0
        )
        if parameters.balance:
            accounts = [account_json(row[:-1], row[-1]) for row in rows]
        else:
            accounts = [account_json(row) | {"balance": None} for row in rows]
        return self.page("accounts", accounts, after=entity_id.bound(continue_at))


class AccountOfIdOrAlias(AccountView):
    """Get an account with its balances and last transactions.

    With `timestamp` as it was at that time. `transactions=false` leaves the transactions out, which is
    quicker.
    """

    parameters, max_age, answers = AccountParameters, 2, AccountWithTransactionsJson
    paging = {"timestamp": "consensus_timestamp"}
    path_first = False

    def read(self, parameters: AccountParameters, account_id: int) -> Response:
        at = parameters.timestamp
        account = account_at(account_id, at) if at else account_now(account_id)
        transactions, continue_at = [], None
        if parameters.transactions:
            accounts = [Comparison("eq", account_id)]
            rows, continue_at = transaction_rows(parameters, self.query, accounts)
            transactions = transactions_json(rows)
        after = timestamp.text(continue_at)
        return self.page("transactions", transactions, before=account, after=after)
