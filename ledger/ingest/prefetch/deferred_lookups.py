"""Lookups of a file that is read ahead, before the files before it are stored.

They are answered from what is stored by then, and every question is noted. An answer counts when no file
between has touched what it was about; otherwise the file is read again in its turn.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Set
from itertools import count

from cachetools import LRUCache
from django.db.backends.utils import CursorWrapper

from ledger.ingest.lookup.entities import EntityLookup
from ledger.ingest.lookup.evm_addresses import EvmAddresses
from ledger.ingest.lookup.file_contents import Chunk, FileContents

# An alias or EVM address (bytes), an entity whose address or deletion matters (number), or a file.
Question = Hashable
ENTITIES_REMEMBERED = 100_000
# Readers outlive a run, and must not take the batches of one for those of another.
_RUNS, _BATCHES_OF_A_RUN = count(), 1 << 32


def about_file(file: int) -> Question:
    return "file", file


class DirtyKeys:
    """What each batch has touched that is not known to be committed, or was committed not long ago."""

    def __init__(self) -> None:
        self._current: set[Question] = set()
        self._submitted: deque[tuple[int, set[Question]]] = deque()
        # The batches that are stored: the answers of a reader that is asked now know them.
        self.committed = self._number = next(_RUNS) * _BATCHES_OF_A_RUN

    def add(self, questions: Iterable[Question]) -> None:
        """Note what the file being taken changes."""
        self._current.update(questions)

    def submit(self) -> None:
        """The batch being read goes to the writer."""
        self._number += 1
        self._submitted.append((self._number, self._current))
        self._current = set()

    def commit(self) -> None:
        """All batches that went to the writer are stored."""
        self.committed = self._number

    def forget(self, before: int) -> None:
        """Forget the batches that every answer to come knows."""
        while self._submitted and self._submitted[0][0] <= before:
            self._submitted.popleft()

    def since(self, committed: int, questions: Set[Question]) -> bool:
        """Tell if something asked about was touched after the first `committed` batches."""
        if not questions.isdisjoint(self._current):
            return True
        return any(
            number > committed and not questions.isdisjoint(touched) for number, touched in self._submitted
        )


class PrefetchedEntities(EntityLookup):
    """Entities as they are stored, and those that the file being read creates."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: set[Question] = set()
        # What the file did: entity, its alias and EVM address, and whether it is deleted.
        self.changes: list[tuple[int, bytes | None, bytes | None, bool]] = []
        self._answers: LRUCache[tuple[str, bytes], int] = LRUCache(ENTITIES_REMEMBERED)

    def begin_file(self, *, anew: bool) -> None:
        """Forget the file before; `anew` forgets the answers, too, as more is stored by now."""
        self.forget()
        self.questions, self.changes = set(), []
        if anew:
            self._answers.clear()

    def remember(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        super().remember(entity, alias=alias, evm_address=evm_address)
        self.changes.append((entity, alias, evm_address, False))

    def delete(self, entity: int) -> None:
        super().delete(entity)
        self.changes.append((entity, None, None, True))

    def _stored(self, column: str, value: bytes) -> int:
        key = (column, value)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = super()._stored(column, value)
        self.questions.add(value)
        if answer:
            self.questions.add(answer)
        return answer


class PrefetchedEvmAddresses(EvmAddresses):
    """The EVM addresses of accounts of one file, as they are stored; an address never changes."""

    def __init__(self, known: dict[int, bytes], without: set[int], questions: set[Question]) -> None:
        """`known` are addresses that were read before, `without` accounts that had none."""
        super().__init__()
        self._known, self._without, self._questions = known, without, questions

    def _addresses(self, cursor: CursorWrapper, accounts: set[int]) -> dict[int, bytes]:
        unknown = accounts - self._known.keys() - self._without
        if unknown:
            self._known.update(super()._addresses(cursor, unknown))
            self._without |= unknown - self._known.keys()
        self._questions |= accounts & self._without
        return self._known


class PrefetchedFileContents(FileContents):
    """Contents of files as they are stored, and the chunks of the file being read."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: set[Question] = set()
        self.chunks: list[tuple[int, Chunk]] = []

    def begin_file(self, questions: set[Question]) -> None:
        self.forget()
        self.questions, self.chunks = questions, []

    def add(self, file: int, chunk: Chunk) -> None:
        super().add(file, chunk)
        self.chunks.append((file, chunk))

    def _stored(self, file: int, before: int) -> list[bytes]:
        self.questions.add(about_file(file))
        return super()._stored(file, before)
