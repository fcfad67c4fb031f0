"""Threshold signatures of the hinTS scheme: one short signature of nodes that hold enough weight.

A verification key commits to the BLS keys and the weights of all nodes. A signature has the sum of the keys
and of the signatures of those nodes that signed, the sum of their weights, and a proof that these are the
sums of the same nodes. Everything is over BLS12-381 (G1 and G2 with their pairing); the proof is a set of
polynomials over the n-th roots of unity, opened at a point r that a signer can't choose.

Points are uncompressed big-endian coordinates, for G2 the imaginary part first; scalars are little-endian.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from ledger.proofs.threshold.encoding import SCALAR_LENGTH, Values, WrongSignature

KEY_LENGTH: Final = 1096
SIGNATURE_LENGTH: Final = 1632

# The order of the groups.
ORDER: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
_GENERATOR_OF_SCALARS = 7
_MESSAGE_TAG = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
_CHALLENGE_TAG = b"HINTS_SIG_BLS12381:FIAT_SHAMIR"
_CHALLENGE_LENGTH = 48
# Networks pad with as many zeros as the answer has, not with a block of SHA-256, which is 64 long.
_CHALLENGE_PADDING = 48
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
    if data == _infinity(_G1):
        return G1Point.identity()
    _require_point(data)
    try:
        return G1Point.from_xy_bytes_be(data)
    except ValueError as error:
        raise WrongSignature(f"a point in it is not one of the first group ({error})") from error


def g2_point(data: bytes) -> G2Point:
    """Return the point of G2 at these coordinates. Errors: WrongSignature."""
    if data == _infinity(_G2):
        return G2Point.identity()
    _require_point(data)
    try:
        return G2Point.from_xy_bytes_be(_swapped(data))
    except ValueError as error:
        raise WrongSignature(f"a point in it is not one of the second group ({error})") from error


def _require_point(data: bytes) -> None:
    """Refuse zeros: the library takes them for infinity too, which has one encoding alone."""
    if not any(data):
        raise WrongSignature("a point in it has coordinates of zero")


def g1_bytes(point: G1Point) -> bytes:
    return _infinity(_G1) if point == G1Point.identity() else bytes(point.to_xy_bytes_be())


def g2_bytes(point: G2Point) -> bytes:
    return _infinity(_G2) if point == G2Point.identity() else _swapped(bytes(point.to_xy_bytes_be()))


def _swapped(data: bytes) -> bytes:
    """Change the order of the parts of both coordinates: the library has the real one first."""
    part = _G2 // 4
    return b"".join(data[start : start + part] for start in (part, 0, 3 * part, 2 * part))


def _infinity(length: int) -> bytes:
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
        key = cls(
            slots,
            read.scalar(),
            read.g1(),
            read.g2(),
            read.g2(),
            read.g1(),
            read.g1(),
            read.g2(),
            read.g2(),
        )
        if key.g0 != G1Point() or key.h0 != G2Point():
            raise WrongSignature("its verification key has other generators than the curve's")
        return key


@dataclass(frozen=True)
class _Signature:
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
    def of(cls, data: bytes) -> "_Signature":
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
    signature = _Signature.of(data)
    if signature.aggregate_weight > key.total_weight:
        raise WrongSignature(
            f"nodes with a weight of {signature.aggregate_weight} have signed, but all nodes together have "
            f"{key.total_weight}"
        )
    if 2 * signature.aggregate_weight <= key.total_weight:
        raise WrongSignature(
            f"nodes with a weight of {signature.aggregate_weight} of {key.total_weight} have signed, which "
            "is not more than half"
        )
    signed = hash_to_curve(message)
    r = _challenge(key, signature)
    root = root_of_unity(key.slots)
    before = r * pow(root, -1, ORDER) % ORDER
    relations = _relations_hold(key, signature, r, root)
    if relations and _all_hold(key, signed, signature, r, before):
        return
    # One by one they take twice as long, but tell what is wrong.
    if not _signs(key, signed, signature):
        raise WrongSignature("it is not a signature of this block")
    if not (relations and _openings_hold(key, signature, r, before)):
        raise WrongSignature("its proof does not hold: these are not the keys and weights of its nodes")
    raise WrongSignature("its proof does not hold: this is not the sum of its nodes' keys")


def _all_hold(key: VerificationKey, signed: G2Point, signature: _Signature, r: int, before: int) -> bool:
    """Return whether all equations of pairings hold: those of `_signs` and `_openings_hold`, and that the
    aggregate key is the sum of the keys of the nodes in the bitmap.

    Each but the first is multiplied by an unpredictable random number, and all are added up: the
    sum holds if all hold, and if one does not only by a chance of 1 to 2**128. So a point of the second group
    that occurs in several equations is paired once.
    """
    opened, opened_before, summed, shifted = (1 + secrets.randbits(128) for _ in range(4))
    polynomials = [
        (signature.partial_sums, signature.sum_at),
        (key.weights, signature.weight_at),
        (signature.bitmap, signature.bit_at),
        (signature.q1, signature.q1_at),
        (signature.q3, signature.q3_at),
        (signature.q2, signature.q2_at),
        (signature.q4, signature.q4_at),
    ]
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
    return G1Point.multiexp_unchecked(list(points), [scalar(number) for number in numbers])


def _signs(key: VerificationKey, signed: G2Point, signature: _Signature) -> bool:
    return GT.pairing_check(
        [signature.aggregate_key, -key.g0],
        [signed, signature.aggregate_signature],
    )


def hash_to_curve(message: bytes) -> G2Point:
    """Return the point of G2 that nodes sign for a message."""
    return G2Point.hash_to_curve(message, _MESSAGE_TAG)


def challenge_of(key: VerificationKey, data: bytes) -> int:
    """Return the point r of a signature, whatever its openings and values are. Errors: WrongSignature."""
    return _challenge(key, _Signature.of(data))


def _challenge(key: VerificationKey, signature: _Signature) -> int:
    """Return the point r, which all that is proved decides."""
    content = b"".join(
        (
            bytes(key.keys.to_compressed_bytes()),
            bytes(key.h1.to_compressed_bytes()),
            bytes(signature.aggregate_key.to_compressed_bytes()),
            signature.aggregate_weight.to_bytes(SCALAR_LENGTH, "little"),
            *(
                bytes(point.to_compressed_bytes())
                for point in (
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
            ),
        )
    )
    return int.from_bytes(_expanded(content), "big") % ORDER


def _expanded(content: bytes) -> bytes:
    """RFC 9380, expand_message_xmd with SHA-256, but for the padding."""
    tag = _CHALLENGE_TAG + bytes([len(_CHALLENGE_TAG)])
    length = _CHALLENGE_LENGTH.to_bytes(2, "big")
    first = hashlib.sha256(bytes(_CHALLENGE_PADDING) + content + length + b"\0" + tag).digest()
    part = hashlib.sha256(first + b"\1" + tag).digest()
    answer = part
    number = 2
    while len(answer) < _CHALLENGE_LENGTH:
        mixed = bytes(a ^ b for a, b in zip(first, part, strict=True))
        part = hashlib.sha256(mixed + bytes([number]) + tag).digest()
        answer += part
        number += 1
    return answer[:_CHALLENGE_LENGTH]


def root_of_unity(slots: int) -> int:
    """Return the primitive root of unity whose powers are the places of the nodes."""
    return pow(_GENERATOR_OF_SCALARS, (ORDER - 1) // slots, ORDER)


def _openings_hold(key: VerificationKey, signature: _Signature, r: int, before: int) -> bool:
    """Return whether the commitments have their values at r, and the sums theirs one place before."""
    commitments = [
        signature.partial_sums,
        key.weights - key.last_lagrange * scalar(signature.aggregate_weight),
        signature.bitmap,
        signature.q1,
        signature.q3,
        signature.q2,
        signature.q4,
    ]
    values = [
        signature.sum_at,
        signature.weight_at,
        signature.bit_at,
        signature.q1_at,
        signature.q3_at,
        signature.q2_at,
        signature.q4_at,
    ]
    powers = [pow(r, power, ORDER) for power in range(len(values))]
    value = sum(power * value for power, value in zip(powers, values, strict=True)) % ORDER
    combined = G1Point.multiexp_unchecked(commitments, list(map(scalar, powers))) - key.g0 * scalar(value)
    at_r = GT.pairing_check(
        [combined, -signature.opening],
        [key.h0, key.h1 - key.h0 * scalar(r)],
    )
    return at_r and GT.pairing_check(
        [signature.partial_sums - key.g0 * scalar(signature.sum_before), -signature.opening_before],
        [key.h0, key.h1 - key.h0 * scalar(before)],
    )


def _relations_hold(key: VerificationKey, signature: _Signature, r: int, root: int) -> bool:
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


def scalar(number: int) -> Scalar:
    return Scalar.from_le_bytes((number % ORDER).to_bytes(SCALAR_LENGTH, "little"))
