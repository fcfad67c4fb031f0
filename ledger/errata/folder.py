"""The files of a folder with errata.

- `*.bin`: transactions that the stream lacks. For each a 4-byte length and the record (TransactionRecord),
  then a 4-byte length and the transaction (Transaction), in either order.
- `*.pb`: the same as one RecordStreamItem.
- `accounts.txt`: accounts from before the first file, an AccountInfo in base64 on each line.
- `contracts.txt`: ids of contracts from before the first file, one on each line.
- `balance_offsets.txt`: times of balance files that are 1 ns late, one on each line.

Any of them may be compressed (`.gz`), and lie in a folder below.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ledger.stream.binary_format import MAX_MESSAGE, Reader
from ledger.stream.errors import StreamFileError
from ledger.stream.record_item import InvalidItem, RecordItem
from mirror.core.config.setting import OperatorError
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import (
    CryptoGetInfoResponse,
    DecodeError,
    RecordStreamItem,
    Transaction,
    TransactionRecord,
)
from mirror.core.values.hashes import sha384

_CURE = "Fetch it again, or leave it out."

Value = TypeVar("Value")


class MissingTransaction(NamedTuple):
    """A transaction that the stream lacks, and the file that has it."""

    file: str
    item: RecordItem


def check(folder: Path) -> None:
    """Raise OperatorError if the folder has no errata."""
    if not folder.is_dir():
        raise OperatorError(f"There is no folder {folder} with errata: name one that has their files.")
    named = ("*.bin", "*.pb", "accounts.txt", "contracts.txt", "balance_offsets.txt")
    if not any(True for name in named for _ in _files(folder, name)):
        raise OperatorError(
            f"The folder {folder} has no errata: no *.bin or *.pb with transactions, no accounts.txt, "
            "no contracts.txt and no balance_offsets.txt."
        )


def missing_transactions(folder: Path) -> list[MissingTransaction]:
    """Return the transactions in the order of their times, each once. Errors: StreamFileError."""
    by_timestamp: dict[int, MissingTransaction] = {}
    for path, start, first, second in _pairs(folder):
        item = _item(path, start, second, first) or _item(path, start, first, second)
        if item is None:
            cause = "there is no transaction with the hash that its record names"
            raise StreamFileError(path.name, start, cause, _CURE)
        by_timestamp[item.consensus_timestamp] = MissingTransaction(path.name, item)
    return [by_timestamp[time] for time in sorted(by_timestamp)]


def _pairs(folder: Path) -> Iterator[tuple[Path, int, bytes, bytes]]:
    """Yield file, position, and record and transaction in either order. Errors: StreamFileError."""
    for path in _files(folder, "*.bin"):
        reader = Reader(path.name, _content(path))
        while not reader.at_end:
            start = reader.position
            yield path, start, reader.blob("record", MAX_MESSAGE), reader.blob("transaction", MAX_MESSAGE)
    for path in _files(folder, "*.pb"):
        try:
            item = messages.parse(RecordStreamItem, _content(path))
        except DecodeError as error:
            raise StreamFileError(path.name, 0, f"it is no RecordStreamItem ({error})", _CURE) from error
        yield path, 0, item.record.SerializeToString(), item.transaction.SerializeToString()


def _item(path: Path, start: int, transaction: bytes, record: bytes) -> RecordItem | None:
    """Return the item, None if the record is not that of the transaction. Errors: StreamFileError."""
    try:
        parsed = messages.parse(Transaction, transaction)
        parsed_record = messages.parse(TransactionRecord, record)
    except DecodeError:
        return None
    hashed = parsed.signedTransactionBytes or transaction
    if parsed_record.transactionHash != sha384(hashed):
        return None
    try:
        return RecordItem(0, parsed, parsed_record, serialized=(transaction, record))
    except (DecodeError, InvalidItem) as error:
        raise StreamFileError(path.name, start, str(error), _CURE) from error


def accounts(folder: Path) -> Iterator[Any]:
    """Yield the AccountInfo of each account from before the first file. Errors: StreamFileError."""
    yield from _lines(folder, "accounts.txt", _account)


def contracts(folder: Path) -> set[int]:
    """Return the contracts (encoded ids) from before the first file. Errors: StreamFileError."""
    return set(_lines(folder, "contracts.txt", entity_id.parse))


def late_balance_files(folder: Path) -> set[int]:
    """Return the times (ns) of the balance files that are 1 ns late. Errors: StreamFileError."""
    return set(_lines(folder, "balance_offsets.txt", _time))


def _account(text: str) -> Any:
    return messages.parse(CryptoGetInfoResponse.AccountInfo, base64.b64decode(text, validate=True))


def _time(text: str) -> int:
    """Return a time as nanoseconds, `seconds.nanos`, or as names of balance files have it."""
    name = text.partition("_Balances")[0].replace("_", ":")
    if name.isdigit() and int(name) > timestamp.NANOS_PER_SECOND**2 // 10:
        return int(name)
    return timestamp.parse_iso(name) if "T" in name else timestamp.parse(name)


def _lines(folder: Path, name: str, parse: Callable[[str], Value]) -> Iterator[Value]:
    for path in _files(folder, name):
        position = 0
        for line in _content(path).split(b"\n"):
            text = line.decode(errors="replace").strip()
            if text and not text.startswith("#"):
                try:
                    yield parse(text)
                except (ValueError, binascii.Error, DecodeError) as error:
                    cause = f"the line {text[:60]!r} can't be read ({error})"
                    raise StreamFileError(path.name, position, cause, _CURE) from error
            position += len(line) + 1


def _files(folder: Path, name: str) -> list[Path]:
    return sorted([*folder.rglob(name), *folder.rglob(f"{name}.gz")])


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return zlib.decompress(data, 16 + zlib.MAX_WBITS)
    except zlib.error as error:
        raise StreamFileError(path.name, 0, f"broken gzip data ({error})", _CURE) from error
