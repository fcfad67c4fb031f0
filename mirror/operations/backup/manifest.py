"""The manifest of a backup or a snapshot: what it holds, of which node, and the digests of its files.

It is written last: a folder with `manifest.json` is a complete one.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import orjson

from mirror.core.config.setting import OperatorError
from mirror.core.processes.files import write_atomic
from mirror.core.values.timestamp import MAX, MIN, NANOS_PER_DAY
from mirror.upgrade.tables import LEDGER_APPS

FORMAT = 2
# Files of format 1 were made by COPY alone, up to this release.
_LAST_OF_FORMAT_1 = "1.0.0"
MANIFEST = "manifest.json"
#: The archive of pg_dump, a folder.
ARCHIVE = "dump"
#: The files of the demo network from which it goes on.
DEMO = "demo-stream.tar.zst"

# No path leads out of the folder, and names need no quoting in statements.
_FILE_NAME, _NAME = re.compile(rf"({ARCHIVE}/)?[\w-][\w.-]*"), re.compile(r"\w+")
# A thousand times the manifest of a backup of a billion transactions.
_MAX_BYTES = 1 << 30
_CENTURY = 100 * 366 * NANOS_PER_DAY

# Sessions and failed logins, the state of a process, the archive: a restored node has others.
_NOT_IN_BACKUPS, _TABLES_NOT_IN_BACKUPS = {"axes", "sessions"}, {"archive_location", "loader_state"}
# Of the project's own tables, those that describe the ledger rather than this node.
_IN_SNAPSHOTS = {
    "backfill", "dropped_rows", "loaded_errata", "loaded_range", "skipped_transaction", "stored_network",
}  # fmt: skip


class DamagedBackup(OperatorError):
    """A file of a backup is missing or not as it was written; the message names it."""


@dataclass(frozen=True)
class Kind:
    """A kind of folder, the commands that write and load it, and which tables it has, by app and name."""

    name: str
    writes: str
    loads: str
    includes: Callable[[str, str], bool]


def _in_backup(app: str, table: str) -> bool:
    return app not in _NOT_IN_BACKUPS and table not in _TABLES_NOT_IN_BACKUPS


def _in_snapshot(app: str, table: str) -> bool:
    return app in LEDGER_APPS or (app == "mirror" and table in _IN_SNAPSHOTS)


BACKUP = Kind("backup", "backup", "restore", _in_backup)
SNAPSHOT = Kind("snapshot", "snapshot save", "snapshot load", _in_snapshot)
_KINDS = {kind.name: kind for kind in (BACKUP, SNAPSHOT)}


@dataclass(frozen=True)
class BackupFile:
    """A file with rows of one table, as compressed text of COPY; `table` is empty for other files."""

    name: str
    table: str
    rows: int
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        if not _FILE_NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a file of a backup.")
        _check_numbers(self.rows, self.bytes)


@dataclass(frozen=True)
class Block:
    number: int
    consensus_end: int
    hash: str


@dataclass(frozen=True)
class BackupTable:
    """A table: the columns that its files have, and its rows."""

    columns: list[str]
    rows: int

    def __post_init__(self) -> None:
        if not all(map(_NAME.fullmatch, self.columns)) or len({*self.columns}) < len(self.columns):
            raise ValueError(f"{self.columns} are no names of columns.")
        _check_numbers(self.rows)


@dataclass(frozen=True)
class Manifest:
    network: str
    release: str
    made: str
    postgresql: str
    block: Block | None
    database_bytes: int
    migrations: list[tuple[str, str]]
    tables: dict[str, BackupTable]
    files: list[BackupFile]
    settings: dict[str, str]
    # The archive's table of contents: for pg_restore alone, as it has statements.
    contents: BackupFile | None = None
    demo: BackupFile | None = None
    format: int = FORMAT
    kind: str = BACKUP.name
    # The times of the first and the last block (ns).
    times: tuple[int, int] | None = None
    # A snapshot's alone: the rows of loaded_range, and the entities that it is limited to.
    ranges: list[dict[str, Any]] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)

    @property
    def all_files(self) -> list[BackupFile]:
        return [*self.files, *([self.contents] if self.contents else []), *([self.demo] if self.demo else [])]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.all_files)

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())

    @property
    def digest(self) -> str:
        return content_digest(asdict(self))

    @property
    def folder_kind(self) -> Kind:
        return _KINDS[self.kind]

    def write(self, folder: Path) -> None:
        """Make the folder a complete one."""
        content = asdict(self) | {"sha256": self.digest}
        write_atomic(folder / MANIFEST, json.dumps(content, indent=1).encode())

    @classmethod
    def read(cls, folder: Path, kind: Kind = BACKUP) -> Self:
        """Return a folder's manifest. Errors: DamagedBackup, OperatorError if there is no complete one."""
        path = folder / MANIFEST
        if not path.is_file():
            raise OperatorError(f"There is no complete {kind.name} in {folder}: it has no {MANIFEST}.")
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise ValueError
            # Unlike that of the standard library, this parser has a limit of nesting.
            content = orjson.loads(path.read_bytes())
            if content["format"] > FORMAT:
                raise OperatorError(
                    f"The {kind.name} in {folder} was made by a newer release ({content['release']}) and "
                    "can't be read by this one: install that release."
                )
            if content["format"] < FORMAT:
                raise OperatorError(
                    f"The {kind.name} in {folder} has the format of release {_LAST_OF_FORMAT_1} and earlier: "
                    f"load it with release {_LAST_OF_FORMAT_1}, and start this one on the same database."
                )
            if content.pop("sha256") != content_digest(content):
                raise ValueError
            manifest = cls(**_typed(content))
            actual = manifest.folder_kind
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DamagedBackup(
                f"The file {path} is damaged: use another {kind.name}, or another copy of this one."
            ) from None
        if actual != kind:
            # A snapshot is given to others, so it may be a backup that is called a snapshot.
            caution = "; restore it only if it is yours, as it also has accounts" if actual == BACKUP else ""
            raise OperatorError(
                f"The folder {folder} has a {actual.name}: `manage.py {actual.loads} {folder}` takes it"
                f"{caution}."
            )
        return manifest

    def damaged(self, folder: Path, file: BackupFile, how: str) -> DamagedBackup:
        return DamagedBackup(
            f"The file {folder / file.name} of the {self.kind} {how}: use another {self.kind}, or another "
            "copy of this one."
        )

    def check_sizes(self, folder: Path) -> None:
        """Check that every file exists and has its length. Errors: DamagedBackup."""
        for file in self.all_files:
            path = folder / file.name
            if path.resolve() != folder.resolve() / file.name:
                raise self.damaged(folder, file, "is a link to another file")
            if not path.is_file():
                raise self.damaged(folder, file, "is missing")
            if (size := path.stat().st_size) != file.bytes:
                raise self.damaged(folder, file, f"has {size:,} bytes, not {file.bytes:,}")

    def check_content(self, folder: Path, file: BackupFile) -> None:
        """Check that a file has the content that was written. Errors: DamagedBackup."""
        with (folder / file.name).open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256")
        if digest.hexdigest() != file.sha256:
            raise self.damaged(folder, file, "is damaged")


def _typed(content: dict[str, Any]) -> dict[str, Any]:
    tables = {name: BackupTable(**table) for name, table in content["tables"].items()}
    if not all(map(_NAME.fullmatch, tables)) or any(file["table"] not in tables for file in content["files"]):
        raise ValueError("A table of the backup has no name of one.")
    for name in ("network", "release", "made", "postgresql"):
        if not content[name].isprintable():
            raise ValueError(f"{name} of the backup is no text.")
    _check_numbers(content["database_bytes"])
    return content | {
        "block": Block(**content["block"]) if content["block"] else None,
        "migrations": [(app, name) for app, name in content["migrations"]],
        "tables": tables,
        "files": [BackupFile(**file) for file in content["files"]],
        "contents": BackupFile(**content["contents"]) if content["contents"] else None,
        "demo": BackupFile(**content["demo"]) if content["demo"] else None,
        "times": _times(*content["times"]) if content.get("times") else None,
        "settings": {_printable(name): _printable(text) for name, text in content["settings"].items()},
    }


def _check_numbers(*numbers: Any) -> None:
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{numbers} are no numbers of rows or bytes.")


def _times(first: int, last: int) -> tuple[int, int]:
    # Each month between them gets partitions.
    if not 0 <= last - first < _CENTURY or not MIN <= first <= last <= MAX:
        raise ValueError(f"{first} and {last} are no times of a first and a last transaction.")
    return first, last


def _printable(text: str) -> str:
    """Return a text without what moves the cursor of a terminal, or changes its colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def content_digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
