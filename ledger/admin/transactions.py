"""The pages of transactions, of their hashes, and of tables with a row for a single kind of transaction."""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import suppress

from django.contrib import admin
from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils.html import format_html

from ledger import models as tables
from mirror.core.admin import columns
from mirror.core.admin.addresses import api_link, list_url
from mirror.core.admin.kinds.base import InvalidText, link_html
from mirror.core.admin.lists import ColumnFilter
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.related import Related, Section, join_on
from mirror.core.values import entity_id, hexadecimal, timestamp, transaction_id
from mirror.core.values.hapi import result_codes, transaction_types

# As the indexes of failed transactions state it.
_FAILED = ~Q(result__in=sorted(result_codes.SUCCESS))


class ResultFilter(ColumnFilter):
    """The filter by the result of a transaction, or by whether it failed."""

    offered = ("FAILED", "SUCCEEDED")

    def condition(self, text: str) -> Q:
        if text.upper() == "SUCCEEDED":
            return ~_FAILED
        if text.upper() == "FAILED":
            return _FAILED
        return _result_condition(text)


def _result_condition(text: str) -> Q:
    """Return the condition that finds transactions of a result. Errors: InvalidText."""
    result = columns.kind_of(tables.Transaction, "result").lookup(text)["exact"]
    # Index: transaction__failed (consensus_timestamp), or transaction__failed_type with a type.
    return Q(result=result) if result in result_codes.SUCCESS else Q(result=result) & _FAILED


@admin.register(tables.Transaction)
class TransactionAdmin(ReadOnlyAdmin):
    list_display = (
        "consensus_timestamp", "type", "result", "payer_account_id", "entity_id", "charged_tx_fee", "memo",
        "nonce",
    )  # fmt: skip
    search_fields = ("consensus_timestamp", "payer_account_id", "type")
    global_search_fields = ("consensus_timestamp",)
    summary_columns = ("valid_start_ns",)
    input_filters = ("payer_account_id", "consensus_timestamp")
    extra_filters = {"result": ResultFilter}
    extra_search = "transaction id (0.0.1234-1700000000-000000001), transaction hash (hex or base64)"
    related = (
        Related(tables.CryptoTransfer, join_on("consensus_timestamp"), "Hbar transfers", limit=50),
        Related(tables.StakingRewardTransfer, join_on("consensus_timestamp"), "Staking rewards paid"),
        Related(tables.TopicMessage, join_on("consensus_timestamp", topic_id="entity_id"), "Topic message"),
        Related(tables.FileData, join_on("consensus_timestamp"), "File content"),
        Related(tables.Prng, join_on("consensus_timestamp"), "Pseudorandom number"),
        Related(tables.NetworkFreeze, join_on("consensus_timestamp"), "Network freeze"),
        Related(tables.Schedule, join_on(schedule_id="entity_id")),
        Related(
            tables.TransactionSignature,
            join_on("consensus_timestamp", "entity_id"),
            "Signatures of the schedule",
        ),
    )

    def row_summary(self, row: tables.Transaction) -> str:
        name, result = transaction_types.name(row.type), result_codes.name(row.result)
        return f"Transaction {name} at {timestamp.text(row.consensus_timestamp)}: {result}"

    def search(self, text: str) -> Iterable[Q]:
        yield from super().search(text)
        with suppress(InvalidText):
            yield _result_condition(text)

    def other_conditions(self, text: str) -> Iterable[Q]:
        try:
            # Index: transaction__transaction_id (valid_start_ns, payer_account_id).
            payer, start = transaction_id.parse(transaction_id.with_dashes(text))
            yield Q(valid_start_ns=start, payer_account_id=payer)
        except (transaction_id.InvalidTransactionId, entity_id.InvalidEntityId):
            pass
        if digest := _digest(text):
            rows = tables.TransactionHash.objects.filter(_hash_lookup(digest))
            yield Q(consensus_timestamp__in=list(rows.values_list("consensus_timestamp", flat=True)[:25]))

    def row_title(self, row: tables.Transaction) -> str:
        return transaction_id.text(row.payer_account_id, row.valid_start_ns)

    def facts(self, row: tables.Transaction) -> Iterator[tuple[str, str]]:
        own_id = transaction_id.text(row.payer_account_id, row.valid_start_ns)
        yield (
            "Transaction id",
            format_html('<a href="{}?q={}">{}</a>', list_url(tables.Transaction), own_id, own_id),
        )
        # Index: the primary key (consensus_end).
        ends = tables.RecordFile.objects.filter(consensus_end__gte=row.consensus_timestamp).order_by(
            "consensus_end"
        )
        block = ends.only("index", "consensus_start").first()
        if block and block.consensus_start <= row.consensus_timestamp:
            href = columns.OF_BLOCK.href(block.consensus_end)
            yield "Block", format_html('<a href="{}">{}</a>', href, block.index)
        yield "In the API", api_link(f"transactions?timestamp={timestamp.text(row.consensus_timestamp)}")

    def sections(self, row: tables.Transaction) -> Iterator[Section | None]:
        yield _nft_transfers(row)
        yield from super().sections(row)


def _nft_transfers(row: tables.Transaction) -> Section | None:
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
        "NFT transfers",
        [
            [(label, link_html(kind, transfer.get(name), False)) for name, label, kind in kinds]
            for transfer in row.nft_transfer
        ],
    )


@admin.register(tables.TransactionHash)
class TransactionHashAdmin(ReadOnlyAdmin):
    search_fields = ()
    extra_search = "transaction hash (hex or base64)"

    def search(self, text: str) -> Iterable[Q]:
        if digest := _digest(text):
            yield _hash_lookup(digest)

    def key_condition(self, key: str) -> Q:
        condition = super().key_condition(key)
        return condition & _hash_lookup(bytes.fromhex(key.partition(",")[0]))


def _hash_lookup(digest: bytes) -> Q:
    """Return the condition that finds the lookup rows of a hash by an index: transaction_hash__hash."""
    indexed = RawSQL(
        "mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s",
        (digest[0] % 32, digest[:32]),
        output_field=models.BooleanField(),
    )
    return Q(indexed)


def _digest(text: str) -> bytes | None:
    """Read a hash of 32 or 48 bytes in hex or base64; None if the text is none."""
    try:
        digest = hexadecimal.parse(text)
    except hexadecimal.InvalidHex:
        try:
            digest = b64decode(text, validate=True)
        except ValueError:
            return None
    return digest if len(digest) in (32, 48) else None
