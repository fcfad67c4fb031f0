"""Stored rows that loading needs: entities by their names, EVM addresses, and the content of files.

Source: entity (rows that are not deleted), file_data, and what batches that are not committed yet have
created. All is as of the item being read, so that nothing depends on when batches are committed.
"""

from typing import Any, NamedTuple

from cachetools import LRUCache
from django.db.backends.utils import CursorWrapper

from ledger.file_content import content_parts
from mirror.core import config
from mirror.core.db import statements
from mirror.core.values import alias as aliases
from mirror.core.values import entity_id, hexadecimal
from mirror.core.values.hapi.transaction_types import NUMBERS

CACHE_SIZE = 100_000


class EntityLookup:
    """Resolves ids of protobuf AccountID and ContractID messages; 0 is unknown, absent or out of range."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, bytes], int] = LRUCache(CACHE_SIZE)
        self._deleted: set[int] = set()

    def account(self, account: Any) -> int:
        """Resolve an AccountID by number, by EVM address (a 20-byte alias) or by alias."""
        if account.WhichOneof("account") != "alias":
            return entity_id.from_account(account)
        alias = account.alias
        if len(alias) == aliases.EVM_ADDRESS_LENGTH:
            return self.evm_address(alias)
        entity = self._find("alias", alias)
        if not entity and (derived := aliases.evm_address(alias)):
            entity = self.evm_address(derived)
        return entity

    def contract(self, contract: Any) -> int:
        if contract.WhichOneof("contract") != "evm_address":
            return entity_id.from_contract(contract)
        return self.evm_address(contract.evm_address)

    def evm_address(self, address: bytes) -> int:
        """Resolve an EVM address: by the number in a long-zero address, any other by the tables."""
        number = entity_id.num_of_long_zero(address)
        if number is not None:
            return config.own_id(number) if number else 0
        return self._find("evm_address", address)

    def cache(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        """Let later items find an entity that is not committed yet."""
        self._deleted.discard(entity)
        if alias:
            self._known["alias", alias] = entity
        if evm_address:
            self._known["evm_address", evm_address] = entity

    def delete(self, entity: int) -> None:
        """Let later items no longer find an entity by its alias or EVM address."""
        self._deleted.add(entity)

    def clear(self) -> None:
        """Forget everything after a batch was not committed: the entities it created may not exist."""
        self._known.clear()
        self._deleted.clear()

    def _find(self, column: str, value: bytes) -> int:
        key = (column, value)
        known = self._known.get(key)
        if known is not None:
            return 0 if known in self._deleted else known
        stored = self._stored(column, value)
        if not stored or stored in self._deleted:
            return 0
        self._known[key] = stored
        return stored

    def _stored(self, column: str, value: bytes) -> int:
        statement = f"select id from entity where {column} = %s and deleted <> true order by id limit 1"
        return statements.value(statement, [value]) or 0


class EvmAddresses:
    """The accounts of one batch whose address is wanted."""

    def __init__(self) -> None:
        self._created: dict[int, bytes] = {}
        self._wanted: list[tuple[dict[str, Any], str, int]] = []

    def created(self, entity: int, evm_address: bytes) -> None:
        """Note the address of an entity that the item being read creates."""
        self._created.setdefault(entity, evm_address)

    def fill(self, row: dict[str, Any], column: str, account: int) -> None:
        """Set `column` of an inserted row to the account's address without leading zeros, if it has one."""
        address = self._created.get(account)
        if address is None:
            self._wanted.append((row, column, account))
        else:
            row[column] = address.lstrip(b"\0")

    def write(self, cursor: CursorWrapper) -> None:
        """Fill in the stored addresses, before anything of the batch is written."""
        if not self._wanted:
            return
        addresses = self._addresses(cursor, {account for _, _, account in self._wanted})
        for row, column, account in self._wanted:
            row[column] = addresses.get(account, row[column])

    def _addresses(self, cursor: CursorWrapper, accounts: set[int]) -> dict[int, bytes]:
        cursor.execute(
            "select id, evm_address from entity where id = any(%s) and evm_address is not null",
            [list(accounts)],
        )
        return {entity: bytes(address).lstrip(b"\0") for entity, address in cursor.fetchall()}


_MAX_CONTENTS = 100

_CREATE, _UPDATE = NUMBERS["FILECREATE"], NUMBERS["FILEUPDATE"]
_MAX_SYSTEM_NUM = 999

_STORED_PARTS = content_parts("and consensus_timestamp < %s", "and f.consensus_timestamp < %s")


class Chunk(NamedTuple):
    """The bytes one transaction put into a file; a row of file_data."""

    consensus_timestamp: int
    transaction_type: int
    data: bytes

    @property
    def starts(self) -> bool:
        """The content begins here; an update without content changes nothing."""
        return self.transaction_type == _CREATE or (self.transaction_type == _UPDATE and bool(self.data))


class FileContents:
    """Contents of user files; system files (up to number 999) never hold code or call data."""

    def __init__(self) -> None:
        self._read: dict[int, list[Chunk]] = {}
        self._writing: dict[int, list[Chunk]] = {}
        self._decoded: LRUCache[int, bytes | None] = LRUCache(_MAX_CONTENTS)

    def add(self, file: int, chunk: Chunk) -> None:
        """Note a row of file_data that the item being read adds."""
        if not _is_user_file(file):
            return
        self._read.setdefault(file, []).append(chunk)
        self._decoded.pop(file, None)

    def decoded(self, file: int, timestamp: int) -> bytes | None:
        """Return the bytes that a user file holds in hex, as of a consensus timestamp; None if unknown."""
        if not _is_user_file(file):
            return None
        if file not in self._decoded:
            content = self._content(file, timestamp)
            self._decoded[file] = None if content is None else _decode_hex(content)
        return self._decoded[file]

    def submitted(self) -> None:
        """Note that the batch at hand is handed to the writer; the one before it is committed."""
        self._writing, self._read = self._read, {}

    def clear(self) -> None:
        self._read, self._writing = {}, {}
        self._decoded.clear()

    def _content(self, file: int, timestamp: int) -> bytes | None:
        chunks = [*self._writing.get(file, ()), *self._read.get(file, ())]
        starts = [index for index, chunk in enumerate(chunks) if chunk.starts]
        if starts:
            return b"".join(chunk.data for chunk in chunks[starts[-1] :])
        stored = self._stored(file, chunks[0].consensus_timestamp if chunks else timestamp)
        return b"".join([*stored, *(chunk.data for chunk in chunks)]) if stored else None

    def _stored(self, file: int, before: int) -> list[bytes]:
        """Return the stored parts of the content before a time (ns)."""
        return [bytes(part) for part, _ in statements.rows(_STORED_PARTS, [file, before, file, before])]


def _is_user_file(file: int) -> bool:
    return entity_id.decode(file)[2] > _MAX_SYSTEM_NUM


def _decode_hex(content: bytes) -> bytes | None:
    try:
        return hexadecimal.parse(content.decode("ascii"))
    except (UnicodeDecodeError, hexadecimal.InvalidHex):
        return None
