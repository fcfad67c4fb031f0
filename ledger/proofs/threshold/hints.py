"""Threshold signatures of the hinTS scheme: one short signature of nodes that hold enough weight.

A verification key commits to the BLS keys and the weights of all nodes. A signature has the sum of the keys
and of the signatures of those nodes that signed, the sum of their weights, and a proof that these are the
sums of the same nodes. Everything is over BLS12-381 (G1 and G2 with their pairing); the proof is a set of
polynomials over the n-th roots of unity, opened at a point r that a signer can't choose.

Points are uncompressed big-endian coordinates, for G2 the imaginary part first; scalars are little-endian.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from py_arkworks_bls12381 import GT, G1Point, G2Point

from ledger.proofs.threshold.encoding import SCALAR_LENGTH, Values, WrongSignature
from ledger.proofs.threshold.verify_proof import ORDER, challenge, scalar

KEY_LENGTH: Final = 1096
SIGNATURE_LENGTH: Final = 1632

_GENERATOR_OF_SCALARS = 7
_MESSAGE_TAG = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
_MOST_SLOTS = 1 << 20
_G1, _G2 = 96, 192


class _Values(Values):
    ORDER = ORDER

    def g1(self) -> G1Point:
        return g1_point(self.take(_G1))

    def g2(self) -> G2Point:
        return g2_point(self.take(_G2))


def g1_point(data: bytes) -> G1Point:
    """Return the point of G1 at these coordinates. Errors: WrongSignature."""
    if data == infinity(_G1):
        return G1Point.identity()
    point: G1Point = _point(G1Point, "first", data)
    return point


def g2_point(data: bytes) -> G2Point:
    """Return the point of G2 at these coordinates. Errors: WrongSignature."""
    if data == infinity(_G2):
        return G2Point.identity()
    point: G2Point = _point(G2Point, "second", swapped(data))
    return point


def _point(group: Any, name: str, data: bytes) -> Any:
    if not any(data):
        # The library takes zeros for infinity too, which has one encoding alone.
        raise WrongSignature("a point in it has coordinates of zero")
    try:
        return group.from_xy_bytes_be(data)
    except ValueError as error:
        raise WrongSignature(f"a point in it is not one of the {name} group ({error})") from error


def swapped(data: bytes) -> bytes:
    """Change the order of the parts of both coordinates of G2: the library has the real one first."""
    part = _G2 // 4
    return b"".join(data[start : start + part] for start in (part, 0, 3 * part, 2 * part))


def infinity(length: int) -> bytes:
    return b"\x40" + bytes(length - 1)


@dataclass(frozen=True)
class VerificationKey:
    """The commitments to the keys and weights of a network's nodes; see the module.

    `slots` is the number of places for nodes, a power of two.
    """

    slots: int
    total_weight: int
    g0: G1Point
    h0: G2Point
    h1: G2Point
    last_lagrange: G1Point
    weights: G1Point
    keys: G2Point
    vanishing: G2Point

    @classmethod
    def of(cls, data: bytes) -> "VerificationKey":
        """Errors: WrongSignature."""
        if len(data) != KEY_LENGTH:
            raise WrongSignature(f"its verification key has {len(data)} bytes, not {KEY_LENGTH}")
        slots = int.from_bytes(data[:8], "little")
        if not 1 < slots <= _MOST_SLOTS or slots & (slots - 1):
            raise WrongSignature(f"its verification key has {slots} slots, which is no power of two")
        read = _Values(data[8:])
        head = read.scalar(), read.g1(), read.g2(), read.g2()
        key = cls(slots, *head, read.g1(), read.g1(), read.g2(), read.g2())
        if key.g0 != G1Point() or key.h0 != G2Point():
            raise WrongSignature("its verification key has other generators than the curve's")
        return key


@dataclass(frozen=True)
class Signature:
    """The parts of a signature in their order."""

    aggregate_key: G1Point
    aggregate_weight: int
    aggregate_signature: G2Point
    bitmap: G1Point
    qx: G1Point
    qx_tau: G1Point
    qz: G1Point
    partial_sums: G1Point
    q1: G1Point
    q3: G1Point
    q2: G1Point
    q4: G1Point
    opening: G1Point
    opening_before: G1Point
    # The values of the polynomials at r, but for the second, which is at r divided by the root of unity.
    sum_at: int
    sum_before: int
    weight_at: int
    bit_at: int
    q1_at: int
    q3_at: int
    q2_at: int
    q4_at: int

    @classmethod
    def of(cls, data: bytes) -> "Signature":
        """Errors: WrongSignature."""
        if len(data) != SIGNATURE_LENGTH:
            raise WrongSignature(f"it has {len(data)} bytes, not {SIGNATURE_LENGTH}")
        read = _Values(data)
        aggregate = read.g1(), read.scalar(), read.g2()
        points: list[Any] = [read.g1() for _ in range(11)]
        return cls(*aggregate, *points, *[read.scalar() for _ in range(8)])


def verify(key: VerificationKey, message: bytes, data: bytes) -> None:
    """Require that nodes with more than half of the weight have signed a message.

    Errors: WrongSignature.
    """
    signature = Signature.of(data)
    weight, total = signature.aggregate_weight, key.total_weight
    if weight > total:
        raise WrongSignature(
            f"nodes with a weight of {weight} have signed, but all nodes together have {total}"
        )
    if 2 * weight <= total:
        raise WrongSignature(
            f"nodes with a weight of {weight} of {total} have signed, which is not more than half"
        )
    signed = hash_to_curve(message)
    r = challenge_of(key, signature)
    root = root_of_unity(key.slots)
    before = r * pow(root, -1, ORDER) % ORDER
    relations = _relations_hold(key, signature, r, root)
    if relations and _all_hold(key, signed, signature, r, before):
        return
    # One by one they take twice as long, but tell what is wrong.
    if not GT.pairing_check([signature.aggregate_key, -key.g0], [signed, signature.aggregate_signature]):
        raise WrongSignature("it is not a signature of this block")
    if not (relations and _openings_hold(key, signature, r, before)):
        raise WrongSignature("its proof does not hold: these are not the keys and weights of its nodes")
    raise WrongSignature("its proof does not hold: this is not the sum of its nodes' keys")


def _polynomials(key: VerificationKey, signature: Signature) -> list[tuple[G1Point, int]]:
    """Return the polynomials that are opened at r, with their values; the weights without the signers'."""
    return [
        (signature.partial_sums, signature.sum_at),
        (key.weights, signature.weight_at),
        (signature.bitmap, signature.bit_at),
        (signature.q1, signature.q1_at),
        (signature.q3, signature.q3_at),
        (signature.q2, signature.q2_at),
        (signature.q4, signature.q4_at),
    ]


def _all_hold(key: VerificationKey, signed: G2Point, signature: Signature, r: int, before: int) -> bool:
    """Return whether all equations of pairings hold: that of the signature, those of `_openings_hold`, and
    that the aggregate key is the sum of the keys of the nodes in the bitmap.

    Each but the first is multiplied by an unpredictable random number, and all are added up: the
    sum holds if all hold, and if one does not only by a chance of 1 to 2**128. So a point of the second group
    that occurs in several equations is paired once.
    """
    opened, opened_before, summed, shifted = (1 + secrets.randbits(128) for _ in range(4))
    polynomials = _polynomials(key, signature)
    powers = [opened * pow(r, power, ORDER) for power in range(len(polynomials))]
    values = sum(power * value for power, (_, value) in zip(powers, polynomials, strict=True))
    with_h0 = [
        *((commitment, power) for power, (commitment, _) in zip(powers, polynomials, strict=True)),
        (key.last_lagrange, -powers[1] * signature.aggregate_weight),
        (key.g0, -values - opened_before * signature.sum_before),
        (signature.opening, opened * r),
        (signature.partial_sums, opened_before),
        (signature.opening_before, opened_before * before),
        (signature.aggregate_key, -summed),
        (signature.qx_tau, -shifted),
    ]
    with_h1 = [
        (signature.opening, -opened),
        (signature.opening_before, -opened_before),
        (signature.qx, shifted - summed),
    ]
    return GT.pairing_check(
        [
            signature.aggregate_key,
            -key.g0,
            _sum(with_h0),
            _sum(with_h1),
            signature.bitmap * scalar(summed),
            -(signature.qz * scalar(summed)),
        ],
        [signed, signature.aggregate_signature, key.h0, key.h1, key.keys, key.vanishing],
    )


def _sum(products: Sequence[tuple[G1Point, int]]) -> G1Point:
    """Return the sum of points, each multiplied by a number."""
    points, numbers = zip(*products, strict=True)
    return G1Point.multiexp_unchecked(list(points), list(map(scalar, numbers)))


def _openings_hold(key: VerificationKey, signature: Signature, r: int, before: int) -> bool:
    """Return whether the commitments have their values at r, and the sums theirs one place before."""
    powers = [pow(r, power, ORDER) for power in range(7)]
    polynomials = _polynomials(key, signature)
    value = sum(power * value for power, (_, value) in zip(powers, polynomials, strict=True))
    combined = _sum(
        [
            *((commitment, power) for power, (commitment, _) in zip(powers, polynomials, strict=True)),
            (key.last_lagrange, -powers[1] * signature.aggregate_weight),
            (key.g0, -value),
        ]
    )
    sums_before = signature.partial_sums - key.g0 * scalar(signature.sum_before)
    return all(
        GT.pairing_check([commitment, -opening], [key.h0, key.h1 - key.h0 * scalar(place)])
        for commitment, opening, place in (
            (combined, signature.opening, r),
            (sums_before, signature.opening_before, before),
        )
    )


def _relations_hold(key: VerificationKey, signature: Signature, r: int, root: int) -> bool:
    """Return whether the sums are those of the weights in the bitmap, and the bitmap consists of bits."""
    slots = key.slots
    zero = (pow(r, slots, ORDER) - 1) % ORDER
    last = pow(root, slots - 1, ORDER)
    if r == last:
        return False
    lagrange = last * pow(slots, -1, ORDER) * zero * pow(r - last, -1, ORDER) % ORDER
    step = signature.sum_at - signature.sum_before - signature.weight_at * signature.bit_at
    return (
        (step - signature.q1_at * zero) % ORDER == 0
        and (lagrange * signature.sum_at - zero * signature.q3_at) % ORDER == 0
        and (signature.bit_at**2 - signature.bit_at - zero * signature.q2_at) % ORDER == 0
        and (lagrange * (signature.bit_at - 1) - zero * signature.q4_at) % ORDER == 0
    )


def hash_to_curve(message: bytes) -> G2Point:
    """Return the point of G2 that nodes sign for a message."""
    return G2Point.hash_to_curve(message, _MESSAGE_TAG)


def root_of_unity(slots: int) -> int:
    """Return the primitive root of unity whose powers are the places of the nodes."""
    return pow(_GENERATOR_OF_SCALARS, (ORDER - 1) // slots, ORDER)


def challenge_of(key: VerificationKey, signature: Signature) -> int:
    """Return the point r, which all that is proved decides, but not openings and values."""
    transcript: Any = (
        key.keys,
        key.h1,
        signature.aggregate_key,
        signature.aggregate_weight,
        key.weights,
        signature.bitmap,
        signature.partial_sums,
        signature.qx,
        signature.qz,
        signature.qx_tau,
        signature.q1,
        signature.q2,
        signature.q3,
        signature.q4,
    )
    return challenge(
        b"".join(
            part.to_bytes(SCALAR_LENGTH, "little")
            if isinstance(part, int)
            else bytes(part.to_compressed_bytes())
            for part in transcript
        )
    )
