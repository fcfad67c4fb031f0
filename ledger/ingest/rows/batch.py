"""The batch that handlers add rows to, with the lookups they need and a place for problems."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from django.db.backends.utils import CursorWrapper

from ledger.ingest import RecoverableError
from ledger.ingest.rows.lookups import EntityLookup, EvmAddresses, FileContents
from ledger.ingest.rows.persist import Persist
from ledger.models import Entity, RecordFile, Transaction
from ledger.stream.record_item import RecordItem
from mirror.core import logs
from mirror.core.db.partitions.making import create_partitions_for
from mirror.core.db.writing.copy import column_names
from mirror.core.db.writing.rows import Rows

log = logs.logger(__name__)

# Longer than any valid alias, which is a key of 33 bytes with its tags.
MAX_ALIAS_SHOWN = 40

State = TypeVar("State")


class Batch(Rows):
    """The rows of the files that are committed together."""

    def __init__(self, lookup: EntityLookup, persist: Persist, files: FileContents) -> None:
        super().__init__()
        self.lookup = lookup
        self.files = files
        self.evm_addresses = EvmAddresses()
        self.persist = persist
        self.recoverable_errors = 0
        # All items of the file being read, also those that the settings leave out.
        self.items: Sequence[RecordItem] = ()
        # The `transaction` row of the item being read.
        self.transaction: list[Any] = []
        self._states: dict[type, Any] = {}
        self._of_block: list[Callable[[dict[str, Any]], None]] = []
        self._completions: list[Callable[[], None]] = []
        self._after_file: list[Callable[[CursorWrapper], None]] = []
        self._first: list[Callable[[CursorWrapper], None]] = []
        self._block_offset = 0
        self.mentioned: set[int] | None = set() if persist.entity_transactions else None
        self.nft_parties: set[int] = set()

    def begin_file(self, items: Sequence[RecordItem]) -> None:
        """Forget what handlers remember of the file before; called before a file's first item."""
        self.items = items
        self._states = {}

    def state(self, state_class: type[State]) -> State:
        """Return what handlers remember within the file being read: one object of each class."""
        try:
            return cast(State, self._states[state_class])
        except KeyError:
            self._states[state_class] = state = state_class()
            return state

    def after_file(self, work: Callable[[CursorWrapper], None]) -> None:
        """Do `work` in the database once all rows of the file are written, whatever the batches are."""
        self._after_file.append(work)

    def end_file(self) -> None:
        """Called after a file's last row."""
        if self._after_file:
            for work in self._after_file:
                self.barrier(work)
            self._after_file = []
        # A batch may wait long for being written, and transactions take far more memory than their rows.
        self.items = ()
        self._states = {}
        super().end_file()

    def mention(self, *entities: int) -> None:
        """Note that the item being read touches these entities (rows of entity_transaction)."""
        if self.mentioned is not None:
            self.mentioned.update(entities)

    def mention_nft_parties(self, *entities: int) -> None:
        """Note that these accounts give or get serials in the item being read."""
        self.mention(*entities)
        if self.persist.entity_nft_transactions:
            self.nft_parties.update(entities)

    def complete_block(self, work: Callable[[dict[str, Any]], None]) -> None:
        """Do `work` with the row of the block, with EVM addresses, just before the batch is written."""
        self._of_block.append(work)

    def add_block(self, **columns: Any) -> None:
        """Add the row of the block that was read (columns of `record_file`)."""
        row = self.insert(RecordFile, **columns)
        self._complete_later(row)

    def _complete_later(self, block: dict[str, Any]) -> None:
        self._completions += [partial(work, block) for work in self._of_block]
        self._of_block = []

    def shift_blocks(self, offset: int) -> None:
        """Add `offset` to the number of every block so far, stored or in this batch."""
        if offset:
            self._block_offset += offset
            for row in self.inserted(RecordFile):
                row["index"] += offset

    def begin_with(self, work: Callable[[CursorWrapper], None]) -> None:
        """Do `work` in the database before any row of the batch is written."""
        self._first.append(work)

    def write(self, cursor: CursorWrapper) -> None:
        create_partitions_for(self.days)
        for work in self._first:
            work(cursor)
        if self._block_offset:
            cursor.execute("update record_file set index = index + %s", [self._block_offset])
            cursor.execute(
                "update loaded_range set first_block = first_block + %s, last_block = last_block + %s",
                [self._block_offset, self._block_offset],
            )
        self.complete(cursor)
        super().write(cursor)

    def complete(self, cursor: CursorWrapper) -> None:
        self.evm_addresses.write(cursor)
        for work in self._completions:
            work()
        self._completions = []

    def amend_transaction(self, column: str, value: Any) -> None:
        self.transaction[column_names(Transaction).index(column)] = value

    def change_entity(self, item: RecordItem, **columns: Any) -> None:
        """Add the version of an entity that a transaction makes (columns of `entity`); none for id 0."""
        if not columns["id"] or (not self.persist.entity_history and "created_timestamp" not in columns):
            return
        self.set_entity(item.consensus_timestamp, **columns)

    def set_entity(self, since: int, **columns: Any) -> None:
        """Add a version of an entity since a time (ns), and remember the names it has from then on."""
        entity = columns["id"]
        if columns.get("deleted"):
            self.lookup.delete(entity)
        else:
            evm_address = columns.get("evm_address")
            self.lookup.cache(entity, alias=columns.get("alias"), evm_address=evm_address)
            if evm_address:
                self.evm_addresses.created(entity, evm_address)
        self.upsert(Entity, since=since, **columns)

    def account(self, item: RecordItem, account: Any, role: str) -> int | None:
        """Return the account of an AccountID, also by alias; 0 for none, None and a problem if unknown."""
        entity = self.lookup.account(account)
        if not entity and account.WhichOneof("account") == "alias":
            self.recoverable(item, f"the {role} is not known: alias {account.alias[:MAX_ALIAS_SHOWN].hex()}")
            return None
        return entity

    def warning(self, item: RecordItem, problem: str) -> None:
        self.note(item.consensus_timestamp, problem, recoverable=False)

    def recoverable(self, item: RecordItem, problem: str) -> None:
        """Count and log a problem of one item. Errors: RecoverableError when the operator wants to stop."""
        if self.persist.halt_on_error:
            raise RecoverableError(problem)
        self.note(item.consensus_timestamp, problem, recoverable=True)

    def note(self, timestamp: int, problem: str, *, recoverable: bool) -> None:
        """Log what is odd about the item of a time (ns); count it if it is a problem."""
        if recoverable:
            self.recoverable_errors += 1
            log.error("recoverable_problem", consensus_timestamp=timestamp, reason=problem)
        else:
            log.warning("anomaly", consensus_timestamp=timestamp, reason=problem)
