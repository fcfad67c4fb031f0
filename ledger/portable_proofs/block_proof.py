"""Verifying the proof of a transaction in a block.

From the items of the transaction, paths lead to the root hash of their block. Nodes of the network have
signed it, or that of a later block, by a key that leads back to the id of their ledger.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ledger.portable_proofs import proved_items
from ledger.portable_proofs.documents import BlockProofJson
from ledger.portable_proofs.proved_items import CHANGES, HEADER, OUTPUT, RESULT, SIGNED
from ledger.portable_proofs.strict_json import FORM, NotProved, read
from ledger.portable_proofs.verdict import Transaction, Trusted, Verdict
from ledger.stream.block.block_signature import signed_root
from ledger.stream.block.tree import PREFIXED_SINCE, SINGLE, Section, Sibling, climb, leaf_of, steps_above
from ledger.stream.block_names import BLOCK_VERSION
from ledger.stream.ledger_identity import Contributor, LedgerIdentity, WrongSignature
from ledger.stream.signature import threshold
from mirror.core.values import timestamp
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import BlockProof, DecodeError
from mirror.core.values.hashes import SHA_384_LENGTH

_STATED, _PATHS, _BLOCK = "The transaction", "The paths", "The block"
_ORDER, _SIGNATURE = "The order of the block", "The signature of the block"
_LEDGER = "The ledger"
# The SHA-256 of the key for proofs of a ledger's history that networks have by default.
DEFAULT_PROOF_KEY: Final = "5a6d78fb8d0d1ef989db3ca9c6aff7e2bd336665af8f5ec904892522ec8f2b3d"
_FOOTER_HASHES = (
    "block.footer.previous_block_root_hash",
    "block.footer.root_hash_of_all_block_hashes_tree",
    "block.footer.start_of_block_state_root_hash",
    "block.consensus_headers_root_hash",
)
_MAX_STEPS = 64
# What the last path of a proof has as the next one.
_NO_PATH = (1 << 32) - 1
# Of each block on the way to a later one: which steps are single, and which on the left.
_STEPS, _SINGLE_STEP, _LEFT_STEP = 5, 3, 4


class _Item(NamedTuple):
    """An item with its path, and its hash."""

    kind: str
    serialized: bytes
    message: Any
    leaf: bytes
    path: Sequence[Sibling]

    @property
    def value(self) -> Any:
        return getattr(self.message, self.kind)

    @property
    def left_hashes(self) -> list[bytes]:
        """The hashes on the left within the section, seen from its root."""
        lower = self.path[: -len(steps_above(self.kind))]
        return [sibling.hash for sibling in reversed(lower) if sibling.is_left]


class _Block(NamedTuple):
    number: int
    hash: bytes
    proof: Any


def verify(document: Mapping[str, object], trusted: Trusted) -> Verdict:
    """Return what a proof of the kind "block" shows. Errors: NotProved."""
    if document.get("version") != BLOCK_VERSION:
        raise NotProved(FORM, f"its version is not {BLOCK_VERSION}, that of blocks")
    stated = read(document, BlockProofJson)
    try:
        items = {
            kind: [_parse_item(each, kind) for each in (entries if isinstance(entries, list) else [entries])]
            for kind, entries in stated["items"].items()
        }
        block = _block(stated["block"], items)
        transaction = _transaction(items, stated)
        unproved = _check_order(stated["before"], items, stated["batch_position"])
    except DecodeError as error:
        raise NotProved(FORM, f"an item can't be parsed ({error})") from error
    signature, root = _signature(block)
    rests_on: list[str] = []
    ledger = ledger_of(stated["ledger"], trusted, signature, rests_on)
    try:
        signed, total = threshold.verify(ledger, root, signature)
    except WrongSignature as error:
        raise NotProved(_SIGNATURE, f"it is refused, as {error}") from error
    later = "" if root == block.hash else ", by their signature of a later block"
    return Verdict(
        version=BLOCK_VERSION,
        transaction=transaction,
        number=block.number,
        hash=block.hash.hex(),
        signers=f"nodes of ledger 0x{ledger.ledger_id.hex()} with a weight of {signed} of {total}{later}",
        signed=signed,
        total=total,
        rests_on=rests_on,
        unproved=unproved,
    )


# ITEMS


def _parse_item(entry: Any, kind: str) -> _Item:
    path = [Sibling(step["hash"], step["is_left"]) for step in entry["path"]]
    for sibling in path:
        if len(sibling.hash) != SHA_384_LENGTH and sibling != SINGLE:
            raise NotProved(FORM, f"a hash in the path of the {kind} has {len(sibling.hash)} bytes")
    if len(path) > _MAX_STEPS:
        raise NotProved(FORM, f"the path of the {kind} has {len(path)} steps")
    if proved_items.kind_of(entry["item"]) != kind:
        raise NotProved(FORM, f"what is called {kind} is none")
    return _Item(kind, entry["item"], messages.parse(messages.BlockItem, entry["item"]), b"", path)


def _block(given: Any, items: dict[str, list[_Item]]) -> _Block:
    """Return the block that all items are in; they have their leaves then."""
    number, digest, time = given["number"], given["hash"], given["timestamp"]
    hashes = {f"block.footer.{name}": value for name, value in given["footer"].items()}
    hashes["block.consensus_headers_root_hash"] = given["consensus_headers_root_hash"]
    for name, value in hashes.items():
        if len(value) != SHA_384_LENGTH:
            raise NotProved(FORM, f"{name} has {len(value)} bytes; a hash has {SHA_384_LENGTH}")
    footer_hashes = [hashes[name] for name in _FOOTER_HASHES]
    header = items[HEADER][0].value
    version = header.hapi_proto_version
    if (version.major, version.minor, version.patch) < PREFIXED_SINCE:
        raise NotProved(
            _BLOCK, "its tree is of the kind before HAPI 0.71, in which hashes may pass for items"
        )
    root = None
    for each in items.values():
        for index, item in enumerate(each):
            leaf = leaf_of(item.serialized)
            each[index] = item._replace(leaf=leaf)
            _check_path(item, time, footer_hashes)
            item_root = climb(leaf, item.path)
            if root not in (None, item_root):
                raise NotProved(_PATHS, f"that of the {item.kind} leads to another block")
            root = item_root
    assert root is not None
    if digest != f"0x{root.hex()}":
        raise NotProved(_PATHS, f"they lead to the root hash 0x{root.hex()}, not to the block's")
    if header.block_timestamp.SerializeToString() != time:
        raise NotProved(_BLOCK, "its time is not the one in its header")
    if header.number != number:
        raise NotProved(_BLOCK, f"its header says that it is block {header.number}, not {number}")
    return _Block(number, root, _proof(number, given["proof"]))


def _check_path(item: _Item, time: bytes, footer_hashes: Sequence[bytes]) -> None:
    """Require that a path goes through the section of its kind, past the footer's hashes, to the time."""
    steps_to_root = steps_above(item.kind)
    lower, upper = item.path[: -len(steps_to_root)], item.path[-len(steps_to_root) :]
    if any(not step.hash for step in lower) or steps_to_root != [
        step.is_left if step.hash else None for step in upper
    ]:
        raise NotProved(_PATHS, f"that of the {item.kind} does not go where such items are in a block")
    pairs = [climb(left, [Sibling(right, False)]) for left, right in (footer_hashes[:2], footer_hashes[2:])]
    if upper[2].hash != climb(pairs[0], [Sibling(pairs[1], False)]):
        raise NotProved(_PATHS, f"that of the {item.kind} does not pass the hashes of the block's footer")
    if upper[-1].hash != leaf_of(time):
        raise NotProved(_PATHS, f"that of the {item.kind} does not end beside the block's time")


def _proof(number: int, data: bytes) -> Any:
    proof = messages.parse(BlockProof, data)
    if proof.SerializeToString(deterministic=True) != data:
        raise NotProved(_SIGNATURE, "the block's proof is written otherwise than by a network")
    if proof.block != number:
        raise NotProved(_SIGNATURE, f"the block's proof is one of block {proof.block}")
    return proof


# TRANSACTION


def _transaction(items: dict[str, list[_Item]], stated: Any) -> Transaction:
    """Return the transaction, if it is the one that the document states."""
    signed, result = items[SIGNED][0].value, items[RESULT][0].value
    position = stated["batch_position"]
    if proved_items.has_no_result(signed):
        raise NotProved(_STATED, "it is a signature of the state, which has no result")
    try:
        found = proved_items.transaction_of(signed, result, position)
    except IndexError:
        raise NotProved(_STATED, f"it is no batch with an inner transaction {position}") from None
    if position is not None and proved_items.parent_of(result) in (None, found.consensus_timestamp):
        raise NotProved(_STATED, "the result is none of a transaction in a batch: it names no batch")
    for label, name, actual in (
        ("transaction id", "transaction_id", found.transaction_id),
        ("nonce", "nonce", found.nonce),
        ("consensus timestamp", "consensus_timestamp", timestamp.text(found.consensus_timestamp)),
        ("flag of a scheduled transaction", "scheduled", found.scheduled),
    ):
        if stated[name] != actual:
            raise NotProved(_STATED, f"its {label} is {actual}, not {stated[name]}")
    for item in items[CHANGES]:
        if timestamp.to_ns(item.value.consensus_timestamp) != found.consensus_timestamp:
            raise NotProved(_STATED, "a change of the state in the document is of another time")
    return found


def _check_order(before: Any, items: dict[str, list[_Item]], position: int | None) -> str:
    """Return why the items before do not tell whether transaction and result belong together, "" if they do.

    Where they could tell it, they have to: as many results as transactions are before those of the document.
    """
    if before is None:
        return (
            "results of transactions in a batch do not tell which of them they belong to"
            if position is not None
            else "the document does not have the items before them: not all that nodes send for themselves "
            "has a result, so the items before may not tell it; or somebody has left them out"
        )
    if position is not None:
        raise NotProved(_ORDER, "the items before do not tell results of transactions in a batch")
    signed, outputs = before[SIGNED], before["outputs"]
    if any(proved_items.kind_of(item) != SIGNED for item in signed) or any(
        proved_items.kind_of(item) not in (RESULT, OUTPUT) for item in outputs
    ):
        raise NotProved(FORM, "before holds other items than transactions and their results")
    transaction, result = items[SIGNED][0], items[RESULT][0]
    _check_positions([transaction], signed)
    _check_positions([result, *items[OUTPUT]], [items[HEADER][0].serialized, *outputs])
    if not proved_items.match_by_order([*signed, transaction.serialized], outputs, result.serialized):
        raise NotProved(_ORDER, "the items before do not tell which result is this transaction's")
    return ""


def _check_positions(items: Sequence[_Item], before: Sequence[bytes]) -> None:
    """Require that these are all items before the first of some that follow each other in their section."""
    section = Section()
    section.extend(map(leaf_of, before))
    for item in items:
        if item.left_hashes != section.complete_roots:
            raise NotProved(_ORDER, f"the items given are not those before the {item.kind}")
        section.extend([item.leaf])


# SIGNATURE


def _signature(block: _Block) -> tuple[bytes, bytes]:
    """Return the threshold signature, and the root hash that it is of."""
    field = block.proof.WhichOneof("proof")
    if field == "signed_block_proof":
        return block.proof.signed_block_proof.block_signature, block.hash
    if field != "block_state_proof":
        raise NotProved(_SIGNATURE, "the block's proof has no threshold signature")
    proof = block.proof.block_state_proof
    try:
        root = signed_root(proof, block.hash)
    except WrongSignature as error:
        raise NotProved(_SIGNATURE, f"{error}") from error
    *_, last = proof.paths
    steps = [(bool(step.hash), step.is_left) for step in proof.paths[1].siblings]
    expected = [(index % _STEPS != _SINGLE_STEP, index % _STEPS == _LEFT_STEP) for index in range(len(steps))]
    # It ends below the time of the signed block, which has a path of its own.
    if last != type(last)(next_path_index=_NO_PATH) or steps != expected or len(steps) % _STEPS != _LEFT_STEP:
        raise NotProved(_SIGNATURE, "the way to the later block is written otherwise than by a network")
    return proof.signed_block_proof.block_signature, root


# LEDGER


def ledger_of(given: Any, trusted: Trusted, signature: bytes, rests_on: list[str]) -> LedgerIdentity:
    """Return the ledger, and add to `rests_on` that it is only the document's. Errors: NotProved.

    `given` is a ProvingLedgerJson, read, or None.
    """
    stated = None if given is None else _parse_ledger(given)
    trusted_ledger = trusted.ledger
    trusted_id = trusted_ledger.ledger_id if trusted_ledger else trusted.ledger_id
    if trusted_ledger and trusted.ledger_id not in (None, trusted_ledger.ledger_id):
        raise NotProved(_LEDGER, "--ledger and --ledger-id name two of them")
    if stated and trusted_id is not None and stated.ledger_id != trusted_id:
        raise NotProved(_LEDGER, f"the proof is one of ledger 0x{stated.ledger_id.hex()}")
    if trusted_ledger:
        if stated and stated.proof_key not in (b"", trusted_ledger.proof_key):
            raise NotProved(_LEDGER, "the document has another key for proofs than the ledger")
        if stated and stated.contributors and stated.contributors != trusted_ledger.contributors:
            raise NotProved(_LEDGER, "the document has other nodes than the ledger")
        return trusted_ledger
    if stated is None:
        raise NotProved(_LEDGER, "the document does not have it; name its publication by --ledger")
    if trusted_id is None:
        rests_on.append(
            f"the ledger in the document itself, id 0x{stated.ledger_id.hex()}: name one that you know by "
            "--ledger-id or --ledger"
        )
    elif len(signature) != threshold.WRAPS_LENGTH:
        raise NotProved(
            _LEDGER,
            "its key is proved by the nodes of its first address book, which its id alone does not tell: "
            "name its publication by --ledger",
        )
    elif sha256(stated.proof_key).hexdigest() != DEFAULT_PROOF_KEY:
        raise NotProved(
            _LEDGER,
            "its key for proofs is not the one that networks have by default: name its publication by "
            "--ledger",
        )
    elif stated.contributors:
        raise NotProved(_LEDGER, "the document has nodes of the ledger, which its id does not prove")
    return stated


def _parse_ledger(given: Any) -> LedgerIdentity:
    contributors = (
        Contributor(each["node_id"], each["weight"], each["history_proof_key"])
        for each in given["node_contributions"] or ()
    )
    return LedgerIdentity(
        given["ledger_id"], given["history_proof_verification_key"] or b"", tuple(contributors)
    )
