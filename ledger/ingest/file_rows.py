"""One record file -> rows of a batch: its transactions by the handlers, its sidecars, the block itself."""

import logging
import re
from contextlib import suppress
from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.block import add_block, add_sidecar
from ledger.ingest.errors import IngestError, RecoverableError
from ledger.ingest.registry import entity_of, essential_steps, load_handlers, steps
from ledger.ingest.selection import InvalidFilter, Selection
from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import RecordItem
from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.stream_file import StreamFile
from mirror import config
from mirror.models import PassedOver
from mirror.values import timestamp, transaction_types
from mirror.values.entity_id import ImpossibleId
from mirror.values.result_codes import INVALID_ID

log = logging.getLogger(__name__)

PASS_OVER = "importer.parser.passOver"

_NANOSECONDS = re.compile(r"[0-9]{11,19}")


class FileRows:
    """Adds files to batches, as the settings choose transactions and what is kept of them."""

    def __init__(self) -> None:
        self._selection = Selection()
        self.reads_sidecars: bool = config.value("importer.parser.record.sidecar.enabled")
        load_handlers()
        self._before, self._handlers, self._after = steps()
        self._essential = essential_steps()
        self._passed_over = _passed_over()

    def add(
        self, batch: Batch, source: StreamFile, file: RecordFile, *, index: int, load_start: int
    ) -> list[RecordItem]:
        """Add the block `index`; the transactions of the file that are within the dates.

        Errors: StreamFileError for a sidecar that is damaged, IngestError for a transaction.
        """
        self._attach_sidecars(batch, source, file)
        batch.begin_file()
        items = self._selection.dates_of(file.items)
        for item in items:
            self._add_item(batch, file, item)
        add_block(batch, file, index=index, count=len(items), node_id=source.node_id, load_start=load_start)
        return items

    def _attach_sidecars(self, batch: Batch, source: StreamFile, file: RecordFile) -> None:
        by_timestamp: dict[int, list[Any]] = {}
        for metadata in file.sidecars:
            count = size = None
            if self.reads_sidecars:
                sidecar = file.sidecar_files.get(metadata.id) or source.sidecar(metadata)
                count, size = len(sidecar.records), sidecar.size
                for consensus_timestamp, record in sidecar.records:
                    by_timestamp.setdefault(consensus_timestamp, []).append(record)
            add_sidecar(
                batch,
                file,
                number=metadata.id,
                name=metadata.name,
                digest=metadata.hash,
                types=list(metadata.types),
                count=count,
                size=size,
            )
        if by_timestamp:
            for item in file.items:
                item.sidecar_records = by_timestamp.get(item.consensus_timestamp, [])

    def _add_item(self, batch: Batch, file: RecordFile, item: RecordItem) -> None:
        if batch.mentioned is not None:
            batch.mentioned = set()
        try:
            if item.consensus_timestamp in self._passed_over:
                self._pass_over(batch, file, item)
                return
            item.entity_id = entity_of(item, batch)
            if isinstance(item.entity_id, ImpossibleId):
                _note_impossible(item, batch, item.entity_id)
            if not self._selection.everything and not self._selection.takes(item):
                return
            for step in self._before:
                step(item, batch)
            for handler in self._handlers[item.successful].get(item.transaction_type, ()):
                handler(item, batch)
            for step in self._after:
                step(item, batch)
        except StreamFileError:
            raise
        except RecoverableError as error:
            raise IngestError(
                file.name,
                _named(item),
                str(error),
                "Turn importer.parser.haltOnError off to go on without what this would have changed.",
            ) from error
        except Exception as error:
            raise IngestError(
                file.name,
                _named(item),
                f"cannot be turned into rows: {type(error).__name__}: {error}",
                "Please report this file: it is intact, and this is a defect of the node. To go on with no "
                "more of this transaction than its hbar transfers, name it by "
                f"{config.described(PASS_OVER).variable}={timestamp.text(item.consensus_timestamp)}.",
            ) from error

    def _pass_over(self, batch: Batch, file: RecordFile, item: RecordItem) -> None:
        """Store the transaction and its hbar transfers; what its handlers would do is left undone."""
        with suppress(Exception):
            item.entity_id = entity_of(item, batch)
        for step in self._essential:
            step(item, batch)
        batch.insert(
            PassedOver,
            consensus_timestamp=item.consensus_timestamp,
            type=item.transaction_type,
            file=file.name,
        )
        log.warning(
            "event=passed_over file=%s consensus_timestamp=%d type=%s",
            file.name,
            item.consensus_timestamp,
            transaction_types.name(item.transaction_type),
        )


def _named(item: RecordItem) -> str:
    """Where in a file an item is, when it happened, and what it is."""
    at, kind = item.consensus_timestamp, transaction_types.name(item.transaction_type)
    return f"transaction {item.index} at {timestamp.text(at)} ({kind})"


def _passed_over() -> frozenset[int]:
    """Consensus timestamps (ns), written as this node's messages or its log do. Errors: InvalidFilter."""
    texts = config.value(PASS_OVER)
    try:
        return frozenset(
            int(text) if _NANOSECONDS.fullmatch(text) else timestamp.parse(text) for text in texts
        )
    except timestamp.InvalidTimestamp as error:
        raise InvalidFilter(f"{config.described(PASS_OVER).variable}: {error}.") from None


def _note_impossible(item: RecordItem, batch: Batch, entity: ImpossibleId) -> None:
    """Tell of an entity that can't be one, unless the network refused the transaction for that very reason.

    Numbers of contracts come from the code of contracts, too, which may ask for anything.
    """
    if item.result in INVALID_ID:
        return
    if entity.kind == "contract":
        batch.warning(item, entity.problem)
    else:
        batch.recoverable(item, entity.problem)
