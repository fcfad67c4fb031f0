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

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ledger.stream.record.item import HapiVersion
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

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

_ORDER = ("headers", "inputs", "outputs", "state_changes", "traces")
_FOOTER_HASHES = 3

# The footer's hash of a tree without leaves: it stands for "not known" in blocks that wrap record files.
EMPTY_PREFIXED = sha384(_LEAF)


class Sibling(NamedTuple):
    """A step of the path from a leaf to the root: the sibling's hash, and whether that is on the left.

    Where the newer tree has a node with one child, the hash is empty.
    """

    hash: bytes
    is_left: bool


SINGLE = Sibling(b"", False)


class BlockTree:
    """The serialized BlockItems that a block's root hash is over, by section and in block order."""

    def __init__(self) -> None:
        self.items: dict[str, list[bytes]] = {section: [] for section in _ORDER}

    def add(self, kind: str, serialized: bytes) -> None:
        """Add an item; `kind` is the name of its field. Footer and proofs are ignored."""
        section = _SECTIONS.get(kind)
        if section is not None:
            self.items[section].append(serialized)

    def root(self, block_timestamp: bytes, footer_hashes: Sequence[bytes], *, prefixed: bool) -> bytes:
        """Return the root hash.

        `block_timestamp` is the header's serialized Timestamp, `footer_hashes` are the footer's in field
        order.
        """
        content = _root(self._inputs(footer_hashes, prefixed=prefixed), prefixed=prefixed)
        return climb(content, _above(block_timestamp, prefixed=prefixed), prefixed=prefixed)

    def paths(
        self,
        places: Iterable[tuple[str, int]],
        block_timestamp: bytes,
        footer_hashes: Sequence[bytes],
        *,
        prefixed: bool,
    ) -> list[list[Sibling]]:
        """Return the paths from items to the root hash.

        Each place is the kind of an item, and its index in the section of its kind.
        """
        siblings = _prefixed_path if prefixed else _padded_path
        inputs = self._inputs(footer_hashes, prefixed=prefixed)
        above = _above(block_timestamp, prefixed=prefixed)
        leaves = {name: _leaves(items, prefixed=prefixed) for name, items in self.items.items()}
        return [
            [
                *siblings(leaves[_SECTIONS[kind]], index),
                *siblings(inputs, _FOOTER_HASHES + _ORDER.index(_SECTIONS[kind])),
                *above,
            ]
            for kind, index in places
        ]

    def section_root(self, section: str, *, prefixed: bool) -> bytes:
        """Return the root of a section; that of the headers is the sibling of the footer's hashes."""
        return _root(_leaves(self.items[section], prefixed=prefixed), prefixed=prefixed)

    def _inputs(self, footer_hashes: Sequence[bytes], *, prefixed: bool) -> list[bytes]:
        """Return what the root hash is of: the footer's hashes, and the roots of the sections."""
        return [*footer_hashes, *(self.section_root(section, prefixed=prefixed) for section in _ORDER)]


class HashedTree(BlockTree):
    """A tree that hashes each item as it comes and stores none, so it makes no paths.

    Only from `begin` on: until then, and in blocks of the older generation, it stores them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sections: dict[str, Section] | None = None

    def begin(self) -> None:
        """The block is of the newer generation: call it before the first item."""
        self._sections = {section: Section() for section in _ORDER}

    def add(self, kind: str, serialized: bytes) -> None:
        if self._sections is None:
            super().add(kind, serialized)
        elif kind in _SECTIONS:
            self._sections[_SECTIONS[kind]].add(sha384(_LEAF + serialized))

    def section_root(self, section: str, *, prefixed: bool) -> bytes:
        if self._sections is None:
            return super().section_root(section, prefixed=prefixed)
        return self._sections[section].root


# PATHS


def leaf_of(item: bytes, *, prefixed: bool) -> bytes:
    """Return the hash of a serialized item, or of the block's time."""
    return sha384(_LEAF + item) if prefixed else sha384(item)


def climb(node: bytes, path: Sequence[Sibling], *, prefixed: bool) -> bytes:
    """Return the root hash that a path leads to from a node."""
    prefix = _NODE if prefixed else b""
    for sibling in path:
        if not sibling.hash:
            node = sha384(_SINGLE + node)
        elif sibling.is_left:
            node = sha384(prefix + sibling.hash + node)
        else:
            node = sha384(prefix + node + sibling.hash)
    return node


def steps_above(kind: str, *, prefixed: bool) -> list[bool | None]:
    """Return the steps from the root of a kind's section to the root hash: left, or with None single."""
    place = _FOOTER_HASHES + _ORDER.index(_SECTIONS[kind])
    steps: list[bool | None] = [bool(place >> level & 1) for level in range(3)]
    return [*steps, None, True] if prefixed else [*steps, False, True]


def _above(block_timestamp: bytes, *, prefixed: bool) -> list[Sibling]:
    """Return the last steps of every path: the half that is reserved, and the block's time."""
    time = Sibling(leaf_of(block_timestamp, prefixed=prefixed), True)
    return [SINGLE, time] if prefixed else [Sibling(_root([_RESERVED] * 8, prefixed=False), False), time]


def _padded_path(leaves: Sequence[bytes], index: int) -> list[Sibling]:
    level, path = _whole(leaves), []
    while len(level) > 1:
        path.append(Sibling(level[index ^ 1], bool(index & 1)))
        level, index = _halved(level), index >> 1
    return path


def _prefixed_path(leaves: Sequence[bytes], index: int) -> list[Sibling]:
    if len(leaves) == 1:
        return []
    # The largest complete tree that is not everything.
    left = 1 << (len(leaves) - 1).bit_length() - 1
    if index < left:
        return [*_prefixed_path(leaves[:left], index), Sibling(_prefixed(leaves[left:]), False)]
    return [*_prefixed_path(leaves[left:], index - left), Sibling(_prefixed(leaves[:left]), True)]


# ROOTS


def _leaves(items: Iterable[bytes], *, prefixed: bool) -> list[bytes]:
    return [leaf_of(item, prefixed=prefixed) for item in items]


def _root(leaves: Sequence[bytes], *, prefixed: bool) -> bytes:
    if prefixed:
        return _prefixed(leaves)
    level = _whole(leaves)
    while len(level) > 1:
        level = _halved(level)
    return level[0]


def _whole(leaves: Sequence[bytes]) -> list[bytes]:
    """Return leaves, padded to a power of two."""
    level = list(leaves) or [sha384(b"")]
    while len(level) & (len(level) - 1):
        level.append(sha384(b""))
    return level


def _halved(level: Sequence[bytes]) -> list[bytes]:
    return [sha384(level[index] + level[index + 1]) for index in range(0, len(level), 2)]


def _prefixed(leaves: Sequence[bytes]) -> bytes:
    """Return the root of a list that is not padded."""
    section = Section()
    for leaf in leaves:
        section.add(leaf)
    return section.root


class Section:
    """A list that is not padded, leaf by leaf, and the root of its tree.

    Complete pairs are joined at once, the roots left over from right to left.
    """

    __slots__ = ("_count", "_pending")

    def __init__(self) -> None:
        self._count = 0
        self._pending: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        self._count = count = self._count + 1
        joined = leaf
        while count & 1 == 0:
            joined = sha384(_NODE + self._pending.pop() + joined)
            count >>= 1
        self._pending.append(joined)

    @property
    def complete_roots(self) -> list[bytes]:
        """The roots of the complete trees of the leaves, the largest first.

        They are what is on the left of the path of the next leaf, seen from the root.
        """
        return list(self._pending)

    @property
    def root(self) -> bytes:
        if not self._pending:
            return EMPTY_PREFIXED
        *pending, root = self._pending
        while pending:
            root = sha384(_NODE + pending.pop() + root)
        return root
