"""What kind each column is, and which columns an index finds."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any

from django.db import models
from django.db.models import F, Field
from django.db.models.expressions import OrderBy

from mirror.admin.byte_kinds import Alias, Hash, Hex, Key, TextBytes
from mirror.admin.kinds import (
    RESULT,
    TRANSACTION_TYPE,
    Between,
    Boolean,
    Choice,
    Code,
    Day,
    Entity,
    Exact,
    Hbar,
    HexText,
    InnerTransactions,
    Json,
    Kind,
    Milliseconds,
    Moment,
    Number,
    Several,
    Time,
)
from mirror.db import indexes
from mirror.db.fields import BytesField, EnumField
from mirror.db.tables import KeylessTable

ENTITY, TOKEN, SCHEDULE = Entity(), Entity("tokens_token"), Entity("ledger_schedule")
TIME, OF_TRANSACTION = Time(), Time("ledger_transaction")
OF_BLOCK, OF_SNAPSHOT = Time("ledger_recordfile"), Time("ledger_accountbalancefile")
OF_ADDRESS_BOOK = Time("network_addressbook")
NUMBER, CODE, HBAR, KEY, HEX = Number(), Code(), Hbar(), Key(), Hex()


def _each(kind: Kind, names: str) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


# Columns of one name are of one kind in every table, except where `table.column` says otherwise. Whole
# numbers of 64 bits are all named here: nothing else tells an id from a time or an amount.
_KINDS: dict[str, Kind] = {
    **_each(
        ENTITY,
        """account_id auto_renew_account_id call_data_id caller collector_account_id contract_id
        creator_account_id delegating_spender entity_id file_id id node_account_id obtainer_id owner owner_id
        payer_account_id proxy_account_id receiver_account_id recipient_account recipient_contract
        root_contract_id sender_account_id sender_id spender staked_account_id topic_id
        treasury_account_id""",
    ),
    "token_id": TOKEN,
    "schedule_id": SCHEDULE,
    **_each(
        OF_TRANSACTION,
        """balance_timestamp consensus_start consensus_timestamp created_timestamp executed_timestamp
        modified_timestamp parent_consensus_timestamp start_consensus_timestamp""",
    ),
    **_each(
        TIME,
        """end_consensus_timestamp end_time expiration_time expiration_timestamp staking_period start_time
        valid_start_ns valid_start_timestamp""",
    ),
    "consensus_end": OF_BLOCK,
    "load_start": Milliseconds(),
    "load_end": Milliseconds(),
    **_each(
        Day(),
        "end_stake_period epoch_day stake_period_start",
    ),
    **_each(
        HBAR,
        """amount amount_granted balance charged_tx_fee initial_balance max_fee max_gas_allowance max_stake
        max_stake_rewarded max_staking_reward_rate_per_hbar max_total_reward min_stake pending_reward
        reserved_staking_rewards reward_balance_threshold reward_rate stake stake_not_rewarded stake_rewarded
        stake_total stake_total_start staked_to_me staking_reward_rate staking_start_threshold
        unreserved_staking_reward_balance""",
    ),
    **_each(
        NUMBER,
        """auto_renew_period count decimals ethereum_nonce gas gas_consumed gas_limit gas_used initial_supply
        max_supply node_reward_fee_denominator node_reward_fee_numerator nonce serial_number sequence_number
        staking_period_duration staking_periods_stored staking_reward_fee_denominator
        staking_reward_fee_numerator total_supply valid_duration_seconds""",
    ),
    **_each(
        CODE,
        """hook_id index node_id num realm round_end round_start shard staked_node_id
        staked_node_id_start""",
    ),
    **_each(
        KEY,
        """admin_key batch_key fee_schedule_key freeze_key kyc_key metadata_key pause_key submit_key
        supply_key wipe_key""",
    ),
    **_each(
        TextBytes(),
        "file_data memo message metadata",
    ),
    **_each(
        Hash(),
        "hash transaction_hash running_hash",
    ),
    "alias": Alias(),
    "result": RESULT,
    "transaction_result": RESULT,
    "timestamp_range": Between(OF_TRANSACTION),
    "sequence_number_range": Between(NUMBER),
    "contract_ids": Several(ENTITY),
    "created_contract_ids": Several(ENTITY),
    "effective_payer_account_ids": Several(ENTITY),
    "inner_transactions": InnerTransactions(),
    "max_custom_fees": Several(HEX),
    "types": Several(CODE),
    "name": Exact("the whole name"),
    # Exceptions
    "account_balance.consensus_timestamp": OF_SNAPSHOT,
    "account_balance_file.consensus_timestamp": OF_SNAPSHOT,
    "address_book.start_consensus_timestamp": OF_ADDRESS_BOOK,
    "address_book_entry.consensus_timestamp": OF_ADDRESS_BOOK,
    "address_book_service_endpoint.consensus_timestamp": OF_ADDRESS_BOOK,
    "assessed_custom_fee.amount": NUMBER,
    "contract_action.value": HBAR,
    "entity.key": KEY,
    "entity.public_key": HexText("hex, its beginning suffices"),
    "entity_history.key": KEY,
    "entity_transaction.type": TRANSACTION_TYPE,
    "ethereum_transaction.max_gas_allowance": HBAR,
    "file_data.transaction_type": TRANSACTION_TYPE,
    "reconciliation_job.consensus_timestamp": TIME,
    "record_file.hash": HexText("hex, its beginning suffices"),
    "sidecar_file.id": CODE,
    "token_balance.consensus_timestamp": OF_SNAPSHOT,
    "topic_message_lookup.timestamp_range": Between(TIME),
    "transaction.type": TRANSACTION_TYPE,
    **_each(
        NUMBER,
        """token_account.balance token_account_history.balance token_balance.balance token_airdrop.amount
        token_airdrop_history.amount token_allowance.amount token_allowance.amount_granted
        token_allowance_history.amount token_allowance_history.amount_granted
        token_transfer.amount""",
    ),
}

_OF_CLASS: tuple[tuple[Any, Kind], ...] = (
    (BytesField, HEX),
    (models.BooleanField, Boolean()),
    (models.JSONField, Json()),
    (models.DateTimeField, Moment()),
    (models.CharField, Kind()),
    (models.TextField, Kind()),
)


_ACRONYMS = frozenset({"evm", "hapi", "ip", "kyc", "nft", "utc"})


class UnknownColumn(LookupError):
    """A 64 bit number, array or range that no line here explains."""


@cache
def kind(field: "Field[Any, Any]") -> Kind:
    """Errors: UnknownColumn."""
    exception = _KINDS.get(f"{field.model._meta.db_table}.{field.name}")
    if exception:
        return exception
    named = _KINDS.get(field.name)
    # A name can stand for bytes or a number in one table and for text in another: text has its own kind.
    is_text = isinstance(field, models.CharField | models.TextField)
    if named and not (is_text and not isinstance(named, Exact)):
        return named
    if isinstance(field, EnumField):
        return Choice(tuple(value for value, _ in field.choices or ()))
    for cls, of_class in _OF_CLASS:
        if isinstance(field, cls):
            return of_class
    if isinstance(field, models.IntegerField) and not isinstance(field, models.BigIntegerField):
        return CODE
    raise UnknownColumn(f"{field.model._meta.db_table}.{field.name}")


def label(field: "Field[Any, Any]") -> str:
    """The heading of a column: its name in words, an id by what it is the id of."""
    words = str(field.verbose_name).split()
    if len(words) > 1 and words[-1] == "id" and isinstance(kind(field), Entity):
        words.pop()
    text = " ".join(word.upper() if word in _ACRONYMS else word for word in words)
    return text[0].upper() + text[1:]


def of(model: type[models.Model], column: str) -> Kind:
    return kind(model._meta.get_field(column))


@cache
def btrees(model: type[models.Model]) -> tuple[tuple[str, ...], ...]:
    """The columns of each index that finds rows by its first columns, the key's first."""
    found = [] if issubclass(model, KeylessTable) else [key_columns(model)]
    # An expression ends what a comparison of columns can use.
    found += [tuple(takewhile(lambda name: "__" not in name, _names(parts))) for parts, _ in _parts(model)]
    return tuple(columns for columns in found if columns)


def key_columns(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.name for field in model._meta.pk_fields)


def leading(model: type[models.Model]) -> tuple[str, ...]:
    """The columns that find rows by themselves."""
    return tuple(dict.fromkeys(columns[0] for columns in btrees(model)))


def indexed(model: type[models.Model]) -> tuple[str, ...]:
    """The columns that find rows, if need be together with a leading one."""
    return tuple(dict.fromkeys(name for columns in btrees(model) for name in columns))


def order(model: type[models.Model]) -> tuple[str, ...]:
    """An order of all rows, last first, that an index delivers; nothing where no index has an order.

    The rest of the key is added for rows that the index does not tell apart.
    """
    if not issubclass(model, KeylessTable):
        names = key_columns(model)
    else:
        names = next((_names(parts) for parts, partial in _parts(model) if not partial), ())
        if names:
            names += tuple(
                name for name in key_columns(model) if name not in names and name != "timestamp_range"
            )
    return tuple(f"-{name}" for name in names)


def _parts(model: type[models.Model]) -> Iterator[tuple[Sequence[Any], bool]]:
    """What the ordered indexes of a model are made of, those of unique constraints among them.

    And whether an index leaves out rows.
    """
    for index in model._meta.indexes:
        if isinstance(index, indexes.Index):
            yield index.fields or index.expressions, index.condition is not None
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            yield constraint.fields or constraint.expressions, constraint.condition is not None


def _names(parts: Sequence[Any]) -> tuple[str, ...]:
    """The names of columns, and of the lower ends of ranges."""
    return tuple(_name(part) for part in parts)


def _name(part: Any) -> str:
    if isinstance(part, OrderBy):
        part = part.expression
    return str(part.name if isinstance(part, F) else part).lstrip("-")  # type: ignore[attr-defined]
