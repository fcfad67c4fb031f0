"""The binary forms of record and signature files: integers, blobs, hash objects and running hashes."""

from collections.abc import Callable, Iterable
from struct import Struct
from typing import NamedTuple

from ledger.stream.errors import StreamFileError
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

HASH_CLASS_ID = 0xF422DA83A251741E
HASH_CLASS_VERSION = 1
RECORD_CLASS_ID = 0xE370929BA5429D8B
RECORD_CLASS_VERSION = 1
SHA_384_DIGEST_TYPE = 0x58FF811B

MAX_MESSAGE = 65_536  # of a transaction or record in formats 1, 2 and 5


class HashObject(NamedTuple):
    """A hash and its serialized form."""

    hash: bytes
    serialized: bytes


class Reader:
    """A position in the content of a file. Every read advances it, or fails with a StreamFileError."""

    __slots__ = ("content", "file", "position")

    def __init__(self, file: str, content: bytes) -> None:
        self.file = file
        self.content = content
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.content)

    def failure(self, cause: str, position: int | None = None, cure: str = "") -> StreamFileError:
        return StreamFileError(self.file, self.position if position is None else position, cause, cure)

    def take(self, length: int, name: str) -> bytes:
        end = self.position + length
        if end > len(self.content):
            missing = end - len(self.content)
            raise self.failure(f"the file ends inside the {name}: {missing} of {length} bytes are missing")
        taken = self.content[self.position : end]
        self.position = end
        return taken

    def byte(self, name: str) -> int:
        return self.take(1, name)[0]

    def int32(self, name: str) -> int:
        return int.from_bytes(self.take(4, name), "big", signed=True)

    def uint32(self, name: str) -> int:
        return int.from_bytes(self.take(4, name), "big")

    def uint64(self, name: str) -> int:
        return int.from_bytes(self.take(8, name), "big")

    def begins_with(self, number: int) -> bool:
        """Return whether the next eight bytes are a number, without advancing."""
        return self.content[self.position : self.position + 8] == number.to_bytes(8, "big")

    def expect(self, read: Callable[[str], int], expected: int, name: str, container: str = "") -> None:
        """Require the next number, which `read` reads; `inside` names it where the file ends in it."""
        start = self.position
        actual = read(container or name)
        if actual != expected:
            raise self.failure(f"the {name} is {actual:#x}, not {expected:#x}", start)

    def blob(self, name: str, maximum: int) -> bytes:
        """Read an int32 length (1 to `maximum`) and that many bytes."""
        start = self.position
        length = self.int32(f"length of the {name}")
        if not 1 <= length <= maximum:
            raise self.failure(f"the {name} is {length} bytes long, not 1 to {maximum}", start)
        return self.take(length, name)

    def hash_object(self, name: str) -> HashObject:
        """Read a serialized hash (68 bytes): class id, class version, digest type, length, hash."""
        start = self.position
        self.expect(self.uint64, HASH_CLASS_ID, f"class id of the {name}", name)
        self.expect(self.uint32, HASH_CLASS_VERSION, f"class version of the {name}", name)
        self.expect(self.uint32, SHA_384_DIGEST_TYPE, f"digest type of the {name}", name)
        self.expect(self.uint32, SHA_384_LENGTH, f"length of the {name}", name)
        hash_bytes = self.take(SHA_384_LENGTH, name)
        return HashObject(hash_bytes, self.content[start : self.position])

    def finish(self) -> None:
        if not self.at_end:
            raise self.failure(f"{len(self.content) - self.position} bytes follow the end of the file")


_RECORD_HEAD = Struct(">Qii")
_LENGTH = Struct(">i")
_HASH_HEAD = Struct(">QiIi").pack(HASH_CLASS_ID, HASH_CLASS_VERSION, SHA_384_DIGEST_TYPE, SHA_384_LENGTH)
# Where hashes are hashed, nodes write these numbers with the least significant byte first.
_HASHED_HEAD = Struct("<Qi").pack(HASH_CLASS_ID, HASH_CLASS_VERSION)


def stream_object(record_bytes: bytes, transaction_bytes: bytes) -> bytes:
    """Return a transaction with its record as format 5 has it, and as both formats hash it."""
    head = _RECORD_HEAD.pack(RECORD_CLASS_ID, RECORD_CLASS_VERSION, len(record_bytes))
    return b"".join((head, record_bytes, _LENGTH.pack(len(transaction_bytes)), transaction_bytes))


def hash_object(digest: bytes) -> bytes:
    """Return a running hash as format 5 has it (68 bytes)."""
    return _HASH_HEAD + digest


def running_hash(previous: bytes, record_bytes: bytes, transaction_bytes: bytes) -> bytes:
    return after_hashes(previous, (sha384(stream_object(record_bytes, transaction_bytes)),))


def after_hashes(previous: bytes, hashes: Iterable[bytes]) -> bytes:
    """Return the running hash after items, of which only the hashes of their stream objects are known."""
    for digest in hashes:
        previous = sha384(_HASHED_HEAD + previous + _HASHED_HEAD + digest)
    return previous
