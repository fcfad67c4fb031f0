"""The ledger whose nodes are to have signed a block: the one that a reader knows, else the document's."""

from hashlib import sha256
from typing import Final

from ledger.proofs.portable.document import NotProved, Part
from ledger.proofs.portable.verdict import Trusted
from ledger.proofs.threshold import threshold
from ledger.proofs.threshold.identity import Contributor, LedgerIdentity

# The SHA-256 of the key for proofs of a ledger's history that networks have by default.
DEFAULT_PROOF_KEY: Final = "5a6d78fb8d0d1ef989db3ca9c6aff7e2bd336665af8f5ec904892522ec8f2b3d"

_STEP = "The ledger"


def ledger_of(given: Part | None, trusted: Trusted, signature: bytes, rests_on: list[str]) -> LedgerIdentity:
    """Return the ledger, and add to `rests_on` that it is only the document's. Errors: NotProved."""
    stated = None if given is None else _stated(given)
    known = trusted.ledger
    known_id = known.ledger_id if known else trusted.ledger_id
    if known and trusted.ledger_id not in (None, known.ledger_id):
        raise NotProved(_STEP, "--ledger and --ledger-id name two of them")
    if stated and known_id is not None and stated.ledger_id != known_id:
        raise NotProved(_STEP, f"the proof is one of ledger 0x{stated.ledger_id.hex()}")
    if known:
        if stated and stated.proof_key not in (b"", known.proof_key):
            raise NotProved(_STEP, "the document has another key for proofs than the ledger")
        if stated and stated.contributors and stated.contributors != known.contributors:
            raise NotProved(_STEP, "the document has other nodes than the ledger")
        return known
    if stated is None:
        raise NotProved(_STEP, "the document does not have it; name its publication by --ledger")
    if known_id is None:
        rests_on.append(
            f"the ledger in the document itself, id 0x{stated.ledger_id.hex()}: name one that you know by "
            "--ledger-id or --ledger"
        )
    elif len(signature) != threshold.WRAPS_LENGTH:
        raise NotProved(
            _STEP,
            "its key is proved by the nodes of its first address book, which its id alone does not tell: "
            "name its publication by --ledger",
        )
    elif sha256(stated.proof_key).hexdigest() != DEFAULT_PROOF_KEY:
        raise NotProved(
            _STEP,
            "its key for proofs is not the one that networks have by default: name its publication by "
            "--ledger",
        )
    elif stated.contributors:
        raise NotProved(_STEP, "the document has nodes of the ledger, which its id does not prove")
    return stated


def _stated(part: Part) -> LedgerIdentity:
    ledger_id = part.data("ledger_id")
    key = part.data_or_none("history_proof_verification_key")
    nodes = part.parts_or_none("node_contributions")
    part.finish()
    return LedgerIdentity(ledger_id, key or b"", tuple(map(_contributor, nodes or ())))


def _contributor(part: Part) -> Contributor:
    made = Contributor(part.number("node_id"), part.number("weight"), part.data("history_proof_key"))
    part.finish()
    return made
