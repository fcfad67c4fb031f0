"""Files, with every change of their contents."""

from dataclasses import dataclass, field

CREATE, UPDATE, APPEND = "FILECREATE", "FILEUPDATE", "FILEAPPEND"


@dataclass(frozen=True, slots=True)
class Change:
    """The contents that one transaction wrote to a file (file_data). `kind` is the name of its type."""

    consensus_timestamp: int
    kind: str
    contents: bytes


@dataclass(slots=True)
class File:
    """A file. `keys` is a serialized KeyList; `owner` is the account that changes it."""

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
        """Return the last create or update with contents, and what was appended since."""
        parts: list[bytes] = []
        for change in self.changes:
            if change.kind != APPEND and (change.contents or change.kind == CREATE):
                parts = []
            parts.append(change.contents)
        return b"".join(parts)
