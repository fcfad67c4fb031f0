"""Composing the proof of a transaction in a block.

The proof has the items of the transaction, each with its path to the block's root hash, and the threshold
signature of that hash with what proves its key.
"""

from collections.abc import Sequence
from typing import Any

from ledger.portable_proofs import proved_items
from ledger.portable_proofs.documents import (
    BlockProofJson,
    ContributionJson,
    ItemsBeforeJson,
    ProvedItemJson,
    ProvingLedgerJson,
)
from ledger.portable_proofs.proved_items import CHANGES, HEADER, OUTPUT, RESULT, SIGNED
from ledger.portable_proofs.strict_json import base64
from ledger.stream.block import tree
from ledger.stream.block.block_items import BlockContent
from ledger.stream.block_names import BLOCK_VERSION
from ledger.stream.errors import StreamFileError
from ledger.stream.ledger_identity import LedgerIdentity
from ledger.stream.signature import threshold
from mirror.core.values import timestamp
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Block, DecodeError


class Unprovable(Exception):
    """A block has nothing that would prove a transaction; the message says what is missing."""


def compose(
    block: BlockContent,
    content: bytes,
    time: int,
    ledger: LedgerIdentity | None,
    *,
    max_before: int | None = None,
) -> BlockProofJson:
    """Return the proof of the transaction of a time (ns).

    `content` is the block as it was serialized. The proof has all transactions and results before, which show
    that transaction and result belong together, where these can show it; `max_before` is how many bytes of
    them it may have.
    Errors: StreamFileError when the block is unusable; Unprovable.
    """
    try:
        return _proof(block, content, time, ledger, max_before)
    except DecodeError as error:
        # To load a block takes less of it: only the transactions that have results.
        raise StreamFileError(block.name, 0, f"a transaction in it can't be parsed ({error})") from error


def _proof(
    block: BlockContent, content: bytes, time: int, ledger: LedgerIdentity | None, max_before: int | None
) -> BlockProofJson:
    """Errors: DecodeError; StreamFileError; Unprovable."""
    proof, signature = _threshold_proof(block)
    if not block.prefixed:
        raise Unprovable(f"block {block.header.number} is of the kind before HAPI 0.71, which proves nothing")
    lookup = _ItemLookup(block, content)
    result_index, signed_index, position = lookup.find(time)
    signed, result = lookup.item(signed_index), lookup.item(result_index)
    transaction = proved_items.transaction_of(proved_items.read(signed), proved_items.read(result), position)
    header = block.header
    outputs, changes = lookup.effects(result_index, time)
    items = lookup.with_paths([lookup.header_index, signed_index, result_index, *outputs, *changes])
    before = lookup.items_before(signed_index, result_index, max_before) if position is None else None
    footer = block.footer
    return {
        "version": BLOCK_VERSION,
        "transaction_id": transaction.transaction_id,
        "nonce": transaction.nonce,
        "scheduled": transaction.scheduled,
        "consensus_timestamp": timestamp.text(time),
        "batch_position": position,
        "block": {
            "number": header.number,
            "hash": f"0x{block.root_hash().hex()}",
            "timestamp": base64(header.block_timestamp.SerializeToString()),
            "footer": {
                "previous_block_root_hash": base64(footer.previous_block_root_hash),
                "root_hash_of_all_block_hashes_tree": base64(footer.root_hash_of_all_block_hashes_tree),
                "start_of_block_state_root_hash": base64(footer.start_of_block_state_root_hash),
            },
            "consensus_headers_root_hash": base64(block.tree.list_roots()[0]),
            "proof": base64(proof.SerializeToString(deterministic=True)),
        },
        "items": {
            "block_header": items[lookup.header_index],
            "signed_transaction": items[signed_index],
            "transaction_result": items[result_index],
            "transaction_output": [items[each] for each in outputs],
            "state_changes": [items[each] for each in changes],
        },
        "before": before,
        "ledger": None if ledger is None else _ledger(ledger, signature),
    }


def _threshold_proof(block: BlockContent) -> tuple[Any, bytes]:
    """Return the first proof of a block with a threshold signature, and that. Errors: Unprovable."""
    for proof in block.proofs:
        field = proof.WhichOneof("proof")
        signature = b""
        if field == "signed_block_proof":
            signature = proof.signed_block_proof.block_signature
        elif field == "block_state_proof":
            signature = proof.block_state_proof.signed_block_proof.block_signature
        if len(signature) in (threshold.SCHNORR_LENGTH, threshold.WRAPS_LENGTH):
            return proof, signature
    raise Unprovable(f"block {block.header.number} has no threshold signature of its network")


def _ledger(ledger: LedgerIdentity, signature: bytes) -> ProvingLedgerJson:
    """Return what the proof of the signature's key needs: its keys of nodes, or the key for proofs."""
    is_wraps = len(signature) == threshold.WRAPS_LENGTH
    nodes: list[ContributionJson] = [
        {"node_id": each.node_id, "weight": each.weight, "history_proof_key": base64(each.key)}
        for each in ledger.contributors
    ]
    return {
        "ledger_id": base64(ledger.ledger_id),
        "history_proof_verification_key": base64(ledger.proof_key) if is_wraps else None,
        "node_contributions": None if is_wraps else nodes,
    }


class _ItemLookup:
    """The items of a block with their places in the lists of its tree."""

    def __init__(self, block: BlockContent, content: bytes) -> None:
        self._block, self._number = block, block.header.number
        self._items = wire.repeated_bytes(content, Block.ITEMS_FIELD_NUMBER)
        self._kinds = [proved_items.kind_of(item) for item in self._items]
        if None in self._kinds:
            raise StreamFileError(block.name, 0, "an item of it has several fields")
        self.header_index = self._kinds.index(HEADER)

    def item(self, index: int) -> bytes:
        return self._items[index]

    def find(self, time: int) -> tuple[int, int, int | None]:
        """Return where the result of a time is, its transaction, and the place in that, if it is a batch.

        Errors: DecodeError; Unprovable if nothing in the block happened then, or what it belongs to is open.
        """
        signed, has_result = 0, True
        # The last batch with a result of its own, and how many inner transactions it has.
        batch, inner_count, inner_index = 0, 0, 0
        for index, kind in enumerate(self._kinds):
            if kind == SIGNED:
                signed, has_result = index, False
            if kind != RESULT:
                continue
            is_inner, has_result = has_result, True
            if is_inner:
                inner_index += 1
            elif transactions := len(
                proved_items.body_of(proved_items.read(self._items[signed])).atomic_batch.transactions
            ):
                batch, inner_count, inner_index = signed, transactions, 0
            if timestamp.to_ns(proved_items.read(self._items[index]).consensus_timestamp) == time:
                if not is_inner:
                    return index, signed, None
                if inner_index > inner_count:
                    raise Unprovable(
                        f"block {self._number} does not tell whose result that of {timestamp.text(time)} is"
                    )
                return index, batch, inner_index - 1
        raise Unprovable(f"block {self._number} has no transaction of {timestamp.text(time)}")

    def effects(self, result_index: int, time: int) -> tuple[Sequence[int], Sequence[int]]:
        """Return where the outputs of a result are, and the changes of the state at its time."""
        outputs, changes = [], []
        for index in range(result_index + 1, len(self._items)):
            kind = self._kinds[index]
            if kind in (SIGNED, RESULT):
                break
            if kind == OUTPUT:
                outputs.append(index)
            elif kind == CHANGES:
                item_time = proved_items.read(self._items[index]).consensus_timestamp
                if timestamp.to_ns(item_time) == time:
                    changes.append(index)
        return outputs, changes

    def items_before(
        self, signed_index: int, result_index: int, max_bytes: int | None
    ) -> ItemsBeforeJson | None:
        """Return all items before, None if they tell nothing. Errors: Unprovable if they are too many."""
        signed = self._between(0, signed_index, SIGNED)
        outputs = self._between(self.header_index + 1, result_index, RESULT, OUTPUT)
        if not proved_items.match_by_order(
            [*signed, self._items[signed_index]], outputs, self._items[result_index]
        ):
            return None
        size = sum(map(len, (*signed, *outputs)))
        if max_bytes is not None and size > max_bytes:
            raise Unprovable(
                f"the {size:,} bytes before it in block {self._number}, which belong to the "
                "proof, are too many for an answer: take it by `manage.py prove`"
            )
        return {"signed_transaction": list(map(base64, signed)), "outputs": list(map(base64, outputs))}

    def with_paths(self, indexes: Sequence[int]) -> dict[int, ProvedItemJson]:
        kinds_and_items = zip(self._kinds, self._items, strict=True)
        paths = tree.paths(kinds_and_items, indexes, *self._block.time_and_footer)
        return {
            index: {
                "item": base64(self._items[index]),
                "path": [{"hash": base64(step.hash), "is_left": step.is_left} for step in path],
            }
            for index, path in zip(indexes, paths, strict=True)
        }

    def _between(self, start: int, end: int, *kinds: str) -> list[bytes]:
        return [self._items[index] for index in range(start, end) if self._kinds[index] in kinds]
