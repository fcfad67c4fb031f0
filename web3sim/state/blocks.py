"""The `block` of a request: its text, the block it selects, and what the EVM sees of that block.

Source: record_file, whose block number is `index`; the EVM sees the first 64 of the 96 digits of a hash. The
chain id is the setting `web3.evm.network`, with AUTO the property contracts.chainId of file 0.0.121, and
TESTNET where that is not known; as all system files it is read as of now for every block.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from ledger.queries.chain_ids import read_chain_id
from mirror.core import config
from mirror.core.db.reading.sql import MAX_INT64, Row
from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import BlockEnvironment, NotSupported
from web3sim.state.cache import Absent, caches
from web3sim.state.database import Reading

MAINNET_CHAIN_ID = 295
_CHAIN_IDS = {"MAINNET": MAINNET_CHAIN_ID, "TESTNET": 296, "PREVIEWNET": 297, "OTHER": 298}


def chain_id() -> int:
    """Errors: psycopg.Error."""
    configured = _CHAIN_IDS.get(config.value("web3.evm.network"))
    if configured is not None:
        return configured
    cached: int = caches().system_files.get_or_put("chain id", _read_chain_id)
    return cached


def _read_chain_id() -> int:
    return read_chain_id() or _CHAIN_IDS["TESTNET"]


WORD = 32
NO_HASH = bytes(WORD)

_LATEST = frozenset({"", "latest", "pending", "safe", "finalized"})
_EARLIEST = "earliest"
_DECIMAL = re.compile(r"[0-9]{1,20}")
_HEX = re.compile(r"0[xX]([0-9a-fA-F]{1,16})")
_HASH = re.compile(r"0[xX]([0-9a-fA-F]{64}|[0-9a-fA-F]{96})")

_COINBASE_NUM = 98

_HASHES_PER_READ = 256
_MAX_HASH_READS = 100

_COLUMNS = "index, hash, consensus_start, consensus_end"


class InvalidBlock(ValueError):
    """A text that is no block, or a number of more than 63 bits; the message says which."""


class UnknownBlock(Exception):
    """`Unknown block number`: no stored block has the number or the hash, or none is stored."""

    def __init__(self) -> None:
        super().__init__("Unknown block number")


class BlockSelector(NamedTuple):
    """The block that a `block` selects: by number or beginning of a hash (lower case), earliest or latest."""

    number: int | None = None
    hash: str | None = None
    earliest: bool = False


LATEST = BlockSelector()


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A record file; times in ns."""

    number: int
    hash: bytes
    consensus_start: int
    consensus_end: int


class SelectedBlock(NamedTuple):
    """A block to run a call in, on the state at `state_time` (ns); None is the current state."""

    block: StoredBlock
    state_time: int | None

    def environment(self, gas_limit: int) -> BlockEnvironment:
        return BlockEnvironment(
            number=self.block.number,
            timestamp=self.block.consensus_start // NANOS_PER_SECOND,
            coinbase=entity_id.long_zero(_COINBASE_NUM),
            prevrandao=self.block.hash[:WORD],
            gas_limit=gas_limit,
            chain_id=chain_id(),
        )


def parse_block(text: str | None) -> BlockSelector:
    """Read the text of a `block`. Errors: InvalidBlock.

    Names in any case, numbers of up to 20 decimal or 16 hex digits, hashes of 32 or 48 bytes; nothing and
    None are the latest.
    """
    name = (text or "").lower()
    if name in _LATEST:
        return LATEST
    assert text is not None
    if name == _EARLIEST:
        return BlockSelector(earliest=True)
    if (hash_ := _HASH.fullmatch(text)) is not None:
        return BlockSelector(hash=hash_[1].lower())
    if (digits := _HEX.fullmatch(text)) is not None:
        return _selector_of_number(int(digits[1], 16), f"Hex value out of range for block: {text}")
    if _DECIMAL.fullmatch(text):
        return _selector_of_number(int(text), f"Decimal value out of range for block: {text}")
    raise InvalidBlock(f"Invalid block value: {text}")


def _selector_of_number(number: int, message: str) -> BlockSelector:
    if number > MAX_INT64:
        raise InvalidBlock(message)
    return BlockSelector(number=number)


def find_block(selector: BlockSelector, reading: Reading) -> SelectedBlock:
    """Return the stored block of a selector.

    Errors: UnknownBlock; those of `reading`.
    """
    # The latest block has the current state; by its number, the same block has the state at its end.
    is_latest = selector == LATEST
    block: StoredBlock | None = caches().blocks.get_or_put(selector, lambda: _read(selector, reading))
    if block is None:
        raise UnknownBlock
    return SelectedBlock(block, None if is_latest else block.consensus_end)


def block_at(timestamp: int, reading: Reading) -> StoredBlock | None:
    """The block a transaction of this time is in; None if it isn't stored."""
    # Index: the primary key (consensus_end).
    row = reading.fetch_one(
        f"select {_COLUMNS} from record_file where consensus_end >= %s order by consensus_end limit 1",
        (timestamp,),
    )
    block = _stored(row)
    return block if block is not None and block.consensus_start <= timestamp else None


class BlockHashes:
    """The hashes of blocks for one call.

    BLOCKHASH costs next to nothing, a statement does not: one reads 256 hashes, which the process remembers
    when all of them are stored, and a call makes only so many.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        # By the first of the numbers that are read together.
        self._hashes: dict[int, bytes] = {}
        self._reads = 0

    def get(self, number: int) -> bytes:
        """The first 32 bytes of the hash of a block; zeros if it is not stored. Errors: NotSupported."""
        first = number - number % _HASHES_PER_READ
        hashes = self._hashes.get(first)
        if hashes is None:
            cached = caches().block_hashes.get(first)
            hashes = self._hashes[first] = self._read(first) if isinstance(cached, Absent) else cached
        start = (number - first) * WORD
        return hashes[start : start + WORD]

    def _read(self, first: int) -> bytes:
        self._reads += 1
        if self._reads > _MAX_HASH_READS:
            blocks = _MAX_HASH_READS * _HASHES_PER_READ
            raise NotSupported(f"A call may read the hashes of up to {blocks:,} blocks")
        stored = block_hashes(first, first + _HASHES_PER_READ - 1, self._reading)
        hashes = b"".join(stored.get(first + index, NO_HASH) for index in range(_HASHES_PER_READ))
        if len(stored) == _HASHES_PER_READ:
            caches().block_hashes.put(first, hashes)
        return hashes


def block_hashes(first: int, last: int, reading: Reading) -> dict[int, bytes]:
    """Return 32 bytes of the hash of each block that is stored between two numbers."""
    # Index: record_file__index (index).
    rows = reading.fetch("select index, hash from record_file where index between %s and %s", (first, last))
    return {number: bytes.fromhex(hash_text)[:WORD] for number, hash_text in rows}


def _read(selector: BlockSelector, reading: Reading) -> StoredBlock | None:
    # Indexes: record_file__index (index), record_file__hash (hash). A range of hashes, as a LIKE of a
    # parameter can't use it; g comes after all hex digits.
    condition = ""
    values: tuple[int | str, ...] = ()
    if selector.number is not None:
        condition, values = "where index = %s", (selector.number,)
    elif selector.hash is not None:
        condition, values = "where hash >= %s and hash < %s", (selector.hash, selector.hash + "g")
    direction = "asc" if selector.earliest else "desc"
    return _stored(
        reading.fetch_one(
            f"select {_COLUMNS} from record_file {condition} order by index {direction} limit 1", values
        )
    )


def _stored(row: Row | None) -> StoredBlock | None:
    if row is None:
        return None
    number, hash_text, start, end = row
    return StoredBlock(number, bytes.fromhex(hash_text), start, end)
