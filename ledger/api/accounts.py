"""GET /api/v1/accounts and /api/v1/accounts/{idOrAliasOrEvmAddress}: accounts and contracts.

Source: entity, entity_stake, token_account; at a time their histories, account_balance and token_balance.
One account comes with its transactions (ledger.api.transactions). Balances and rewards: int64 tinybars, of
tokens their smallest unit. Errors: 400 malformed parameter or path; 404 no such account, or none at the time.
"""

from typing import Any, NotRequired, TypedDict

from rest_framework.response import Response

from ledger.api.names.accounts import OfAccount
from ledger.api.transactions import (
    TransactionJson,
    TransactionsOfAccountParameters,
    transaction_rows,
    transactions_json,
)
from ledger.queries import accounts as queries
from ledger.queries import balances
from ledger.queries.account_pages import UNINDEXED_BALANCE, Filters
from ledger.queries.accounts import Account, Holdings
from ledger.queries.versions_at import VersionRange
from mirror.core import config
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.sql import Comparison
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.query import Query
from mirror.core.rest.answers import not_loaded
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.views import ReadView
from mirror.core.rest.parameters.parameter_set import ParameterSet
from mirror.core.rest.parameters.types import (
    BooleanParameter,
    EntityIdParameter,
    LimitParameter,
    NumberParameter,
    OrderParameter,
    PublicKeyParameter,
)
from mirror.core.values import alias, entity_id, hexadecimal, keys, timestamp
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
)
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

_NO_NODE = -1
_NO_PERIOD = -1


# PARAMETERS
class WithBalanceParameter(BooleanParameter):
    """The choice to show balances, which leaves out the stand-in of the treasury."""

    def __init__(self) -> None:
        super().__init__("balance", True, help="Whether to show balances.")

    def filter(self, query: Query, value: bool) -> Query:  # type: ignore[override]
        return query.filter(queries.NOT_SYNTHETIC) if value else query


class AccountsParameters(ParameterSet):
    strict = True

    account_balance = NumberParameter(
        "account.balance", column=UNINDEXED_BALANCE, any_equal=False, help="Balance in tinybars."
    )
    account_id = EntityIdParameter("account.id", column="id", help="Account id, or long-zero EVM address.")
    account_publickey = PublicKeyParameter(
        "account.publickey", column="public_key", any_equal=False, help="Public key of the account."
    )
    balance = WithBalanceParameter()
    limit = LimitParameter()
    order = OrderParameter("asc")

    def filter_queryset(self, query: Query) -> Query:  # type: ignore[override]
        if not self.balance:
            # Hidden balances don't narrow the list.
            self.account_balance = []
        return super().filter_queryset(query)


class AccountParameters(TransactionsOfAccountParameters):
    transactions = BooleanParameter("transactions", True, help="Whether to show transactions.")


# QUERIES
def account_at(account_id: int, comparisons: list[Comparison]) -> "tuple[Account, BalanceJson]":
    """Return the account as it was at the timestamps, with its balance in the last snapshot by then.

    Errors: NotFound.
    """
    moments = Bounds.of(comparisons)
    if moments.empty:
        raise NotFound("Timestamp range is empty")
    account = queries.account_at(account_id, VersionRange.of(moments))
    if account is None:
        raise NotFound(detail=not_loaded.entity())
    window = balances.window(comparisons, now=now_ns())
    if window is None:
        return account, balance_json(account.balance, account.balance_timestamp, None)
    balance = balances.balance_at(account_id, window, tokens=_most_tokens())
    return account, balance_json(balance.balance, window.snapshot, balance.tokens)


def _most_tokens() -> int:
    most: int = config.value("rest.response.limit.tokenBalance.singleAccount")
    return most


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


class AccountsJson(Page):
    accounts: list[AccountJson]


class AccountWithTransactionsJson(AccountJson, Page):
    transactions: list[TransactionJson]


def account_json(account: Account, balance: BalanceJson | None) -> AccountJson:
    has_node = account.staked_node_id is not None and account.staked_node_id != _NO_NODE
    answer: AccountJson = {
        "account": entity_id.text(account.id),
        "alias": alias.text(account.alias),
        "auto_renew_period": account.auto_renew_period,
        "balance": balance,
        "created_timestamp": timestamp.text(account.created_timestamp),
        "decline_reward": account.decline_reward,
        "deleted": account.deleted,
        "ethereum_nonce": account.ethereum_nonce,
        "evm_address": hexadecimal.text(_evm_address(account)),
        "expiry_timestamp": timestamp.text(_expiry(account)),
        "key": keys.key_json(account.key),
        "max_automatic_token_associations": account.max_automatic_token_associations,
        "memo": account.memo,
        "pending_reward": _pending_reward(account) if has_node else 0,
        "receiver_sig_required": account.receiver_sig_required,
        "staked_account_id": entity_id.text(account.staked_account_id),
        "staked_node_id": account.staked_node_id if has_node else None,
        "stake_period_start": timestamp.text(_stake_period_start(account)) if has_node else None,
    }
    if config.value("rest.response.enableDelegationAddress"):
        answer["delegation_address"] = _delegation_address(account)
    return answer


def balance_json(balance: int | None, at: int | None, tokens: Holdings | None) -> BalanceJson:
    return {"balance": balance, "timestamp": timestamp.text(at), "tokens": tokens_json(tokens)}


def tokens_json(tokens: Holdings | None) -> list[TokenHoldingJson]:
    return [{"token_id": entity_id.text(token), "balance": balance} for token, balance in tokens or ()]


def _evm_address(account: Account) -> bytes | None:
    if account.evm_address is not None:
        return account.evm_address
    if account.alias is not None and len(account.alias) == alias.EVM_ADDRESS_LENGTH:
        return account.alias
    return entity_id.long_zero(account.id) if account.id & entity_id.MAX_NUM else None


def _delegation_address(account: Account) -> str:
    """Return the address of the code that runs for the account (EIP-7702); `0x` if there is none."""
    address = account.delegation_address or b""
    return hexadecimal.text(address if any(address) else b"")


def _expiry(account: Account) -> int | None:
    if account.expiration_timestamp is not None:
        return account.expiration_timestamp
    if account.created_timestamp is None or account.auto_renew_period is None:
        return None
    return account.created_timestamp + account.auto_renew_period * NANOS_PER_SECOND


def _pending_reward(account: Account) -> int:
    """Return the pending reward of an account that stakes to a node; 0 for periods before its choice."""
    if account.decline_reward or account.end_stake_period is None:
        return 0
    if account.stake_period_start is not None and account.stake_period_start >= account.end_stake_period:
        return 0
    return account.pending_reward or 0


def _stake_period_start(account: Account) -> int | None:
    """Return the start of the period, which the database counts in days since the epoch."""
    period = account.stake_period_start
    return None if period is None or period == _NO_PERIOD else period * NANOS_PER_DAY


# VIEWS
class Accounts(ReadView):
    """List accounts.

    Finds those with a public key or with a balance in a range, too. Balances are in tinybars.
    """

    parameters, max_age, answers = AccountsParameters, 10, AccountsJson
    paging = {"account.id": "account"}

    def read(self, parameters: AccountsParameters) -> Response:
        most: int = config.value("rest.response.limit.tokenBalance.multipleAccounts")
        filters = Filters(parameters.account_id, parameters.account_balance, parameters.account_publickey)
        accounts, continue_at = queries.accounts(
            self.query, filters, tokens=most if parameters.balance else 0
        )
        if continue_at is not None:
            self.continue_after(**{"account.id": entity_id.bound(continue_at)})
        return self.page("accounts", [self._json(account, parameters.balance) for account in accounts])

    @staticmethod
    def _json(account: Account, with_balance: bool) -> AccountJson:
        balance = balance_json(account.balance, account.balance_timestamp, account.tokens)
        return account_json(account, balance if with_balance else None)


class AccountOfIdOrAlias(OfAccount):
    """Get an account with its balances and last transactions.

    With `timestamp` as it was at that time. `transactions=false` leaves the transactions out, which is
    quicker.
    """

    parameters, max_age, answers = AccountParameters, 2, AccountWithTransactionsJson
    paging = {"timestamp": "consensus_timestamp"}
    path_first = False

    def read(self, parameters: AccountParameters, account_id: int) -> Response:
        if parameters.timestamp:
            account, balance = account_at(account_id, parameters.timestamp)
        else:
            account, balance = self._now(account_id)
        return self.page(
            "transactions", self._transactions(parameters, account_id), before=account_json(account, balance)
        )

    @staticmethod
    def _now(account_id: int) -> tuple[Account, BalanceJson]:
        account = queries.account(account_id, tokens=_most_tokens())
        if account is None:
            raise NotFound(detail=not_loaded.entity())
        return account, balance_json(account.balance, account.balance_timestamp, account.tokens)

    def _transactions(self, parameters: AccountParameters, account_id: int) -> list[dict[str, Any]]:
        if not parameters.transactions:
            return []
        transactions, continue_at = transaction_rows(parameters, self.query, [Comparison("eq", account_id)])
        if continue_at is not None and len(transactions) < self.query.limit:
            self.continue_after(timestamp=timestamp.text(continue_at))
        return transactions_json(transactions)
