"""Encodings of points and numbers in threshold signatures: each value has one, and all others are refused."""

import pytest
from py_arkworks_bls12381 import G1Point, G2Point

from ledger.stream.ledger_identity import Contributor, LedgerIdentity, WrongSignature
from ledger.stream.signature import threshold, verify_proof, wraps
from ledger.stream.signature.verify_proof import Rejected, key_parts, read
from mirror.core.values.bn254 import fields as bn254_fields
from mirror.demo.streams.threshold_signer import ThresholdSigner, g1_bytes, g2_bytes

# The field of coordinates of BLS12-381.
FIELD = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
COORDINATE = 48
G1, G2 = g1_bytes(G1Point()), g2_bytes(G2Point())
SIGNER = ThresholdSigner({0: 10, 1: 10, 2: 10}, "a network of tests")
MESSAGE = bytes(range(48))


def greater(point: bytes, place: int) -> bytes:
    """The point with a coordinate that is the same modulo the field."""
    start = place * COORDINATE
    number = int.from_bytes(point[start : start + COORDINATE]) + FIELD
    return point[:start] + number.to_bytes(COORDINATE) + point[start + COORDINATE :]


def flagged(point: bytes, place: int, flag: int) -> bytes:
    changed = bytearray(point)
    changed[place * COORDINATE] |= flag
    return bytes(changed)


def coordinates(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(COORDINATE) for number in numbers)


@pytest.mark.parametrize(
    "data",
    [
        *(greater(G1, place) for place in range(2)),
        *(flagged(G1, place, flag) for place in range(2) for flag in (0x80, 0x40, 0x20)),
        bytes(96),
        b"\x40" + bytes(94) + b"\1",
        b"\xc0" + bytes(95),
        b"\x60" + bytes(95),
        coordinates(FIELD, 0),
        coordinates(1, 1),
        # On the curve, y^2 = x^3 + 4, but of a small group.
        coordinates(0, 2),
    ],
)
def test_points_of_the_first_group_have_one_encoding(data):
    with pytest.raises((Rejected, ValueError)):
        read(data, "1")


@pytest.mark.parametrize(
    "data",
    [
        *(greater(G2, place) for place in range(4)),
        *(flagged(G2, place, flag) for place in range(4) for flag in (0x80, 0x40, 0x20)),
        bytes(192),
        b"\x40" + bytes(190) + b"\1",
        b"\xc0" + bytes(191),
        coordinates(0, 1, 0, 1),
    ],
)
def test_points_of_the_second_group_have_one_encoding(data):
    with pytest.raises((Rejected, ValueError)):
        read(data, "2")


def test_infinity_is_a_point_of_both_groups():
    assert read(b"\x40" + bytes(95), "1") == [G1Point.identity()]
    assert read(b"\x40" + bytes(191), "2") == [G2Point.identity()]


@pytest.mark.parametrize("slots", [0, 1, 3, 6, 1 << 21, 1 << 63, (1 << 64) - 1])
def test_a_key_has_a_power_of_two_of_slots(slots):
    key = SIGNER.sign(MESSAGE)[: verify_proof.KEY]

    with pytest.raises(Rejected, match=f"has {slots} slots"):
        key_parts(slots.to_bytes(8, "little") + key[8:])


def numbers_of_a_signature() -> list[int]:
    """The places of all scalars: the total weight, the weight that signed, and the values of polynomials."""
    values = range(verify_proof.KEY + 1376, verify_proof.KEY + verify_proof.SIGNATURE, 32)
    return [8, verify_proof.KEY + 96, *values]


@pytest.mark.parametrize("place", numbers_of_a_signature())
@pytest.mark.parametrize("number", [None, 2**256 - 1])
def test_a_number_is_less_than_the_order_of_the_curve(place, number):
    signature = bytearray(SIGNER.sign(MESSAGE))
    same = int.from_bytes(signature[place : place + 32], "little") + verify_proof.ORDER
    signature[place : place + 32] = (number or same).to_bytes(32, "little")

    with pytest.raises(WrongSignature, match="greater than the order"):
        threshold.verify(SIGNER.identity, MESSAGE, bytes(signature))


def test_no_weight_is_enough_where_all_is_infinite():
    """A signature of points at infinity only, which satisfies each pairing, proves nothing."""
    infinite = b"\x40" + bytes(95), b"\x40" + bytes(191)
    weight = (30).to_bytes(32, "little")
    forged = infinite[0] + weight + infinite[1] + 11 * infinite[0] + bytes(8 * 32)
    signed = SIGNER.sign(MESSAGE)

    with pytest.raises(WrongSignature, match="its proof does not hold"):
        threshold.verify(
            SIGNER.identity,
            MESSAGE,
            signed[: verify_proof.KEY] + forged + signed[verify_proof.KEY + verify_proof.SIGNATURE :],
        )


def test_a_weight_beyond_the_total_is_not_proved():
    signature = bytearray(SIGNER.sign(MESSAGE))
    place = verify_proof.KEY + 96
    signature[place : place + 32] = (verify_proof.ORDER - 1).to_bytes(32, "little")

    with pytest.raises(WrongSignature, match="but all nodes together have 30"):
        threshold.verify(SIGNER.identity, MESSAGE, bytes(signature))


# THE PROOF OF THE KEY


def identity_with(key: bytes) -> LedgerIdentity:
    ledger = SIGNER.identity
    first, *others = ledger.contributors
    return ledger._replace(contributors=(first._replace(key=key + first.key[64:]), *others))


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        (1, 1, "no point of the curve"),
        (0, 1 + verify_proof.FIELD, "no point of the curve"),
        # The point of order 2, and a point with it added.
        (0, verify_proof.FIELD - 1, "not one of the generator's group"),
        (*(-each % verify_proof.FIELD for each in verify_proof.GENERATOR), "generator's group"),
    ],
)
def test_the_key_of_a_node_is_a_point_of_the_group(x, y, reason):
    key = x.to_bytes(32, "little") + y.to_bytes(32, "little")

    with pytest.raises(WrongSignature, match=reason):
        threshold.verify(identity_with(key), MESSAGE, SIGNER.sign(MESSAGE))


def test_an_address_book_has_at_most_128_nodes():
    many = tuple(Contributor(number, 1, b"") for number in range(129))

    with pytest.raises(WrongSignature, match="has 129 nodes"):
        threshold.verify(SIGNER.identity._replace(contributors=many), MESSAGE, SIGNER.sign(MESSAGE))


# BN254


def compressed(number: int, flags: int = 0) -> bytes:
    data = bytearray(number.to_bytes(32, "little"))
    data[-1] |= flags
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        compressed(1 + bn254_fields.FIELD),
        compressed(0, 0xC0),
        compressed(1, 0x40),
        compressed(1, 0xC0),
        # x^3 + 3 is no square.
        compressed(4),
    ],
)
def test_compressed_points_have_one_encoding(data):
    with pytest.raises(WrongSignature):
        wraps.g1(data)


@pytest.mark.parametrize(
    ("real", "imaginary"),
    [
        (compressed(bn254_fields.FIELD), compressed(0)),
        (compressed(0), compressed(bn254_fields.FIELD)),
        (compressed(0), compressed(0, 0x40)),
        (compressed(0), compressed(0, 0xC0)),
        (compressed(0, 0x80), compressed(0)),
        (compressed(0), compressed(0)),
    ],
)
def test_compressed_points_of_the_second_group_have_one_encoding(real, imaginary):
    with pytest.raises(WrongSignature):
        wraps.g2(real + imaginary)


def test_a_pairing_refuses_points_outside_of_the_group():
    for real in range(1, 50):
        try:
            outside = wraps.g2(compressed(real) + compressed(0))
        except WrongSignature:
            continue
        with pytest.raises(WrongSignature, match="not of the curve's group"):
            wraps.pairing_is_one([((1, 2), outside)])
        return
    raise AssertionError
