"""The rows of one file: its transactions by the handlers, its sidecars, and the block itself."""

import re
import time
from contextlib import suppress
from functools import partial
from typing import Any

from ledger import models
from ledger.archive.originals import StoredBytes
from ledger.ingest import IngestError, RecoverableError
from ledger.ingest.filters import InvalidFilter, TransactionFilters
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import GENESIS, entity_of, essential_steps, load_handlers, steps
from ledger.stream.block import block_file
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.record_item import RecordItem
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, logs
from mirror.core.values import entity_id, log_bloom, timestamp
from mirror.core.values.entity_id import OutOfRangeEntityId
from mirror.core.values.hapi import transaction_types
from mirror.core.values.hapi.result_codes import INVALID_ID
from mirror.models import SkippedTransaction

log = logs.logger(__name__)

_DIGEST_SHA384 = 0

SKIP = "importer.parser.skip"

# Fields that may be absent from a block: their columns are null or unchanged. Without any other, no row.
_OPTIONAL = frozenset({"amount", "newTotalSupply"})

_NANOSECONDS = re.compile(r"[0-9]{11,19}")


class FileRows:
    """Adds files to batches, with the transactions and rows that the settings choose, none before `start`."""

    def __init__(self, start: int = timestamp.MIN) -> None:
        self._selection = TransactionFilters(start)
        self.reads_sidecars: bool = config.value("importer.parser.record.sidecar.enabled")
        self._stored_bytes = StoredBytes.from_settings()
        load_handlers()
        self._before, self._handlers, self._after = steps()
        self._essential = essential_steps()
        self._skipped_fields = _skipped_fields()

    def add(
        self, batch: Batch, source: StreamFile, file: RecordFile, *, index: int, load_start: int
    ) -> list[RecordItem]:
        """Add the block `index`, and return its transactions within the dates. Errors: IngestError."""
        self._attach_sidecars(batch, source, file)
        batch.begin_file(file.items)
        if file.version >= block_file.VERSION:
            complete_blooms(batch, file)
        if not file.ordered and file.version < block_file.VERSION:
            _warn_unordered(batch, file)
        if file.genesis:
            for work in GENESIS:
                work(file.genesis, file.consensus_start, batch)
        items = self._selection.in_date_range(file.items)
        for item in items:
            self.add_item(batch, file.name, item)
        stored = self._stored_bytes.record_file_bytes(file)
        _add_block(batch, file, stored, index=index, count=len(items), load_start=load_start)
        return items

    def _attach_sidecars(self, batch: Batch, source: StreamFile, file: RecordFile) -> None:
        by_timestamp: dict[int, list[Any]] = {}
        for metadata in file.sidecars:
            count = size = stored = None
            if self.reads_sidecars:
                sidecar = file.sidecar_files.get(metadata.id) or source.sidecar(metadata)
                count, size = len(sidecar.records), sidecar.size
                stored = self._stored_bytes.sidecar_bytes(sidecar)
                for consensus_timestamp, record in sidecar.records:
                    by_timestamp.setdefault(consensus_timestamp, []).append(record)
            batch.insert(
                models.SidecarFile,
                consensus_end=file.consensus_end,
                id=metadata.id,
                name=metadata.name,
                hash=metadata.hash,
                hash_algorithm=_DIGEST_SHA384,
                types=list(metadata.types),
                # Null when the sidecar was not read.
                count=count,
                size=size,
                bytes=stored,
            )
        if by_timestamp:
            for item in file.items:
                item.sidecar_records = by_timestamp.get(item.consensus_timestamp, [])

    def add_item(self, batch: Batch, file: str, item: RecordItem) -> None:
        """Add the rows of a transaction of a file. Errors: StreamFileError, IngestError."""
        if batch.mentioned is not None:
            batch.mentioned = set()
        try:
            if item.consensus_timestamp in self._skipped_fields:
                self._skip(batch, file, item)
                return
            item.entity_id = entity_of(item, batch)
            if isinstance(item.entity_id, OutOfRangeEntityId):
                _warn_out_of_range(item, batch, item.entity_id)
            if not self._selection.everything and not self._selection.includes(item):
                return
            for step in self._before:
                step(item, batch)
            if item.absent and (missing := item.absent - _OPTIONAL):
                batch.recoverable(item, f"it is skipped, as its block lacks {', '.join(sorted(missing))}")
            else:
                for handler in self._handlers[item.successful].get(item.transaction_type, ()):
                    handler(item, batch)
            for step in self._after:
                step(item, batch)
        except StreamFileError:
            raise
        except RecoverableError as error:
            raise IngestError(
                file,
                _item_name(item),
                str(error),
                "Turn importer.parser.haltOnError off to go on without what this would have changed.",
            ) from error
        except Exception as error:
            raise IngestError(
                file,
                _item_name(item),
                f"cannot be turned into rows: {type(error).__name__}: {error}",
                "Please report this file: it is intact, and this is a defect of the node. To go on with only "
                "the hbar transfers of this transaction, name it by "
                f"{config.lookup(SKIP).variable}={timestamp.text(item.consensus_timestamp)}.",
            ) from error

    def _skip(self, batch: Batch, file: str, item: RecordItem) -> None:
        """Store the transaction and its hbar transfers, without its type's handlers."""
        with suppress(Exception):
            item.entity_id = entity_of(item, batch)
        for step in self._essential:
            step(item, batch)
        batch.insert(
            SkippedTransaction,
            consensus_timestamp=item.consensus_timestamp,
            type=item.transaction_type,
            file=file,
        )
        log.warning(
            "transaction_skipped",
            file=file,
            consensus_timestamp=item.consensus_timestamp,
            type=transaction_types.name(item.transaction_type),
        )


# BLOCK


def _add_block(
    batch: Batch, file: RecordFile, stored: bytes | None, *, index: int, count: int, load_start: int
) -> None:
    """Rows: record_file; its presence says that the whole file is stored.

    `count` is the number of transactions stored; the totals are those of all. Load times are ms.
    """
    totals = file.block_totals()
    major, minor, patch = file.hapi_version or (None, None, None)
    software_major, software_minor, software_patch = file.software_version or (major, minor, patch)
    batch.add_block(
        name=file.name,
        load_start=load_start,
        load_end=time.time_ns() // 1_000_000,
        hash=file.hash,
        **previous_hashes(file),
        wrapped_record_block_hash=bytes.fromhex(file.wrapper.hash) if file.wrapper else None,
        consensus_start=file.consensus_start,
        consensus_end=file.consensus_end,
        count=count,
        digest_algorithm=_DIGEST_SHA384,
        hapi_version_major=major,
        hapi_version_minor=minor,
        hapi_version_patch=patch,
        software_version_major=software_major,
        software_version_minor=software_minor,
        software_version_patch=software_patch,
        version=file.version,
        file_hash=file.file_hash,
        bytes=stored,
        index=index,
        gas_used=totals.gas_used,
        logs_bloom=totals.logs_bloom,
        size=file.size,
        sidecar_count=len(file.sidecars),
        round_start=file.round_start,
        round_end=file.round_end,
    )


def previous_hashes(file: RecordFile) -> dict[str, Any]:
    """Return the columns of `record_file` that chain a file to the one before."""
    wrapper_hash = file.previous_wrapper_hash
    return {
        "prev_hash": file.previous_hash,
        "previous_wrapped_record_block_hash": bytes.fromhex(wrapper_hash) if wrapper_hash else None,
    }


# WORDS


def _item_name(item: RecordItem) -> str:
    """Return the item's position in its file, its time and its type."""
    at, kind = item.consensus_timestamp, transaction_types.name(item.transaction_type)
    return f"transaction {item.index} at {timestamp.text(at)} ({kind})"


def _skipped_fields() -> frozenset[int]:
    """Return the consensus timestamps (ns) to skip. Errors: InvalidFilter."""
    texts = config.value(SKIP)
    try:
        return frozenset(
            int(text) if _NANOSECONDS.fullmatch(text) else timestamp.parse(text) for text in texts
        )
    except timestamp.InvalidTimestamp as error:
        raise InvalidFilter(f"{config.lookup(SKIP).variable}: {error}.") from None


def _warn_unordered(batch: Batch, file: RecordFile) -> None:
    """Note that transactions are not in the order of time. Errors: IngestError if problems stop."""
    problem = "the first transaction is not the first in time, or the last one not the last"
    try:
        batch.recoverable(file.items[0], problem)
    except RecoverableError as error:
        raise IngestError(
            file.name,
            _item_name(file.items[0]),
            problem,
            "Turn importer.parser.haltOnError off to load it all the same, with the times as they are.",
        ) from error


def _warn_out_of_range(item: RecordItem, batch: Batch, entity: OutOfRangeEntityId) -> None:
    """Note an id out of range that the network did not refuse; code of contracts may name anything."""
    if item.result in INVALID_ID:
        return
    if entity.kind == "contract":
        batch.warning(item, entity.problem)
    else:
        batch.recoverable(item, entity.problem)


_ADDRESS_LENGTH = 20


def complete_blooms(batch: Batch, file: RecordFile) -> None:
    """Add missing blooms before the batch is written. Call it before the items become rows."""
    incomplete = [
        result
        for item in file.items
        if item.from_block and item.result_field is not None
        for result in (getattr(item.record, item.result_field),)
        if any(not log.bloom for log in result.logInfo)
    ]
    if not incomplete:
        return
    addresses: dict[int, dict[str, Any]] = {}
    for result in incomplete:
        for log in result.logInfo:
            contract = entity_id.from_contract(log.contractID)
            if not log.bloom and contract not in addresses:
                address = addresses[contract] = {"evm": entity_id.long_zero(contract)}
                batch.evm_addresses.fill(address, "evm", contract)
    batch.complete_block(partial(_complete, file, incomplete, addresses))


def _complete(
    file: RecordFile, incomplete: list[Any], addresses: dict[int, dict[str, Any]], block: dict[str, Any]
) -> None:
    for result in incomplete:
        for log in result.logInfo:
            if not log.bloom:
                address = addresses[entity_id.from_contract(log.contractID)]["evm"]
                log.bloom = log_bloom.create_bloom(address.rjust(_ADDRESS_LENGTH, b"\0"), log.topic)
        result.bloom = log_bloom.union(log.bloom for log in result.logInfo)
    block["logs_bloom"] = file.block_totals().logs_bloom
