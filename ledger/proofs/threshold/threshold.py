"""Threshold signatures of blocks: 2,920 or 3,432 bytes that a network's nodes make together (HIP-1200).

| Part | Bytes |
|---|---|
| the verification key of the nodes' address book | 1,096 |
| their signature of the block's root hash, by it | 1,632 |
| the proof that the key is the ledger's: Schnorr, or WRAPS | 192 or 704 |

Nothing in a signature is trusted: the proof leads back to the id of the ledger, which the network has
published in a transaction.
"""

from functools import lru_cache
from typing import Final

from ledger.proofs.threshold import hints, schnorr, wraps
from ledger.proofs.threshold.encoding import WrongSignature
from ledger.proofs.threshold.hints import VerificationKey
from ledger.proofs.threshold.identity import ID_LENGTH, LedgerIdentity
from ledger.proofs.threshold.verify_proof import poseidon
from ledger.proofs.threshold.wraps import proof_key

_PROOF_AT: Final = hints.KEY_LENGTH + hints.SIGNATURE_LENGTH
SCHNORR_LENGTH: Final = _PROOF_AT + schnorr.LENGTH
WRAPS_LENGTH: Final = _PROOF_AT + wraps.LENGTH

# A key is proved once, and then recurs until the next address book.
_KEYS_REMEMBERED = 16


def verify(ledger: LedgerIdentity, message: bytes, signature: bytes) -> None:
    """Require that the nodes of a ledger have signed a message, the root hash of a block.

    Errors: WrongSignature.
    """
    if len(signature) not in (SCHNORR_LENGTH, WRAPS_LENGTH):
        raise WrongSignature(
            f"it has {len(signature)} bytes; threshold signatures have {SCHNORR_LENGTH} or {WRAPS_LENGTH}"
        )
    if len(ledger.ledger_id) != ID_LENGTH:
        raise WrongSignature(f"the ledger's id has {len(ledger.ledger_id)} bytes, not {ID_LENGTH}")
    key = _proved_key(ledger, signature[: hints.KEY_LENGTH], signature[_PROOF_AT:])
    hints.verify(key, message, signature[hints.KEY_LENGTH : _PROOF_AT])


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _proved_key(ledger: LedgerIdentity, data: bytes, proof: bytes) -> VerificationKey:
    """Return a verification key that is the ledger's. Errors: WrongSignature."""
    key = VerificationKey.of(data)
    if len(proof) == wraps.LENGTH:
        wraps.verify(proof_key(ledger.proof_key), ledger.ledger_id, data, proof)
    else:
        statement = ledger.ledger_id + poseidon(data).to_bytes(32, "little")
        schnorr.verify(ledger.contributors, statement, proof)
    return key
