"""Files: what they hold, and every change of it."""

from dataclasses import dataclass, field

CREATE, UPDATE, APPEND = "FILECREATE", "FILEUPDATE", "FILEAPPEND"


@dataclass(frozen=True, slots=True)
class Change:
    """What one transaction put into a file (file_data). `kind` is the name of its type."""

    consensus_timestamp: int
    kind: str
    contents: bytes


@dataclass(slots=True)
class File:
    """A file. `keys` is a serialized KeyList; `owner` is who changes it."""

    number: int
    created: int
    owner: int
    keys: bytes
    memo: str = ""
    expiration: int | None = None
    deleted: bool = False
    changes: list[Change] = field(default_factory=list)

    @property
    def contents(self) -> bytes:
        """What it holds: its last beginning, and what was appended since. An update without contents leaves
        it as it is.
        """
        parts: list[bytes] = []
        for change in self.changes:
            if change.kind != APPEND and (change.contents or change.kind == CREATE):
                parts = []
            parts.append(change.contents)
        return b"".join(parts)
