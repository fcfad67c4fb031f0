"""The blocks of a network in its folder of a bucket, by their numbers."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ledger.stream import block_names
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError


class BlockFolder(Mapping[int, bytes]):
    """Serialized blocks below the folder of a network, as of the last look; other files are ignored."""

    def __init__(self, folder: Path) -> None:
        self._network = folder
        self._found: list[int] | None = None

    def refresh(self) -> None:
        """Find the blocks that are there now.

        Once some are found, only their ends are looked at: blocks come one after another, the oldest go.
        """
        found = self._found or []
        while found and not self.path(found[0]).is_file():
            del found[0]
        if not found:
            found = self._all()
        while found and found[0] and self.path(found[0] - 1).is_file():
            found.insert(0, found[0] - 1)
        while found and self.path(found[-1] + 1).is_file():
            found.append(found[-1] + 1)
        self._found = found

    def _all(self) -> list[int]:
        """Return the numbers of the blocks in all folders, in order."""
        paths = (self._network / block_names.FOLDER).rglob(f"*{block_names.EXTENSION}.zstd")
        return sorted(number for path in paths if (number := self._number_of(path)) is not None)

    def _number_of(self, path: Path) -> int | None:
        try:
            number = block_names.parse(path.as_posix()).number
        except StreamFileError:
            return None
        return number if path == self.path(number) else None

    def path(self, number: int) -> Path:
        return self._network / block_names.in_bucket(number)

    def delete_files(self, retained: int, last: int) -> None:
        """Remove the blocks up to the number `last`, but not the last `retained` of all."""
        past = [number for number in self._numbers[: max(0, len(self) - retained)] if number <= last]
        for number in past:
            self.path(number).unlink(missing_ok=True)
        self._found = self._numbers[len(past) :]

    def __getitem__(self, number: int) -> bytes:
        path = self.path(number)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise KeyError(number) from error
        return content_of(block_names.parse(path.as_posix()), data)

    @property
    def _numbers(self) -> list[int]:
        if self._found is None:
            self.refresh()
        return self._found or []

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
