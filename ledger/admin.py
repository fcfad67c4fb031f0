"""The pages of blocks, transactions, entities, topics, schedules and files."""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.urls import reverse
from django.utils.html import format_html

from contracts.models import (
    Contract,
    ContractAction,
    ContractLog,
    ContractResult,
    ContractState,
    ContractStateChange,
    EthereumTransaction,
    Hook,
)
from ledger.models import (
    AccountBalance,
    AccountBalanceFile,
    CryptoAllowance,
    CryptoAllowanceHistory,
    CryptoTransfer,
    CustomFee,
    CustomFeeHistory,
    Entity,
    EntityHistory,
    EntityStake,
    EntityStakeHistory,
    EntityTransaction,
    FileData,
    LiveHash,
    NetworkFreeze,
    NonFeeTransfer,
    Prng,
    ReconciliationJob,
    RecordFile,
    Schedule,
    SidecarFile,
    StakingRewardTransfer,
    Topic,
    TopicHistory,
    TopicMessage,
    TopicMessageLookup,
    Transaction,
    TransactionHash,
    TransactionSignature,
)
from mirror.admin import columns
from mirror.admin.filters import conditions
from mirror.admin.kinds import Unreadable, linked
from mirror.admin.readonly import CompositeKeyAdmin, ReadOnlyAdmin
from mirror.admin.related import Related, Section, same
from mirror.values import alias, entity_id, hexes, timestamp, transaction_id
from tokens.models import (
    AssessedCustomFee,
    Nft,
    NftAllowance,
    Token,
    TokenAccount,
    TokenAirdrop,
    TokenAllowance,
    TokenTransfer,
)

# BLOCKS


@admin.register(RecordFile)
class RecordFileAdmin(ReadOnlyAdmin):
    label, one = "Blocks", "Block"
    shown = ("consensus_end", "index", "count", "name", "hash", "gas_used", "size", "sidecar_count")
    searched = ("index", "hash", "consensus_end")
    search_also = "the block a time lies in"
    related = (
        Related(
            Transaction,
            lambda block: {
                "consensus_timestamp": f"{block.consensus_start}..{block.consensus_end}",
            },
            most=25,
        ),
        Related(SidecarFile, same("consensus_end")),
    )

    def search(self, text: str) -> Iterable[Q]:
        """A time stands for the block it lies in: the first that ends at or after it."""
        yield from conditions(RecordFile, ("index", "hash"), text)
        try:
            time = columns.OF_BLOCK.lookup(text)
        except Unreadable:
            return
        if "exact" in time:
            # Index: the primary key (consensus_end).
            following = RecordFile.objects.filter(consensus_end__gte=time["exact"]).order_by("consensus_end")
            yield Q(consensus_end__in=list(following.values_list("consensus_end", flat=True)[:1]))
        yield from conditions(RecordFile, ("consensus_end",), text)

    def row_title(self, row: RecordFile) -> str:
        return f"{row.index}"

    def facts(self, row: RecordFile) -> Iterator[tuple[str, str]]:
        # Index: record_file__index (index).
        beside = RecordFile.objects.filter(index__in=(row.index - 1, row.index + 1)).only("index")[:2]
        for other in sorted(beside, key=lambda block: block.index):
            name = "Next block" if other.index > row.index else "Previous block"
            href = columns.OF_BLOCK.href(other.consensus_end)
            yield name, format_html('<a href="{}">{}</a>', href, other.index)
        yield "In the API", _api_link(f"blocks/{row.index}")


@admin.register(SidecarFile)
class SidecarFileAdmin(CompositeKeyAdmin):
    shown = ("consensus_end", "id", "name", "types", "count", "size")


# TRANSACTIONS


@admin.register(Transaction)
class TransactionAdmin(ReadOnlyAdmin):
    shown = (
        "consensus_timestamp",
        "type",
        "result",
        "payer_account_id",
        "entity_id",
        "charged_tx_fee",
        "memo",
        "nonce",
    )
    searched = ("consensus_timestamp", "payer_account_id", "type")
    search_also = "transaction id (0.0.1234-1700000000-000000001), transaction hash (hex or base64)"
    related = (
        Related(CryptoTransfer, same("consensus_timestamp"), "Hbar transfers", most=50),
        Related(TokenTransfer, same("consensus_timestamp"), "Token transfers", most=50),
        Related(StakingRewardTransfer, same("consensus_timestamp"), "Staking rewards paid"),
        Related(AssessedCustomFee, same("consensus_timestamp"), "Custom fees charged"),
        Related(ContractResult, same("consensus_timestamp"), "Contract result"),
        Related(EthereumTransaction, same("consensus_timestamp"), "Ethereum transaction"),
        Related(ContractLog, same("consensus_timestamp"), "Contract logs"),
        Related(ContractAction, same("consensus_timestamp"), "Contract actions"),
        Related(ContractStateChange, same("consensus_timestamp"), "Contract state read and written"),
        Related(TopicMessage, same("consensus_timestamp", topic_id="entity_id"), "Topic message"),
        Related(FileData, same("consensus_timestamp"), "File content"),
        Related(Prng, same("consensus_timestamp"), "Pseudorandom number"),
        Related(NetworkFreeze, same("consensus_timestamp"), "Network freeze"),
        Related(Schedule, same(schedule_id="entity_id")),
        Related(TransactionSignature, same("consensus_timestamp", "entity_id"), "Signatures of the schedule"),
    )

    def search(self, text: str) -> Iterable[Q]:
        try:
            # Index: transaction__transaction_id (valid_start_ns, payer_account_id).
            payer, start = transaction_id.parse(_with_dashes(text))
            yield Q(valid_start_ns=start, payer_account_id=payer)
        except (transaction_id.InvalidTransactionId, entity_id.InvalidEntityId):
            pass
        if digest := _digest(text):
            found = TransactionHash.objects.filter(of_hash(digest)).values_list(
                "consensus_timestamp", flat=True
            )
            yield Q(consensus_timestamp__in=list(found[:25]))
        yield from super().search(text)

    def row_title(self, row: Transaction) -> str:
        return transaction_id.text(row.payer_account_id, row.valid_start_ns)

    def facts(self, row: Transaction) -> Iterator[tuple[str, str]]:
        own_id = transaction_id.text(row.payer_account_id, row.valid_start_ns)
        yield "Transaction id", format_html('<a href="{}?q={}">{}</a>', _list(Transaction), own_id, own_id)
        # Index: the primary key (consensus_end).
        ends = RecordFile.objects.filter(consensus_end__gte=row.consensus_timestamp).order_by("consensus_end")
        block = ends.only("index", "consensus_start").first()
        if block and block.consensus_start <= row.consensus_timestamp:
            href = columns.OF_BLOCK.href(block.consensus_end)
            yield "Block", format_html('<a href="{}">{}</a>', href, block.index)
        yield "In the API", _api_link(f"transactions?timestamp={timestamp.text(row.consensus_timestamp)}")

    def sections(self, row: Transaction) -> Iterator[Section | None]:
        yield _nft_transfers(row)
        yield from super().sections(row)


def _nft_transfers(row: Transaction) -> Section | None:
    """Source: transaction.nft_transfer."""
    if not row.nft_transfer:
        return None
    kinds = (
        ("token_id", "Token", columns.TOKEN),
        ("serial_number", "Serial number", columns.NUMBER),
        ("sender_account_id", "Sender", columns.ENTITY),
        ("receiver_account_id", "Receiver", columns.ENTITY),
    )
    return Section(
        title="NFT transfers",
        headers=[label for _, label, _ in kinds],
        rows=[[linked(kind, one.get(name), False) for name, _, kind in kinds] for one in row.nft_transfer],
    )


@admin.register(TransactionHash)
class TransactionHashAdmin(CompositeKeyAdmin):
    searched = ()
    search_also = "transaction hash (hex or base64)"

    def search(self, text: str) -> Iterable[Q]:
        if digest := _digest(text):
            yield of_hash(digest)

    def key_condition(self, key: str) -> Q:
        condition = super().key_condition(key)
        return condition & of_hash(bytes.fromhex(key.partition(",")[0]))


def of_hash(digest: bytes) -> Q:
    """Finds the lookup rows of a hash by the index of its partition: transaction_hash__hash."""
    indexed = RawSQL(
        "mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s",
        (digest[0] % 32, digest[:32]),
        output_field=models.BooleanField(),
    )
    return Q(indexed)


@admin.register(TransactionSignature)
class TransactionSignatureAdmin(CompositeKeyAdmin):
    shown = ("entity_id", "consensus_timestamp", "public_key_prefix", "type", "signature")


# ENTITIES

_HOLDERS = frozenset({"ACCOUNT", "CONTRACT", "UNKNOWN"})


def _of(column: str, *types: str) -> Any:
    """Rows whose column is this entity, if it is of one of these types."""
    return lambda row: {column: columns.ENTITY.text(row.id)} if not types or row.type in types else None


@admin.register(Entity)
class EntityAdmin(ReadOnlyAdmin):
    shown = ("id", "type", "balance", "memo", "created_timestamp", "evm_address", "deleted")
    searched = ("id", "type", "evm_address", "alias", "public_key")
    related = (
        Related(Token, _of("token_id", "TOKEN"), "Token"),
        Related(TokenAccount, _of("token_id", "TOKEN"), "Holders"),
        Related(Contract, _of("id", "CONTRACT"), "Contract"),
        Related(Topic, _of("id", "TOPIC"), "Topic"),
        Related(TopicMessage, _of("topic_id", "TOPIC"), "Topic messages"),
        Related(Schedule, _of("schedule_id", "SCHEDULE"), "Schedule"),
        Related(FileData, _of("entity_id", "FILE"), "File contents"),
        Related(Transaction, _of("payer_account_id", *_HOLDERS), "Transactions it paid for"),
        Related(CryptoTransfer, _of("entity_id", *_HOLDERS), "Hbar transfers"),
        Related(StakingRewardTransfer, _of("account_id", *_HOLDERS), "Staking rewards"),
        Related(TokenAccount, _of("account_id", *_HOLDERS), "Tokens it holds"),
        Related(TokenTransfer, _of("account_id", *_HOLDERS), "Token transfers"),
        Related(Nft, _of("account_id", *_HOLDERS), "NFTs it holds"),
        Related(TokenAirdrop, _of("receiver_account_id", *_HOLDERS), "Airdrops waiting for it"),
        Related(TokenAirdrop, _of("sender_account_id", *_HOLDERS), "Airdrops it sent"),
        Related(CryptoAllowance, _of("owner", *_HOLDERS), "Hbar allowances it gave"),
        Related(TokenAllowance, _of("owner", *_HOLDERS), "Token allowances it gave"),
        Related(NftAllowance, _of("owner", *_HOLDERS), "NFT allowances it gave"),
        Related(ContractResult, _of("contract_id", "CONTRACT"), "Contract results"),
        Related(ContractResult, _of("sender_id", *_HOLDERS), "Contract calls it sent"),
        Related(ContractLog, _of("contract_id", "CONTRACT"), "Contract logs"),
        Related(ContractState, _of("contract_id", "CONTRACT"), "Contract state"),
        Related(Hook, _of("owner_id", *_HOLDERS), "Hooks"),
        Related(CustomFee, _of("entity_id", "TOKEN", "TOPIC"), "Custom fees"),
        Related(EntityStake, _of("id", *_HOLDERS), "Stake"),
        Related(EntityTransaction, _of("entity_id"), "Transactions it took part in"),
        Related(EntityHistory, _of("id"), "Earlier versions"),
    )

    def search(self, text: str) -> Iterable[Q]:
        if address := _evm_address(text):
            num = entity_id.num_of_long_zero(address)
            # Index: the primary key (id), or entity__evm_address (evm_address).
            yield Q(evm_address=address) if num is None else Q(id=num)
        yield from super().search(text)

    def facts(self, row: Entity) -> Iterator[tuple[str, str]]:
        yield "Long-zero address", format_html("<code>0x{}</code>", entity_id.long_zero(row.id).hex())
        derived = alias.evm_address(bytes(row.alias)) if row.alias else None
        if derived:
            yield "Address of its alias", format_html("<code>0x{}</code>", derived.hex())


@admin.register(EntityHistory)
class EntityHistoryAdmin(CompositeKeyAdmin):
    label, one = "Entities: history", "Earlier version of"
    shown = ("id", "timestamp_range", "type", "memo", "deleted", "key")
    searched = ("id", "evm_address", "alias")


@admin.register(EntityTransaction)
class EntityTransactionAdmin(CompositeKeyAdmin):
    shown = ("entity_id", "consensus_timestamp", "type", "result", "payer_account_id")


@admin.register(CryptoTransfer)
class CryptoTransferAdmin(CompositeKeyAdmin):
    label, one = "Hbar transfers", "Hbar transfer"
    shown = ("consensus_timestamp", "entity_id", "amount", "payer_account_id", "is_approval")


@admin.register(NonFeeTransfer)
class NonFeeTransferAdmin(CompositeKeyAdmin):
    shown = ("consensus_timestamp", "entity_id", "amount", "payer_account_id", "is_approval")


@admin.register(CryptoAllowance)
class CryptoAllowanceAdmin(CompositeKeyAdmin):
    label, one = "Hbar allowances", "Hbar allowance"
    related = (Related(CryptoAllowanceHistory, same("owner", "spender"), "Earlier grants"),)


@admin.register(CryptoAllowanceHistory)
class CryptoAllowanceHistoryAdmin(CompositeKeyAdmin):
    label, one = "Hbar allowances: history", "Earlier version of"


# TOPICS, FILES, SCHEDULES


@admin.register(Topic)
class TopicAdmin(ReadOnlyAdmin):
    of_entity = True
    shown = ("id", "created_timestamp", "admin_key", "submit_key")
    related = (
        Related(TopicMessage, same(topic_id="id"), "Messages"),
        Related(CustomFee, same(entity_id="id"), "Custom fees"),
        Related(TopicHistory, same("id"), "Earlier versions"),
    )


@admin.register(TopicMessage)
class TopicMessageAdmin(CompositeKeyAdmin):
    shown = ("topic_id", "sequence_number", "consensus_timestamp", "message", "payer_account_id")


@admin.register(FileData)
class FileDataAdmin(ReadOnlyAdmin):
    label, one = "File contents", "File content"
    shown = ("consensus_timestamp", "entity_id", "transaction_type")


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    of_entity = True
    shown = (
        "schedule_id",
        "creator_account_id",
        "payer_account_id",
        "consensus_timestamp",
        "executed_timestamp",
        "expiration_time",
        "wait_for_expiry",
    )
    related = (
        Related(
            TransactionSignature,
            lambda row: {"entity_id": columns.ENTITY.text(row.schedule_id)},
            "Signatures",
        ),
    )


# THE REST


@admin.register(EntityStake)
class EntityStakeAdmin(ReadOnlyAdmin):
    of_entity = True
    label = "Entity stakes"
    related = (Related(EntityStakeHistory, same("id"), "Earlier periods"),)


@admin.register(AccountBalanceFile)
class AccountBalanceFileAdmin(ReadOnlyAdmin):
    label, one = "Balance snapshots", "Balance snapshot"
    shown = ("consensus_timestamp", "count", "name", "synthetic", "node_id")


@admin.register(AccountBalance)
class AccountBalanceAdmin(CompositeKeyAdmin):
    label, one = "Account balances at snapshots", "Account balance"


@admin.register(Prng)
class PrngAdmin(ReadOnlyAdmin):
    label, one = "Pseudorandom numbers", "Pseudorandom number of"


@admin.register(EntityStakeHistory)
class EntityStakeHistoryAdmin(CompositeKeyAdmin):
    label, one = "Entity stakes: history", "Earlier version of"


@admin.register(TopicHistory)
class TopicHistoryAdmin(CompositeKeyAdmin):
    label, one = "Topics: history", "Earlier version of"


admin.site.register((LiveHash, NetworkFreeze, ReconciliationJob), ReadOnlyAdmin)
admin.site.register((StakingRewardTransfer, TopicMessageLookup), CompositeKeyAdmin)


def _list(model: type[models.Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def _api_link(path: str) -> str:
    return format_html('<a href="/api/v1/{}">/api/v1/{}</a>', path, path)


def _with_dashes(text: str) -> str:
    """A transaction id as wallets write it, 0.0.1234@1700000000.000000001, in the form of the API."""
    payer, at, start = text.partition("@")
    return f"{payer}-{start.replace('.', '-')}" if at else text


def _digest(text: str) -> bytes | None:
    """A hash of 32 or 48 bytes in hex or base64."""
    try:
        digest = hexes.parse(text)
    except hexes.InvalidHex:
        try:
            digest = b64decode(text, validate=True)
        except ValueError:
            return None
    return digest if len(digest) in (32, 48) else None


def _evm_address(text: str) -> bytes | None:
    try:
        address = hexes.parse(text)
    except hexes.InvalidHex:
        return None
    return address if len(address) == alias.EVM_ADDRESS_LENGTH else None


# CUSTOM FEES


@admin.register(CustomFee)
class CustomFeeAdmin(ReadOnlyAdmin):
    of_entity = True
    related = (Related(CustomFeeHistory, same("entity_id"), "Earlier fee schedules"),)
    shown = ("entity_id", "timestamp_range", "fixed_fees", "fractional_fees", "royalty_fees")


@admin.register(CustomFeeHistory)
class CustomFeeHistoryAdmin(CompositeKeyAdmin):
    label, one = "Custom fees: history", "Earlier version of"
