"""The items of a block: header; rounds of events, transactions and state changes; footer; proofs.

A transaction is a signed_transaction followed by its transaction_result, transaction_output and trace_data
items and the state_changes of its consensus timestamp. Without a result it is the network's own (such as a
signature of the state) and not one of the ledger. The inner transactions of a batch are only in the batch's
body: a result without a signed_transaction belongs to the next of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from ledger.stream.block.record_messages import Records
from ledger.stream.block.state_after import genesis_state
from ledger.stream.block.tree import PREFIXED_SINCE, BlockTree
from ledger.stream.errors import StreamFileError, damaged
from ledger.stream.record_file import GenesisState
from ledger.stream.record_item import HapiVersion
from mirror.core.values import timestamp
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import (
    Block,
    BlockItem,
    DecodeError,
    SignedTransaction,
    StateChanges,
    TransactionBody,
)
from mirror.core.values.hashes import SHA_384_LENGTH

_ITEMS = Block.ITEMS_FIELD_NUMBER
_SHA2_384 = 0  # enum BlockHashAlgorithm
# Of these the serialized value is taken.
_UNPARSED = frozenset(("signed_transaction", "state_changes", "transaction_result", "record_file"))
_CHANGED_AT = StateChanges.CONSENSUS_TIMESTAMP_FIELD_NUMBER << 3 | wire.LENGTH_DELIMITED
_NUMBERS = {field.name: field.number for field in BlockItem.DESCRIPTOR.fields}
# The first byte of an item of one field -> the name of the field, and its class if it is parsed.
_FIELDS: dict[int, tuple[str, Any]] = {
    field.number << 3 | wire.LENGTH_DELIMITED: (
        field.name,
        None if field.name in _UNPARSED else GetMessageClass(field.message_type),
    )
    for field in BlockItem.DESCRIPTOR.fields
    if field.number < 16
}
# A serialized transaction without these bytes is no batch.
_BATCH = wire.length_delimited(TransactionBody.ATOMIC_BATCH_FIELD_NUMBER, b"")[:-1]
# Blocks that are not whole have these; what was left out may have changed the ledger.
_FILTERED_ITEMS = frozenset(("filtered_single_item", "redacted_item"))


@dataclass(slots=True)
class BlockTransaction:
    """One transaction with the network's items about it; `position` is where the first of them starts.

    `signed` is the serialized SignedTransaction, `result` a message of `record_messages`; the lists hold
    TransactionOutput, TraceData, and serialized StateChanges: most transactions need nothing of these.
    """

    position: int
    signed: bytes
    result: Any = None
    outputs: list[Any] = field(default_factory=list)
    traces: list[Any] = field(default_factory=list)
    serialized_changes: list[bytes] = field(default_factory=list)

    @property
    def state_changes(self) -> Iterator[Any]:
        """The StateChange messages. Errors: DecodeError."""
        for each in self.serialized_changes:
            yield from messages.parse(StateChanges, each).state_changes


@dataclass(slots=True)
class BlockContent:
    """A block, read: its messages, its transactions that have a result, and the tree of its hash.

    `rounds` are the numbers of its rounds; `record_file` is the serialized RecordFileItem of a block that
    wraps one; `changed_at` the time (ns) of the last state changes that belong to no transaction. `proof` is
    the first of its `proofs`. `first_changes` are StateChange messages of the network's first block that
    belong to no transaction.
    """

    name: str
    header: Any = None
    footer: Any = None
    proofs: list[Any] = field(default_factory=list)
    transactions: list[BlockTransaction] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    record_file: bytes | None = None
    changed_at: int | None = None
    first_changes: list[Any] = field(default_factory=list)
    tree: BlockTree = field(default_factory=BlockTree)

    @property
    def proof(self) -> Any:
        return self.proofs[0] if self.proofs else None

    @property
    def hapi_version(self) -> HapiVersion:
        version = self.header.hapi_proto_version
        return version.major, version.minor, version.patch

    @property
    def prefixed(self) -> bool:
        """The root hash is of the newer generation."""
        return self.record_file is not None or self.hapi_version >= PREFIXED_SINCE

    def genesis_state(self) -> GenesisState | None:
        """Return what the network begins with, None of a later block. Errors: StreamFileError."""
        if not self.first_changes:
            return None
        of_transactions = chain(*(each.state_changes for each in self.transactions))
        try:
            return genesis_state(self.first_changes, of_transactions)
        except ValueError as error:
            raise damaged(self.name, str(error)) from error

    def root_hash(self) -> bytes:
        return self.tree.root(*self.time_and_footer)

    @property
    def time_and_footer(self) -> tuple[bytes, tuple[bytes, bytes, bytes]]:
        """The serialized time of the header, and the hashes of the footer in field order."""
        footer = self.footer
        return self.header.block_timestamp.SerializeToString(), (
            footer.previous_block_root_hash,
            footer.root_hash_of_all_block_hashes_tree,
            footer.start_of_block_state_root_hash,
        )


def read_items(name: str, content: bytes) -> BlockContent:
    """Read a block. Errors: StreamFileError."""
    reader = BlockReader(name)
    position = 0
    try:
        for position, value, end in wire.elements(content, _ITEMS):
            reader.add(position, content[value:end])
    except DecodeError as error:
        raise StreamFileError(
            name, position, f"the content cannot be parsed ({error})", "Fetch it from another node."
        ) from error
    return reader.finish(len(content))


class BlockReader:
    """Reads a block item by item. `name` is what errors call it until its number is known."""

    def __init__(self, name: str) -> None:
        #: What has been read so far; the last of its transactions may go on.
        self.block = BlockContent(name)
        self._add_leaf = self.block.tree.add
        self._parsers, self._expected = _FIRST, "a block_header"
        self._results = Records().records
        self._position = 0
        self._current: BlockTransaction | None = None  # the transaction whose items are being read
        # The signed transactions that may be batches.
        self._unscanned: list[bytes] = []
        self._inner: Iterator[bytes] = iter(())

    def add(self, position: int, serialized: bytes) -> None:
        """Add an item that starts at a position. Errors: StreamFileError, DecodeError."""
        self._position = position
        kind, value = _parsed(serialized)
        take = self._parsers.get(kind)
        if take is None:
            raise self._unexpected(kind)
        take(self, value)
        self._add_leaf(kind, serialized)

    def finish(self, length: int) -> BlockContent:
        """Return the block of this length. Errors: StreamFileError if it is not whole."""
        block = self.block
        for part in ("header", "footer", "proof"):
            if getattr(block, part) is None:
                raise damaged(block.name, f"the block has no {part}", length)
        if block.record_file is not None and (block.transactions or block.rounds):
            raise self._failure("a block that wraps a record file holds nothing else")
        block.transactions = [each for each in block.transactions if each.result is not None]
        block.tree.begin(prefixed=block.prefixed)
        return block

    def _unexpected(self, name: str) -> StreamFileError:
        if name in _FILTERED_ITEMS:
            return self._failure(f"the block has a {name} in place of an item that was left out")
        return self._failure(f"the block goes on with {name or 'an unknown item'}, not with {self._expected}")

    def _failure(self, cause: str) -> StreamFileError:
        return damaged(self.block.name, cause, self._position)

    def _block_header(self, header: Any) -> None:
        if header.hash_algorithm != _SHA2_384:
            raise self._failure(f"its hash algorithm is {header.hash_algorithm}, not {_SHA2_384} (SHA2-384)")
        if not header.HasField("block_timestamp"):
            raise self._failure("its header has no block timestamp")
        self.block.header = header
        self._parsers, self._expected = _BEFORE_PROOF, "an item of a round or a block_footer"
        if self.block.prefixed:
            self.block.tree.begin(prefixed=True)

    def _block_footer(self, footer: Any) -> None:
        for what, digest in footer.ListFields():
            if len(digest) != SHA_384_LENGTH:
                raise self._failure(f"{what.name} has {len(digest)} bytes, not {SHA_384_LENGTH}")
        if len(footer.ListFields()) != len(footer.DESCRIPTOR.fields):
            raise self._failure("the footer lacks a hash")
        self.block.footer = footer
        self._parsers, self._expected = _PROOFS, "a block_proof"

    def _block_proof(self, proof: Any) -> None:
        self.block.proofs.append(proof)

    def _round_header(self, header: Any) -> None:
        self._current = None
        if header.round_number > timestamp.MAX:
            raise self._failure(f"its round number {header.round_number} does not fit 63 bits")
        self.block.rounds.append(header.round_number)

    def _event_header(self, header: Any) -> None:
        self._current = None

    def _record_file(self, record_file: bytes) -> None:
        if self.block.record_file is not None:
            raise self._failure("a block that wraps a record file holds nothing else")
        self.block.record_file = record_file

    def _signed_transaction(self, signed: bytes) -> BlockTransaction:
        self._current = BlockTransaction(self._position, signed)
        if _BATCH in signed:
            self._unscanned.append(signed)
        self.block.transactions.append(self._current)
        return self._current

    def _transaction_result(self, content: bytes) -> None:
        result = self._results.add()
        result.MergeFromString(content)
        if not result.HasField("consensusTimestamp"):
            raise self._failure("the transaction_result has no consensus timestamp")
        at = self._current
        if at is None or at.result is not None:
            at = self._signed_transaction(self._next_of_batch())
        at.result = result

    def _next_of_batch(self) -> bytes:
        """Return the next inner transaction of the last batch before."""
        while self._unscanned:
            body = messages.parse(
                TransactionBody, SignedTransaction.FromString(self._unscanned.pop()).bodyBytes
            )
            if inner := list(body.atomic_batch.transactions):
                self._inner = iter(inner)
                self._unscanned.clear()
        signed = next(self._inner, None)
        if signed is None:
            raise self._failure("the transaction_result belongs to no transaction")
        return signed

    def _transaction_output(self, output: Any) -> None:
        self._with_result("transaction_output").outputs.append(output)

    def _trace_data(self, trace: Any) -> None:
        self._with_result("trace_data").traces.append(trace)

    def _with_result(self, name: str) -> BlockTransaction:
        if self._current is None or self._current.result is None:
            raise self._failure(f"the {name} follows no transaction_result")
        return self._current

    def _state_changes(self, content: bytes) -> None:
        current, block = self._current, self.block
        if current is not None and current.result is not None and block.header.number:
            # Nearly all begin with the time of their transaction.
            time = current.result.consensusTimestamp.SerializeToString()
            if content.startswith(b"%c%c%b" % (_CHANGED_AT, len(time), time)):
                current.serialized_changes.append(content)
                return
        changes = messages.parse(StateChanges, content)
        if current and current.result and changes.consensus_timestamp == current.result.consensusTimestamp:
            current.serialized_changes.append(content)
            return
        self._current = None
        block.changed_at = timestamp.to_ns(changes.consensus_timestamp)
        if block.header.number == 0:
            block.first_changes.extend(changes.state_changes)


# What takes an item of each kind: first, then up to the footer, and after it.
_Parsers = Mapping[str, Callable[[BlockReader, Any], object]]
_FIRST: _Parsers = {"block_header": BlockReader._block_header}
_BEFORE_PROOF: _Parsers = {
    "round_header": BlockReader._round_header,
    "event_header": BlockReader._event_header,
    "signed_transaction": BlockReader._signed_transaction,
    "transaction_result": BlockReader._transaction_result,
    "transaction_output": BlockReader._transaction_output,
    "trace_data": BlockReader._trace_data,
    "state_changes": BlockReader._state_changes,
    "record_file": BlockReader._record_file,
    "block_footer": BlockReader._block_footer,
}
_PROOFS: _Parsers = {"block_proof": BlockReader._block_proof}


def _parsed(serialized: bytes) -> tuple[str, Any]:
    """Return the kind of a BlockItem, "" if unknown, and its value, parsed or not. Errors: DecodeError."""
    parser = _FIELDS.get(serialized[0]) if serialized else None
    if parser is not None:
        size = len(serialized)
        # Nearly all lengths have one byte.
        length, start = (serialized[1], 2) if 1 < size < 130 else wire.varint(serialized, 1, size)
        if start + length == size:
            name, message_class = parser
            content = serialized[start:]
            return name, content if message_class is None else messages.parse(message_class, content)
    item = messages.parse(BlockItem, serialized)
    name = item.WhichOneof("item") or ""
    if name in _UNPARSED:
        return name, wire.last_bytes(serialized, _NUMBERS[name])
    return name, getattr(item, name) if name else None
