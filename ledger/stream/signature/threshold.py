"""Threshold signatures of blocks: 2,920 or 3,432 bytes that a network's nodes make together (HIP-1200).

| Part | Bytes |
|---|---|
| the verification key of the nodes' address book | 1,096 |
| their signature of the block's root hash, by it | 1,632 |
| the proof that the key is the ledger's: Schnorr, or WRAPS | 192 or 704 |

Nothing in a signature is trusted: the proof leads back to the id of the ledger, which the network has
published in a transaction.
"""

import secrets
from functools import lru_cache
from typing import Any, Final

from ledger.stream.ledger_identity import ID_LENGTH, LedgerIdentity, WrongSignature
from ledger.stream.signature import verify_proof, wraps
from ledger.stream.signature.verify_proof import Rejected, require
from ledger.stream.signature.wraps import proof_key

_KEY_LENGTH: Final = verify_proof.KEY
_PROOF_AT: Final = _KEY_LENGTH + verify_proof.SIGNATURE
SCHNORR_LENGTH: Final = _PROOF_AT + verify_proof.SCHNORR
WRAPS_LENGTH: Final = _PROOF_AT + wraps.LENGTH

# Where the signers' sum of signatures is, after the sum of their keys and their weight.
_SUM: Final = slice(_KEY_LENGTH + 128, _KEY_LENGTH + 320)

# A key is proved once, and then recurs until the next address book; the sum of the signers' keys recurs while
# the same nodes sign.
_KEYS_REMEMBERED, _SUMS_REMEMBERED = 16, 64


def verify(ledger: LedgerIdentity, message: bytes, signature: bytes) -> tuple[int, int]:
    """Return the weights of the signers and of all nodes of a ledger. Errors: WrongSignature."""
    if len(signature) not in (SCHNORR_LENGTH, WRAPS_LENGTH):
        raise WrongSignature(
            f"it has {len(signature)} bytes; threshold signatures have {SCHNORR_LENGTH} or {WRAPS_LENGTH}"
        )
    if len(ledger.ledger_id) != ID_LENGTH:
        raise WrongSignature(f"the ledger's id has {len(ledger.ledger_id)} bytes, not {ID_LENGTH}")
    try:
        key = _proved_key(ledger, signature[:_KEY_LENGTH], signature[_PROOF_AT:])
        _check(key, message, signature)
    except Rejected as error:
        raise WrongSignature(str(error)) from error
    weight = signature[_KEY_LENGTH + 96 : _KEY_LENGTH + 128]
    return int.from_bytes(weight, "little"), key[1]


class _Sum:
    """A sum of signers' keys with its proof."""

    is_proved = False


@lru_cache(maxsize=_SUMS_REMEMBERED)
def _sum_of(key_and_proof: bytes) -> _Sum:
    return _Sum()


def _check(key: tuple[Any, ...], message: bytes, signature: bytes) -> None:
    """Check all equations at once, each but the first raised to an unpredictable power. Errors: Rejected.

    If one does not hold, the product of all is one only by a chance of 1 to 2**128. So a point of the second
    group is paired once. One by one they take twice as long, but tell what is wrong. The equations of a sum
    of keys that is proved are left out.
    """
    keys = _sum_of(signature[: _SUM.start] + signature[_SUM.stop : _PROOF_AT])
    if keys.is_proved:
        aggregate, _, summed = verify_proof.read(signature[_KEY_LENGTH : _SUM.stop], "1n2")
        seconds, signing = verify_proof.signing_equation(message, aggregate, summed)
        equations = [signing]
    else:
        seconds, equations = verify_proof.equations_of(key, message, signature[_KEY_LENGTH:_PROOF_AT])
    (_, together), *rest = equations
    for _, equation in rest:
        random = 1 + secrets.randbits(128)
        together = [*together, *((point, power * random, second) for point, power, second in equation)]
    if not verify_proof.holds(together, seconds):
        for cause, equation in equations:
            require(verify_proof.holds(equation, seconds), cause)
    keys.is_proved = True


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _proved_key(ledger: LedgerIdentity, data: bytes, proof: bytes) -> tuple[Any, ...]:
    """Return the parts of a verification key that is the ledger's. Errors: WrongSignature, Rejected."""
    key = verify_proof.key_parts(data)
    if len(proof) == wraps.LENGTH:
        wraps.verify(proof_key(ledger.proof_key), ledger.ledger_id, data, proof)
    else:
        verify_proof.check_schnorr(list(ledger.contributors), ledger.ledger_id, data, proof)
    return key
