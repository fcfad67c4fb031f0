"""GET /api/v1/transactions and /api/v1/transactions/{idOrHash}.

Source: transaction, with crypto_transfer, token_transfer and, where account 800 pays,
staking_reward_transfer. Amounts: int64 tinybars, or the token's smallest unit; `max_fee` and
`valid_duration_seconds` are strings. The multiplier of a price for high volume is in thousandths, 0 without.
Errors: 400 malformed parameter, id or hash; 404 no transaction of that id or hash.
"""

import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.api.account_names import NamedAccount, found_accounts
from ledger.queries import transaction_lists
from ledger.queries import transactions as queries
from ledger.queries.timestamp_ranges import bound, nanoseconds
from ledger.queries.transaction_sides import TransactionSelection
from ledger.queries.transactions import FullTransaction
from mirror.core import config
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.by_month import is_partitioned
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import read_transaction_id
from mirror.core.rest.parameters.parameter_set import ParameterSet
from mirror.core.rest.views import Answer, ReadView
from mirror.core.values import entity_id, hexadecimal, timestamp, transaction_id
from mirror.core.values.hapi import result_codes, transaction_types
from mirror.core.values.hapi.messages import CustomFeeLimit
from mirror.core.values.json_types import (
    Base64,
    DecimalText,
    EntityId,
    Int32,
    Int64,
    KeyJson,
    Timestamp,
    TransactionId,
    page_type,
)
from mirror.core.values.keys import key_json

_REWARD_ACCOUNT_NUM = 800

# How far consensus may be from a transaction's valid start.
_DRIFT = "rest.query.maxValidStartTimestampDrift"
_SOON = "rest.query.maxTransactionConsensusTimestampRange"
_LATER = "rest.query.maxScheduledTransactionConsensusTimestampRange"

_SCHEDULE_CREATE = transaction_types.NUMBERS["SCHEDULECREATE"]

_HEX_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{96})")
_BASE64_HASH = re.compile(r"[A-Za-z0-9+/_-]{64}")


# PARAMETERS
class TransactionsOfAccountParameters(classic.PageParameters):
    timestamp = classic.Timestamp("timestamp", help="Consensus timestamp.")
    transaction_type = classic.TransactionType()


class TransactionParameters(TransactionsOfAccountParameters):
    account_id = NamedAccount("account.id", help="An account that pays or takes part in transfers.")
    result = classic.Result()
    type = classic.Choices(
        "type",
        {"credit": True, "debit": False},
        help="Only transactions with a transfer that gives to, or takes from, the account.",
    )


class TransactionIdParameters(ParameterSet):
    nonce = classic.Nonce(column="t.nonce")
    scheduled = classic.Boolean(
        "scheduled", column="t.scheduled", help="Only scheduled, or only other transactions."
    )


# QUERIES
def transaction_rows(
    parameters: TransactionsOfAccountParameters,
    query: Query,
    accounts: Sequence[Comparison],
    *,
    credits: Sequence[bool] = (),
    succeeded: bool | None = None,
) -> tuple[list[FullTransaction], int | None]:
    """Return a page of transactions, and where to continue if the search ended before it was full."""
    timestamps = Bounds.combine(parameters.timestamp)
    if len(set(credits)) > 1 or len(timestamps.equal) > 1 or timestamps.empty:
        return [], None
    timestamps, continue_at = bound(timestamps, descending=query.descending)
    if timestamps.empty:
        return [], None
    preceding = config.value("rest.query.transactions.precedingTransactionTypes")
    selection = TransactionSelection(
        timestamps=timestamps,
        accounts=accounts,
        credit=credits[0] if credits else None,
        succeeded=succeeded,
        types=parameters.transaction_type,
        preceding=[int(number) for number in preceding],
        entities=_has_nft_parties(),
    )
    transactions, reached = transaction_lists.transactions(selection, query)
    if len(transactions) >= query.limit:
        return transactions, None
    return transactions, continue_at if reached is None else reached


def _has_nft_parties() -> bool:
    """Return whether entity_transaction names who gave or got serials, rather than every entity there is."""
    persist = "importer.parser.record.entity.persist."
    return bool(
        config.value(persist + "entityNftTransactions") or not config.value(persist + "entityTransactions")
    )


def transactions_of_id(
    payer: int, valid_start: int, scheduled: bool | None, query: Query
) -> list[FullTransaction]:
    """Return all transactions of an id, the inner ones of a batch after the others. Errors: NotFound."""
    first = valid_start - nanoseconds(_DRIFT)
    soon = Bounds(first, valid_start + nanoseconds(_SOON))
    candidates = queries.transactions_of_id(payer, valid_start, query, soon)
    transactions = _within(candidates, soon)
    if _execution_may_be_later(transactions, scheduled):
        # A schedule may be executed long after its creation, by the id of the transaction that created it.
        later = Bounds(first, first + nanoseconds(_LATER))
        if is_partitioned():
            candidates = queries.transactions_of_id(payer, valid_start, query, later)
        transactions = _within(candidates, later)
    if not transactions:
        raise NotFound(detail=not_loaded.transaction(valid_start))
    pairs = [number for transaction in transactions for number in transaction.inner_transactions or ()]
    if pairs:
        ids = sorted(set(zip(pairs[::2], pairs[1::2], strict=True)))
        starts = [start for _, start in ids]
        soon = Bounds(min(starts) - nanoseconds(_DRIFT), max(starts) + nanoseconds(_SOON))
        transactions += _within(queries.transactions_of_ids(ids, query, soon), soon)
    return transactions


def _within(transactions: Sequence[FullTransaction], times: Bounds) -> list[FullTransaction]:
    """Return those that reached consensus within these times, whose ends are given."""
    assert times.lower is not None and times.upper is not None
    return [
        transaction
        for transaction in transactions
        if times.lower <= transaction.consensus_timestamp <= times.upper
    ]


def _execution_may_be_later(transactions: Sequence[FullTransaction], scheduled: bool | None) -> bool:
    if scheduled is not None:
        return scheduled and not transactions
    created = any(
        transaction.type == _SCHEDULE_CREATE and transaction.successful for transaction in transactions
    )
    return created and not any(transaction.scheduled for transaction in transactions)


# JSON
class TransferJson(TypedDict):
    account: EntityId | None
    amount: Int64
    is_approval: bool


class TokenTransferJson(TypedDict):
    token_id: EntityId | None
    account: EntityId | None
    amount: Int64
    is_approval: bool


class NftTransferJson(TypedDict):
    is_approval: bool
    receiver_account_id: EntityId | None
    sender_account_id: EntityId | None
    serial_number: Int64 | None
    token_id: EntityId | None


class StakingRewardTransferJson(TypedDict):
    account: EntityId | None
    amount: Int64


class CustomFeeLimitJson(TypedDict):
    account_id: EntityId | None
    amount: Int64
    denominating_token_id: EntityId | None


class AssessedCustomFeeJson(TypedDict):
    amount: Int64
    collector_account_id: EntityId | None
    token_id: EntityId | None
    effective_payer_account_ids: list[EntityId | None]


class TransactionJson(TypedDict):
    """Assessed custom fees are shown of one transaction id or hash only, if there are any."""

    assessed_custom_fees: NotRequired[list[AssessedCustomFeeJson]]
    batch_key: KeyJson | None
    bytes: Base64 | None
    charged_tx_fee: Int64 | None
    consensus_timestamp: Timestamp
    entity_id: EntityId | None
    high_volume: bool
    high_volume_pricing_multiplier: Int64 | None
    max_fee: DecimalText | None
    max_custom_fees: list[CustomFeeLimitJson]
    memo_base64: Base64 | None
    name: str
    nft_transfers: list[NftTransferJson]
    node: EntityId | None
    nonce: Int32
    parent_consensus_timestamp: Timestamp | None
    result: str
    scheduled: bool
    staking_reward_transfers: list[StakingRewardTransferJson]
    token_transfers: list[TokenTransferJson]
    transaction_hash: Base64 | None
    transaction_id: TransactionId | None
    transfers: list[TransferJson]
    valid_duration_seconds: DecimalText | None
    valid_start_timestamp: Timestamp | None


class TransactionsOfIdJson(TypedDict):
    transactions: list[TransactionJson]


def transactions_json(transactions: Sequence[FullTransaction]) -> list[Answer]:
    """Return the transactions, with the staking rewards of those that pay any."""
    source = config.own_id(_REWARD_ACCOUNT_NUM)
    paying = [
        transaction.consensus_timestamp
        for transaction in transactions
        if transaction.transfers and any(transfer[0] == source for transfer in transaction.transfers)
    ]
    if not paying:
        return [transaction_json(transaction, []) for transaction in transactions]
    rewards = defaultdict(list)
    for consensus_timestamp, account, amount in queries.staking_reward_transfers(paying):
        rewards[consensus_timestamp].append({"account": entity_id.text(account), "amount": amount})
    return [
        transaction_json(transaction, rewards.get(transaction.consensus_timestamp, []))
        for transaction in transactions
    ]


def transaction_json(transaction: FullTransaction, rewards: list[Answer]) -> Answer:
    text, time_text, base64 = entity_id.text, timestamp.text, hexadecimal.base64_text
    # As a tuple it is read in half the time.
    (
        consensus_timestamp, payer, valid_start, type_number, result, scheduled, nonce, batch_key, whole,
        charged, entity, max_fee, max_custom_fees, memo, high_volume, multiplier, nft_transfers, node, parent,
        digest, duration, transfers, token_transfers, assessed_custom_fees, _,
    ) = transaction  # fmt: skip
    record: Answer = {}
    if assessed_custom_fees:
        record["assessed_custom_fees"] = [_assessed_custom_fee_json(*fee) for fee in assessed_custom_fees]
    record |= {
        "batch_key": key_json(batch_key),
        "bytes": base64(whole),
        "charged_tx_fee": charged,
        "consensus_timestamp": time_text(consensus_timestamp),
        "entity_id": text(entity),
        "high_volume": high_volume,
        "high_volume_pricing_multiplier": multiplier,
        "max_fee": None if max_fee is None else str(max_fee),
        "max_custom_fees": _max_custom_fees_json(max_custom_fees) if max_custom_fees else [],
        "memo_base64": base64(memo),
        "name": transaction_types.name(type_number),
        "nft_transfers": [_nft_transfer_json(transfer) for transfer in nft_transfers or ()],
        "node": text(node),
        "nonce": nonce,
        "parent_consensus_timestamp": time_text(parent),
        "result": result_codes.name(result),
        "scheduled": scheduled,
        "staking_reward_transfers": rewards,
        "token_transfers": _token_transfers_json(token_transfers) if token_transfers else [],
        "transaction_hash": base64(digest),
        "transaction_id": transaction_id.text(payer, valid_start),
        "transfers": [
            {"account": text(account), "amount": amount, "is_approval": approved == 1}
            for account, amount, approved in transfers or ()
        ],
        "valid_duration_seconds": None if duration is None else str(duration),
        "valid_start_timestamp": time_text(valid_start),
    }
    return record


def _assessed_custom_fee_json(
    amount: int, collector: int, token: int | None, payers: Sequence[int]
) -> Answer:
    return {
        "amount": amount,
        "collector_account_id": entity_id.text(collector),
        "token_id": entity_id.text(token),
        "effective_payer_account_ids": [entity_id.text(payer) for payer in payers],
    }


def _token_transfers_json(transfers: Sequence[tuple[int, int, int, int]]) -> list[Answer]:
    text = entity_id.text
    return [
        {"token_id": text(token), "account": text(account), "amount": amount, "is_approval": approval == 1}
        for token, account, amount, approval in transfers
    ]


def _nft_transfer_json(transfer: Answer) -> Answer:
    return {
        "is_approval": bool(transfer.get("is_approval")),
        "receiver_account_id": entity_id.text(transfer.get("receiver_account_id")),
        "sender_account_id": entity_id.text(transfer.get("sender_account_id")),
        "serial_number": transfer.get("serial_number"),
        "token_id": entity_id.text(transfer.get("token_id")),
    }


def _max_custom_fees_json(limits: Sequence[bytes]) -> list[Answer]:
    fees = []
    for serialized in limits:
        limit = CustomFeeLimit.FromString(serialized)
        for fee in limit.fees:
            fees.append(
                {
                    "account_id": entity_id.text(entity_id.from_account(limit.account_id)),
                    "amount": fee.amount,
                    "denominating_token_id": entity_id.text(entity_id.from_token(fee.denominating_token_id)),
                }
            )
    return fees


# VIEWS
class Transactions(ReadView):
    """List transactions.

    Newest first; of an account, a type, a result or a time.
    """

    parameters, max_age = TransactionParameters, 2
    answers = page_type("Transactions", transactions=TransactionJson)
    paging = {"timestamp": "consensus_timestamp"}

    def read(self, parameters: TransactionParameters) -> Response:
        transactions, continue_at = transaction_rows(
            parameters,
            self.query,
            found_accounts(parameters.account_id),
            credits=parameters.type,
            succeeded=parameters.result,
        )
        after = timestamp.text(continue_at)
        return self.page("transactions", transactions_json(transactions), after=after)


class TransactionsOfIdOrHash(ReadView):
    """Get the transactions of an id or hash.

    Those that share an id are all in the answer: duplicates, the scheduled execution and children.
    """

    parameters, max_age, answers = TransactionIdParameters, 600, TransactionsOfIdJson

    def read(self, parameters: TransactionIdParameters, transaction_id_or_hash: str) -> Answer:
        digest = _hash(transaction_id_or_hash)
        if digest is not None:
            transactions = queries.transactions_of_hash(digest, self.query)
            if not transactions:
                raise NotFound(detail=not_loaded.anything())
        else:
            payer, valid_start = read_transaction_id(transaction_id_or_hash)
            transactions = transactions_of_id(payer, valid_start, parameters.scheduled, self.query)
            if parameters.scheduled is None and _is_waiting(transactions):
                self.max_age = 5
        return {"transactions": transactions_json(transactions)}


def _is_waiting(transactions: Sequence[FullTransaction]) -> bool:
    """Return whether the execution of a schedule created here may still come."""
    created = [
        transaction
        for transaction in transactions
        if transaction.type == _SCHEDULE_CREATE and transaction.successful
    ]
    recent = any(transaction.consensus_timestamp > now_ns() - nanoseconds(_LATER) for transaction in created)
    return recent and not any(transaction.scheduled for transaction in transactions)


def _hash(text: str) -> bytes | None:
    """Return the 48 bytes of a transaction hash in hex or base64; None for any other text."""
    if digits := _HEX_HASH.fullmatch(text):
        return bytes.fromhex(digits[1])
    return b64decode(text, altchars=b"-_") if _BASE64_HASH.fullmatch(text) else None
