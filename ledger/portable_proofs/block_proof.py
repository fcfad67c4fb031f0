"""Verifying the proof of a transaction in a block.

The auditors' file, `verify_proof`, checks paths, order and signature. Transactions in a batch, keys that
WRAPS proves, and what a reader trusts are covered here alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

from ledger.portable_proofs import proved_items as reading
from ledger.portable_proofs.documents import BlockProofJson
from ledger.portable_proofs.proved_items import CHANGES, HEADER, RESULT, SIGNED
from ledger.portable_proofs.strict_json import FORM, NotProved, read
from ledger.portable_proofs.verdict import Transaction, Trusted, Verdict
from ledger.stream.block_names import BLOCK_VERSION
from ledger.stream.ledger_identity import Contributor, LedgerIdentity, WrongSignature
from ledger.stream.signature import threshold, verify_proof
from ledger.stream.signature.verify_proof import Rejected
from mirror.core.values import timestamp
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import BlockProof, DecodeError

_STATED, _PATHS, _BLOCK = "The transaction", "The paths", "The block"
_ORDER, _SIGNATURE = "The order of the block", "The signature of the block"
_LEDGER = "The ledger"
# The SHA-256 of the key for proofs of a ledger's history that networks have by default.
DEFAULT_PROOF_KEY: Final = "5a6d78fb8d0d1ef989db3ca9c6aff7e2bd336665af8f5ec904892522ec8f2b3d"


def verify(document: Mapping[str, object], trusted: Trusted) -> Verdict:
    """Return what a proof of the kind "block" shows. Errors: NotProved."""
    if document.get("version") != BLOCK_VERSION:
        raise NotProved(FORM, f"its version is not {BLOCK_VERSION}, that of blocks")
    stated = read(document, BlockProofJson)
    block, items = stated["block"], stated["items"]
    with _step(_BLOCK):
        verify_proof.check_header(items[HEADER]["item"], block)
    with _step(_PATHS):
        root = verify_proof.check_paths(stated)
    try:
        transaction = _transaction(items, stated)
        _check_proof_form(block["proof"])
    except DecodeError as error:
        raise NotProved(FORM, f"an item can't be parsed ({error})") from error
    unproved = _check_order(stated["before"], items, stated["batch_position"])
    with _step(_SIGNATURE):
        signed_root, signature = verify_proof.signed_root(block["proof"], block["number"], root)
    rests_on: list[str] = []
    ledger = ledger_of(stated["ledger"], trusted, signature, rests_on)
    try:
        signed, total = threshold.verify(ledger, signed_root, signature)
    except WrongSignature as error:
        raise NotProved(_SIGNATURE, f"it is refused, as {error}") from error
    later = "" if signed_root == root else ", by their signature of a later block"
    return Verdict(
        version=BLOCK_VERSION,
        transaction=transaction,
        number=block["number"],
        hash=root.hex(),
        signers=f"nodes of ledger 0x{ledger.ledger_id.hex()} with a weight of {signed} of {total}{later}",
        signed=signed,
        total=total,
        rests_on=rests_on,
        unproved=unproved,
    )


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Name the step of the proof that a failed check of the auditors' file belongs to."""
    try:
        yield
    except Rejected as error:
        raise NotProved(name, str(error)) from error


def _check_proof_form(data: bytes) -> None:
    proof = messages.parse(BlockProof, data)
    if proof.SerializeToString(deterministic=True) != data:
        raise NotProved(_SIGNATURE, "the block's proof is written otherwise than by a network")


def _transaction(items: Any, stated: Any) -> Transaction:
    """Return the transaction, if it is the one that the document states. Errors: DecodeError."""
    signed, result = reading.read(items[SIGNED]["item"]), reading.read(items[RESULT]["item"])
    position = stated["batch_position"]
    if reading.has_no_result(signed):
        raise NotProved(_STATED, "it is a signature of the state, which has no result")
    try:
        found = reading.transaction_of(signed, result, position)
    except IndexError:
        raise NotProved(_STATED, f"it is no batch with an inner transaction {position}") from None
    if position is not None and reading.parent_of(result) in (None, found.consensus_timestamp):
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
        changes = reading.read(item["item"])
        if timestamp.to_ns(changes.consensus_timestamp) != found.consensus_timestamp:
            raise NotProved(_STATED, "a change of the state in the document is of another time")
    return found


def _check_order(before: Any, items: Any, position: int | None) -> str:
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
    with _step(_ORDER):
        verify_proof.check_order(items, before)
    return ""


# LEDGER


def ledger_of(given: Any, trusted: Trusted, signature: bytes, rests_on: list[str]) -> LedgerIdentity:
    """Return the ledger, and note in `rests_on` if only the document names it. Errors: NotProved."""
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
