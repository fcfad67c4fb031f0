"""Block root hashes: SHA-384 Merkle trees over the items of a block, in two generations.

Both divide the serialized items into five lists, compute a root per list, and combine these with the three
hashes of the footer and the block's time. Footer and proofs are not part of it.

- Up to HAPI 0.70 leaves and nodes are hashed alike, and lists are padded to a power of two with H("").
- From HAPI 0.71 on a prefix byte marks leaves (0), nodes with one child (1) and with two (2), and lists are
  not padded: a node without a sibling moves up. Blocks that wrap a record file are of this generation
  whatever the HAPI version of that file. Proofs of transactions are made of these trees alone.

The HAPI version in the block's header tells the generation. The next block confirms the hash, as its footer
repeats it; so does the proof, where nodes sign by the bare hash.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha384 as sha384_of
from typing import NamedTuple

from ledger.stream.record_item import HapiVersion
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

PREFIXED_SINCE: HapiVersion = (0, 71, 0)

_LEAF, _SINGLE, _NODE = b"\0", b"\1", b"\2"
_RESERVED = bytes(SHA_384_LENGTH)
_PADDING = sha384(b"")
# The lists: event and round headers, inputs, outputs, changes of the state, traces.
_LISTS = 5
_SECTIONS = {
    "event_header": 0,
    "round_header": 0,
    "signed_transaction": 1,
    "block_header": 2,
    "transaction_result": 2,
    "transaction_output": 2,
    "record_file": 2,
    "state_changes": 3,
    "trace_data": 4,
}
_FOOTER_HASHES = 3
# So many items of a list are hashed at a time: one by one they take a third longer.
_MAX_WAITING = 256

# The footer's hash of a tree without leaves: it stands for "not known" in blocks that wrap record files.
EMPTY_PREFIXED = sha384(_LEAF)


class Sibling(NamedTuple):
    """A step of the path to the root: the sibling on the left or right, empty for a node with one child."""

    hash: bytes
    is_left: bool


SINGLE = Sibling(b"", False)


class Section:
    """A list, and the root of its tree: complete pairs are joined at once."""

    __slots__ = ("_node", "_roots")

    def __init__(self, *, prefixed: bool = True) -> None:
        self._node = _NODE if prefixed else b""
        # By height, the root of the complete tree that has no sibling yet.
        self._roots: list[bytes | None] = []

    def extend(self, leaves: Iterable[bytes]) -> None:
        node, roots, height = self._node, self._roots, 0
        hashes = list(leaves)
        while hashes:
            if height == len(roots):
                roots.append(None)
            elif (left := roots[height]) is not None:
                hashes.insert(0, left)
            roots[height] = hashes.pop() if len(hashes) & 1 else None
            # Blocks have thousands of leaves, so each hash is one call less.
            hashes = [
                sha384_of(node + left + right).digest()
                for left, right in zip(*[iter(hashes)] * 2, strict=True)
            ]
            height += 1

    @property
    def complete_roots(self) -> list[bytes]:
        """The roots of the complete trees, the largest first: the left siblings of the next leaf."""
        return [root for root in reversed(self._roots) if root is not None]

    def root(self) -> bytes:
        """Return the root; a list of the older generation is padded by it, and takes no more leaves."""
        if not self._node:
            while len(self.complete_roots) != 1:
                self.extend([_PADDING])
        if not self._roots:
            return EMPTY_PREFIXED
        *pending, root = self.complete_roots
        while pending:
            root = sha384(_NODE + pending.pop() + root)
        return root


class BlockTree:
    """The lists of a block, hashed as items come; until `begin` tells the generation they wait."""

    def __init__(self, *, prefixed: bool | None = None) -> None:
        self._lists: list[Section] = []
        self._waiting: list[list[bytes]] = [[] for _ in range(_LISTS)]
        self._by_kind = {kind: self._waiting[place] for kind, place in _SECTIONS.items()}
        if prefixed is not None:
            self.begin(prefixed=prefixed)

    def begin(self, *, prefixed: bool) -> None:
        if not self._lists:
            self._prefixed = prefixed
            self._lists = [Section(prefixed=prefixed) for _ in range(_LISTS)]

    def add(self, kind: str, serialized: bytes) -> None:
        """Add an item; `kind` is the name of its field. Footer and proofs are ignored."""
        waiting = self._by_kind.get(kind)
        if waiting is not None:
            waiting.append(serialized)
            if len(waiting) >= _MAX_WAITING and self._lists:
                self._hash_waiting()

    def _hash_waiting(self) -> None:
        prefix = _LEAF if self._prefixed else b""
        for section, waiting in zip(self._lists, self._waiting, strict=True):
            section.extend([sha384_of(prefix + serialized).digest() for serialized in waiting])
            waiting.clear()

    def list_roots(self) -> list[bytes]:
        self._hash_waiting()
        return [each.root() for each in self._lists]

    def root(self, block_timestamp: bytes, footer_hashes: Sequence[bytes]) -> bytes:
        """Return the root hash, by the header's serialized Timestamp and the footer's hashes."""
        inputs = [*footer_hashes, *self.list_roots()]
        root = root_of(inputs, prefixed=self._prefixed)
        if self._prefixed:
            return climb(root, steps_after(block_timestamp))
        reserved = root_of([_RESERVED] * 8, prefixed=False)
        return sha384(sha384(block_timestamp) + sha384(root + reserved))


def root_of(leaves: Iterable[bytes], *, prefixed: bool = True) -> bytes:
    section = Section(prefixed=prefixed)
    section.extend(leaves)
    return section.root()


# PATHS, of the newer generation


def leaf_of(item: bytes) -> bytes:
    """Return the hash of a serialized item, or of the block's time."""
    return sha384(_LEAF + item)


def paths(
    items: Iterable[tuple[str | None, bytes]],
    indexes: Iterable[int],
    block_timestamp: bytes,
    footer_hashes: Sequence[bytes],
) -> list[list[Sibling]]:
    """Return the paths from some of the items of a block, with their kinds, to its root hash."""
    lists: list[list[bytes]] = [[] for _ in range(_LISTS)]
    positions: list[tuple[int, int]] = []
    for field, item in items:
        section = _SECTIONS.get(field or "", 0)
        positions.append((section, len(lists[section])))
        if field in _SECTIONS:
            lists[section].append(leaf_of(item))
    inputs = [*footer_hashes, *map(root_of, lists)]
    return [
        [
            *path_in(lists[section], index),
            *path_in(inputs, _FOOTER_HASHES + section),
            *steps_after(block_timestamp),
        ]
        for section, index in map(positions.__getitem__, indexes)
    ]


def path_in(leaves: Sequence[bytes], index: int) -> list[Sibling]:
    """Return the path from a leaf to the root of its list."""
    if len(leaves) == 1:
        return []
    # The largest complete tree that is not everything.
    left = 1 << (len(leaves) - 1).bit_length() - 1
    if index < left:
        return [*path_in(leaves[:left], index), Sibling(root_of(leaves[left:]), False)]
    return [*path_in(leaves[left:], index - left), Sibling(root_of(leaves[:left]), True)]


def steps_after(block_timestamp: bytes) -> list[Sibling]:
    """Return the last steps of every path: the half that is reserved, and the block's time."""
    return [SINGLE, Sibling(leaf_of(block_timestamp), True)]


def climb(node: bytes, path: Iterable[Sibling]) -> bytes:
    """Return the root hash that a path leads to from a node."""
    for sibling in path:
        if not sibling.hash:
            node = sha384(_SINGLE + node)
        elif sibling.is_left:
            node = sha384(_NODE + sibling.hash + node)
        else:
            node = sha384(_NODE + node + sibling.hash)
    return node
