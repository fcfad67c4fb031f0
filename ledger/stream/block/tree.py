"""Block root hashes: SHA-384 Merkle trees over the items of a block, in two generations.

Both divide the serialized items into five lists, compute a root per list, and combine these with the three
hashes of the footer and the block's time. Footer and proofs are not part of it.

  - Up to HAPI 0.70 leaves and nodes are hashed alike, and lists are padded to a power of two with H("").
- From HAPI 0.71 on a prefix byte marks leaves (0), nodes with one child (1) and with two (2), and lists are
  not padded: a node without a sibling moves up. Blocks that wrap a record file are of this generation
  whatever the HAPI version of that file.

The HAPI version in the block's header tells the generation. The next block confirms the hash, as its footer
repeats it; so does the proof, where nodes sign by the bare hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger.stream.record.item import HapiVersion
from mirror.values.hashes import SHA_384_LENGTH, sha384

PREFIXED_SINCE: HapiVersion = (0, 71, 0)

_LEAF, _SINGLE, _NODE = b"\0", b"\1", b"\2"
_RESERVED = bytes(SHA_384_LENGTH)
_SECTIONS = {
    "event_header": "headers",
    "round_header": "headers",
    "signed_transaction": "inputs",
    "block_header": "outputs",
    "transaction_result": "outputs",
    "transaction_output": "outputs",
    "record_file": "outputs",
    "state_changes": "state_changes",
    "trace_data": "traces",
}

# The footer's hash of a tree without leaves: it stands for "not known" in blocks that wrap record files.
EMPTY_PREFIXED = sha384(_LEAF)


@dataclass(slots=True)
class BlockTree:
    """The serialized BlockItems that a block's root hash is over, by section and in block order."""

    headers: list[bytes] = field(default_factory=list)
    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)
    state_changes: list[bytes] = field(default_factory=list)
    traces: list[bytes] = field(default_factory=list)

    def add(self, kind: str, serialized: bytes) -> None:
        """Add an item; `kind` is the name of its field. Footer and proofs are passed over."""
        section = _SECTIONS.get(kind)
        if section is not None:
            getattr(self, section).append(serialized)

    def root(self, block_timestamp: bytes, footer_hashes: Sequence[bytes], *, prefixed: bool) -> bytes:
        """Return the root hash.

        `block_timestamp` is the header's serialized Timestamp, `footer_hashes` are the footer's in field
        order.
        """
        combine = _prefixed if prefixed else _padded
        sections = (self.headers, self.inputs, self.outputs, self.state_changes, self.traces)
        leaf = _LEAF if prefixed else b""
        roots = [combine([sha384(leaf + item) for item in section]) for section in sections]
        content = combine([*footer_hashes, *roots])
        if prefixed:
            return sha384(_NODE + sha384(_LEAF + block_timestamp) + sha384(_SINGLE + content))
        reserved = _padded([_RESERVED] * 8)
        return sha384(sha384(block_timestamp) + sha384(content + reserved))


def _padded(leaves: Sequence[bytes]) -> bytes:
    level = list(leaves) or [sha384(b"")]
    while len(level) & (len(level) - 1):
        level.append(sha384(b""))
    while len(level) > 1:
        level = [sha384(level[index] + level[index + 1]) for index in range(0, len(level), 2)]
    return level[0]


def _prefixed(leaves: Sequence[bytes]) -> bytes:
    """Return the root of a list that is not padded.

    Complete pairs are joined at once, the roots left over from right to left.
    """
    if not leaves:
        return EMPTY_PREFIXED
    pending: list[bytes] = []
    for count, leaf in enumerate(leaves, start=1):
        joined = leaf
        while count & 1 == 0:
            joined = sha384(_NODE + pending.pop() + joined)
            count >>= 1
        pending.append(joined)
    root = pending.pop()
    while pending:
        root = sha384(_NODE + pending.pop() + root)
    return root
