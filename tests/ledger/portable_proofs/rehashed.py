"""Proofs of blocks whose items are not what a network writes, though every hash and signature is right.

Whoever makes up a document can hash what it has, and be the network that has signed it.
"""

import copy
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ledger.portable_proofs import proved_items
from ledger.stream.block.block_items import read_items
from ledger.stream.block.tree import BlockTree, paths
from mirror.core.values import timestamp
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Block, BlockItem, BlockProof, DecodeError
from tests.ledger.portable_proofs.block_proofs import NODES, proof_of
from tests.ledger.stream.block.blocks import BlockFile

_SIGNED, _RESULT, _HEADER = "signed_transaction", "transaction_result", "block_header"
_OUTPUT, _CHANGES = "transaction_output", "state_changes"
_AFTER = ("block_footer", "block_proof")


@dataclass
class Items:
    """The items of a block, each as the kind that it is said to be, and which of them a document is about."""

    sound: dict[str, Any]
    items: list[tuple[str, bytes]]
    of_document: dict[str, list[int]]
    footer: Sequence[bytes]
    time: bytes

    @classmethod
    def of(cls, block: BlockFile, at: int) -> "Items":
        content = read_items(block.name, block.content)
        items = [
            (item.WhichOneof("item"), item.SerializeToString())
            for item in Block.FromString(block.content).items
            if item.WhichOneof("item") not in _AFTER
        ]
        sound = proof_of(block, at)
        given = {_base64(item): index for index, (_, item) in enumerate(items)}
        of_document = {
            kind: [given[each["item"]] for each in (parts if isinstance(parts, list) else [parts])]
            for kind, parts in sound["items"].items()
        }
        footer = [digest for _, digest in content.footer.ListFields()]
        return cls(sound, items, of_document, footer, content.header.block_timestamp.SerializeToString())

    def with_item(self, index: int, item: bytes) -> "Items":
        changed = copy.copy(self)
        changed.items = list(self.items)
        changed.items[index] = self.items[index][0], item
        return changed

    def before(self) -> list[int]:
        """Where the items are that a document has as those before its own."""
        (signed_at,), (result_at,) = self.of_document[_SIGNED], self.of_document[_RESULT]
        return [
            index
            for index, (kind, _) in enumerate(self.items)
            if (kind == _SIGNED and index < signed_at) or (kind in (_RESULT, _OUTPUT) and index < result_at)
        ]

    def document(self, *, signed: bool = True) -> dict[str, Any]:
        """The document, with paths to the root hash of these items, which the nodes have signed."""
        made = copy.deepcopy(self.sound)
        tree = BlockTree(prefixed=True)
        for kind, item in self.items:
            tree.add(kind, item)
        root = tree.root(self.time, self.footer)
        made["block"]["hash"] = f"0x{root.hex()}"
        if signed:
            proof = BlockProof(block=7, signed_block_proof={"block_signature": NODES.sign(root)})
            made["block"]["proof"] = _base64(proof.SerializeToString(deterministic=True))
        for kind, indexes in self.of_document.items():
            proved = [self._proved(index) for index in indexes]
            made["items"][kind] = proved if isinstance(self.sound["items"][kind], list) else proved[0]
        before = [self.items[index] for index in self.before()]
        made["before"] = {
            "signed_transaction": [_base64(item) for kind, item in before if kind == _SIGNED],
            "outputs": [_base64(item) for kind, item in before if kind != _SIGNED],
        }
        self._state(made)
        return made

    def _proved(self, index: int) -> dict[str, Any]:
        _, item = self.items[index]
        (path,) = paths(self.items, [index], self.time, self.footer)
        return {
            "item": _base64(item),
            "path": [{"hash": _base64(step.hash), "is_left": step.is_left} for step in path],
        }

    def _state(self, made: dict[str, Any]) -> None:
        """Let the document state what its items say, as far as they can be read."""
        try:
            signed, result = (
                getattr(BlockItem.FromString(self.items[self.of_document[kind][0]][1]), kind)
                for kind in (_SIGNED, _RESULT)
            )
            told = proved_items.transaction_of(signed, result, made["batch_position"])
        except (DecodeError, IndexError):
            return
        made["transaction_id"], made["nonce"] = told.transaction_id, told.nonce
        made["scheduled"] = told.scheduled
        made["consensus_timestamp"] = timestamp.text(told.consensus_timestamp)


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


# CHANGES OF A SERIALIZED MESSAGE

_KNOWN_NUMBERS = (1, 2, 3, 5, 7, 8, 9, 11, 12, 26, 27, 72, 74, 100, 2000)


def reshaped(data: bytes, choose: Random) -> bytes:
    """The message with one field changed, at any depth.

    The field is gone, empty, twice there, another one, of another wire type or value, or followed by one.
    """
    try:
        fields = list(wire.fields(data))
    except DecodeError:
        fields = []
    if not fields:
        return data + _field(choose)
    field = choose.choice(fields)
    before, after = data[: field.start], data[field.end :]
    whole, value = data[field.start : field.end], data[field.value : field.end]
    if field.wire_type == wire.LENGTH_DELIMITED and choose.random() < 0.7:
        return before + wire.length_delimited(field.number, reshaped(value, choose)) + after
    return before + _changed(field.number, whole, value, choose) + after


def _changed(number: int, whole: bytes, value: bytes, choose: Random) -> bytes:
    other = choose.choice(_KNOWN_NUMBERS)
    return choose.choice(
        (
            b"",
            whole + whole,
            whole + _field(choose),
            _varint(number, choose),
            wire.encode_varint(number << 3 | wire.FIXED64) + b"\xff" * 8,
            wire.encode_varint(number << 3 | wire.FIXED32) + b"\xff" * 4,
            wire.length_delimited(number, b""),
            wire.length_delimited(number, b"\xff\xff"),
            wire.length_delimited(other, value),
            wire.encode_varint(number << 3 | 3),
            whole[:-1],
        )
    )


def _field(choose: Random) -> bytes:
    number = choose.choice(_KNOWN_NUMBERS)
    return choose.choice((wire.length_delimited(number, b""), _varint(number, choose)))


def _varint(number: int, choose: Random) -> bytes:
    value = choose.choice((0, 1, 5, 2**31, 2**63 - 1, 2**63, 2**64 - 1))
    return wire.encode_varint(number << 3 | wire.VARINT) + wire.encode_varint(value)
