"""The items of a block: header; rounds of events, transactions and state changes; footer; proofs.

A transaction is a signed_transaction followed by its transaction_result, transaction_output and trace_data
items and the state_changes of its consensus timestamp. Without a result it is the network's own (such as a
signature of the state) and not one of the ledger. The inner transactions of a batch are only in the batch's
body: a result without a signed_transaction belongs to the next of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ledger.stream.block.tree import PREFIXED_SINCE, BlockTree
from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import HapiVersion
from mirror.values import hapi, timestamp, wire
from mirror.values.hapi import Block, BlockItem, DecodeError, SignedTransaction, TransactionBody
from mirror.values.hashes import SHA_384_LENGTH

_ITEMS = Block.ITEMS_FIELD_NUMBER
_SHA2_384 = 0  # enum BlockHashAlgorithm
_BEFORE_PROOF = frozenset(
    ("round_header", "event_header", "signed_transaction", "transaction_result", "transaction_output",
     "trace_data", "state_changes", "record_file", "block_footer")
)  # fmt: skip


@dataclass(slots=True)
class BlockTransaction:
    """One transaction with the network's items about it; `position` is where the first of them starts.

    `signed` is the serialized SignedTransaction; the lists hold TransactionOutput, TraceData, StateChange.
    """

    position: int
    signed: bytes
    result: Any = None
    outputs: list[Any] = field(default_factory=list)
    traces: list[Any] = field(default_factory=list)
    state_changes: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class BlockContent:
    """A block, read: its messages, its transactions that have a result, and the tree of its hash.

    `rounds` are the numbers of its rounds; `record_file` is the serialized RecordFileItem of a block that
    wraps one; `changed_at` the time (ns) of the last state changes that belong to no transaction.
    """

    name: str
    header: Any = None
    footer: Any = None
    proof: Any = None
    transactions: list[BlockTransaction] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    record_file: bytes | None = None
    changed_at: int | None = None
    tree: BlockTree = field(default_factory=BlockTree)

    @property
    def hapi_version(self) -> HapiVersion:
        version = self.header.hapi_proto_version
        return version.major, version.minor, version.patch

    @property
    def prefixed(self) -> bool:
        """The root hash is of the newer generation."""
        return self.record_file is not None or self.hapi_version >= PREFIXED_SINCE

    def root_hash(self) -> bytes:
        footer = self.footer
        return self.tree.root(
            self.header.block_timestamp.SerializeToString(),
            (
                footer.previous_block_root_hash,
                footer.root_hash_of_all_block_hashes_tree,
                footer.start_of_block_state_root_hash,
            ),
            prefixed=self.prefixed,
        )


def read_items(name: str, content: bytes) -> BlockContent:
    """Errors: StreamFileError."""
    reader = BlockReader(name)
    position = 0
    try:
        for element in wire.fields(content):
            position = element.start
            if element.number != _ITEMS or element.wire_type != wire.LENGTH_DELIMITED:
                raise DecodeError(f"field {element.number} is unknown")
            reader.add(element.start, content[element.value : element.end])
    except DecodeError as error:
        raise StreamFileError(
            name, position, f"the content cannot be parsed ({error})", "Fetch it from another node."
        ) from error
    return reader.finish(len(content))


class BlockReader:
    """Reads a block item by item. `name` is what errors call it until its number is known."""

    def __init__(self, name: str) -> None:
        self._block = BlockContent(name)
        self._position = 0
        self._at: BlockTransaction | None = None  # the transaction whose items are being read
        self._unscanned: list[BlockTransaction] = []
        self._inner: Iterator[bytes] = iter(())

    def add(self, position: int, serialized: bytes) -> None:
        """Add an item that starts at a position. Errors: StreamFileError, DecodeError."""
        self._position = position
        item = hapi.parse(BlockItem, serialized)
        kind = item.WhichOneof("item")
        block = self._block
        if block.header is None:
            self._expect(kind == "block_header", kind, "a block_header")
            self._header(item.block_header)
        elif block.footer is None:
            self._expect(kind in _BEFORE_PROOF, kind, "an item of a round or a block_footer")
            getattr(self, f"_{kind}")(getattr(item, kind))
            if kind == "record_file":
                block.record_file = _value(serialized)
        else:
            self._expect(kind == "block_proof", kind, "a block_proof")
            block.proof = block.proof or item.block_proof
        block.tree.add(kind, serialized)

    def finish(self, length: int) -> BlockContent:
        """Return the block of this length. Errors: StreamFileError if it is not whole."""
        block = self._block
        for part in ("header", "footer", "proof"):
            if getattr(block, part) is None:
                raise StreamFileError(
                    block.name, length, f"the block has no {part}", "Fetch it again, or from another node."
                )
        block.transactions = [each for each in block.transactions if each.result is not None]
        return block

    def _expect(self, holds: bool, kind: str | None, wanted: str) -> None:
        if not holds:
            raise self._failure(f"the block goes on with {kind or 'an unknown item'}, not with {wanted}")

    def _failure(self, cause: str) -> StreamFileError:
        return StreamFileError(
            self._block.name, self._position, cause, "Fetch it again, or from another node."
        )

    def _header(self, header: Any) -> None:
        if header.hash_algorithm != _SHA2_384:
            raise self._failure(f"its hash algorithm is {header.hash_algorithm}, not {_SHA2_384} (SHA2-384)")
        if not header.HasField("block_timestamp"):
            raise self._failure("its header has no block timestamp")
        self._block.header = header

    def _block_footer(self, footer: Any) -> None:
        for what, digest in footer.ListFields():
            if len(digest) != SHA_384_LENGTH:
                raise self._failure(f"{what.name} has {len(digest)} bytes, not {SHA_384_LENGTH}")
        if len(footer.ListFields()) != len(footer.DESCRIPTOR.fields):
            raise self._failure("the footer lacks a hash")
        self._block.footer = footer

    def _round_header(self, header: Any) -> None:
        self._at = None
        if header.round_number > timestamp.MAX:
            raise self._failure(f"its round number {header.round_number} does not fit 63 bits")
        self._block.rounds.append(header.round_number)

    def _event_header(self, header: Any) -> None:
        self._at = None

    def _record_file(self, record_file: Any) -> None:
        if self._block.record_file is not None or self._block.rounds:
            raise self._failure("a block that wraps a record file holds nothing else")

    def _signed_transaction(self, signed: bytes) -> None:
        self._start(signed)

    def _start(self, signed: bytes) -> BlockTransaction:
        self._at = BlockTransaction(self._position, signed)
        self._unscanned.append(self._at)
        self._block.transactions.append(self._at)
        return self._at

    def _transaction_result(self, result: Any) -> None:
        if not result.HasField("consensus_timestamp"):
            raise self._failure("the transaction_result has no consensus timestamp")
        at = self._at
        if at is None or at.result is not None:
            at = self._start(self._next_of_batch())
        at.result = result

    def _next_of_batch(self) -> bytes:
        """Return the next inner transaction of the last batch before."""
        while self._unscanned:
            inner = _inner_transactions(self._unscanned.pop().signed)
            if inner:
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

    def _with_result(self, kind: str) -> BlockTransaction:
        if self._at is None or self._at.result is None:
            raise self._failure(f"the {kind} follows no transaction_result")
        return self._at

    def _state_changes(self, changes: Any) -> None:
        at = self._at
        if at and at.result and changes.consensus_timestamp == at.result.consensus_timestamp:
            at.state_changes.extend(changes.state_changes)
            return
        self._at = None
        self._block.changed_at = timestamp.of(changes.consensus_timestamp)


def _inner_transactions(signed: bytes) -> list[bytes]:
    """Return the serialized SignedTransactions of an atomic batch; none of any other transaction."""
    body = hapi.parse(TransactionBody, SignedTransaction.FromString(signed).bodyBytes)
    return list(body.atomic_batch.transactions)


def _value(serialized: bytes) -> bytes:
    """Return the serialized message in a BlockItem."""
    return wire.last_bytes(serialized, BlockItem.RECORD_FILE_FIELD_NUMBER)
