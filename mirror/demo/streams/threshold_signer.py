"""Making threshold signatures, for simulated networks and tests: never safe outside of them.

In a real network no party knows the secret point tau that the commitments of a verification key are made at,
and no node the keys of others. Here one object knows all of it, so a commitment is one multiplication.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from py_arkworks_bls12381 import G1Point, G2Point

from ledger.proofs.threshold import verify_proof
from ledger.proofs.threshold.identity import Contributor, LedgerIdentity
from ledger.proofs.threshold.verify_proof import (
    GENERATOR,
    GROUP,
    MESSAGE_TAG,
    ORDER,
    SIGNATURE_FORM,
    add,
    key_parts,
    poseidon,
    read,
    scalar,
    times,
)

_NUMBER: Final = 32
_INFINITE: Final = b"\x40"

# The coefficients of a polynomial, the constant first.
Polynomial = list[int]


@dataclass(frozen=True)
class ThresholdSigner:
    """All nodes of a network: their weights by node id. The secrets come from `seed`."""

    weights: dict[int, int]
    seed: str = ""

    @cached_property
    def identity(self) -> LedgerIdentity:
        """What the network publishes; its proof key is empty, as it has no proofs of the kind WRAPS."""
        contributors = tuple(
            Contributor(node, weight, self._history_key(node)) for node, weight in self._nodes
        )
        return LedgerIdentity(hashlib.sha256(f"{self.seed} ledger".encode()).digest(), b"", contributors)

    def sign(self, message: bytes, nodes: Collection[int] | None = None) -> bytes:
        """Return the signature of a message by these nodes, or by all."""
        return self._key + self._signature(message, nodes) + self._key_proof

    # KEYS

    @cached_property
    def _nodes(self) -> list[tuple[int, int]]:
        return sorted(self.weights.items())

    @cached_property
    def _slots(self) -> int:
        """The number of places, of which the last one belongs to no node."""
        return 1 << len(self._nodes).bit_length()

    @cached_property
    def _root(self) -> int:
        return pow(7, (ORDER - 1) // self._slots, ORDER)

    def _secret(self, name: object, order: int = ORDER) -> int:
        digest = hashlib.sha512(f"{self.seed} {name}".encode()).digest()
        return int.from_bytes(digest, "big") % (order - 1) + 1

    @cached_property
    def _tau(self) -> int:
        return self._secret("tau")

    @cached_property
    def _weights_at_places(self) -> Polynomial:
        return self._polynomial([weight for _, weight in self._nodes])

    @cached_property
    def _keys_at_places(self) -> Polynomial:
        return self._polynomial([self._secret(("key", node)) for node, _ in self._nodes])

    @cached_property
    def _key(self) -> bytes:
        last = self._polynomial([0] * (self._slots - 1) + [1])
        return b"".join(
            (
                self._slots.to_bytes(8, "little"),
                _number(sum(self.weights.values())),
                g1_bytes(G1Point()),
                g2_bytes(G2Point()),
                _second(self._tau),
                self._committed(last),
                self._committed(self._weights_at_places),
                _second(_value(self._keys_at_places, self._tau)),
                _second(pow(self._tau, self._slots, ORDER) - 1),
            )
        )

    # SIGNATURE

    def _signature(self, message: bytes, nodes: Collection[int] | None) -> bytes:
        signs = [nodes is None or node in nodes for node, _ in self._nodes]
        bits = [int(each) for each in signs] + [0] * (self._slots - len(signs))
        bits[-1] = 1
        weight = sum(weight for (_, weight), has_signed in zip(self._nodes, signs, strict=True) if has_signed)
        secrets = [
            self._secret(("key", node))
            for (node, _), has_signed in zip(self._nodes, signs, strict=True)
            if has_signed
        ]
        # The mean over all places is the constant of the product of keys and bits.
        secret = sum(secrets) * pow(self._slots, -1, ORDER) % ORDER
        signature = G2Point.hash_to_curve(message, MESSAGE_TAG) * scalar(secret)
        head = _first(secret) + _number(weight) + g2_bytes(signature)
        bitmap = self._polynomial(bits)
        last = self._polynomial([0] * (self._slots - 1) + [1])
        weights = _minus(self._weights_at_places, [weight * each % ORDER for each in last])
        sums = self._sums([_value(weights, self._place(index)) * bit for index, bit in enumerate(bits)])
        sums_before = [value * pow(self._root, -power, ORDER) % ORDER for power, value in enumerate(sums)]
        q1, _ = self._divided(_minus(_minus(sums, sums_before), _times(weights, bitmap)))
        q3, _ = self._divided(_times(last, sums))
        q2, _ = self._divided(_minus(_times(bitmap, bitmap), bitmap))
        q4, _ = self._divided(_times(last, _minus(bitmap, [1])))
        qz, rest = self._divided(_times(bitmap, self._keys_at_places))
        qx = rest[1:]
        points = b"".join(
            (
                self._committed(bitmap),
                self._committed(qx),
                self._committed([0, *qx]),
                *map(self._committed, (qz, sums, q1, q3, q2, q4)),
            )
        )
        r = self._challenge(head + points)
        polynomials = (sums, weights, bitmap, q1, q3, q2, q4)
        values = [_value(each, r) for each in polynomials]
        opened = sum(
            pow(r, power, ORDER) * (_value(each, self._tau) - value)
            for power, (each, value) in enumerate(zip(polynomials, values, strict=True))
        )
        before = r * pow(self._root, -1, ORDER) % ORDER
        value_before = _value(sums, before)
        openings = (
            _first(opened * pow(self._tau - r, -1, ORDER)),
            _first((_value(sums, self._tau) - value_before) * pow(self._tau - before, -1, ORDER)),
        )
        numbers = (values[0], value_before, *values[1:])
        return head + points + b"".join(openings) + b"".join(map(_number, numbers))

    def _challenge(self, beginning: bytes) -> int:
        """Return the point r for a signature of which only its points are known."""
        unknown = g1_bytes(G1Point()) * 2 + bytes(8 * _NUMBER)
        key, signature = key_parts(self._key), read(beginning + unknown, SIGNATURE_FORM)
        return verify_proof.challenge(key, signature)

    # THE PROOF OF THE KEY

    def _history_key(self, node: int) -> bytes:
        """Return a node's key, and the proof that it has the secret of it."""
        secret = self._secret(("history", node), GROUP)
        nonce = self._secret(("possession", node), GROUP)
        key, commitment = times(GENERATOR, secret), times(GENERATOR, nonce)
        challenge = verify_proof.schnorr_challenge(key, commitment, b"")
        response = (nonce + challenge * secret) % GROUP
        return b"".join(map(_number, (*key, *commitment, challenge, response)))

    @cached_property
    def _key_proof(self) -> bytes:
        message = self.identity.ledger_id + poseidon(self._key).to_bytes(_NUMBER, "little")
        secret = sum(self._secret(("history", node), GROUP) for node, _ in self._nodes)
        nonce = self._secret("statement", GROUP)
        key = verify_proof.NEUTRAL
        for each in self.identity.contributors:
            x, y = (
                int.from_bytes(part, "little")
                for part in (each.key[:_NUMBER], each.key[_NUMBER : 2 * _NUMBER])
            )
            key = add(key, (x, y))
        challenge = verify_proof.schnorr_challenge(key, times(GENERATOR, nonce), message)
        response = (nonce - challenge * secret) % GROUP
        signed = bytes([1] * len(self._nodes)).ljust(verify_proof.SIGNERS, b"\0")
        return signed + _number(response) + _number(challenge)

    # POLYNOMIALS

    def _place(self, index: int) -> int:
        return pow(self._root, index, ORDER)

    def _polynomial(self, values: Sequence[int]) -> Polynomial:
        """Return the polynomial with these values at the places; at those left it is zero."""
        share = pow(self._slots, -1, ORDER)
        return [
            share * sum(value * self._place(-index * power) for index, value in enumerate(values)) % ORDER
            for power in range(self._slots)
        ]

    def _sums(self, values: Sequence[int]) -> Polynomial:
        totals, total = [], 0
        for value in values:
            total = (total + value) % ORDER
            totals.append(total)
        return self._polynomial(totals)

    def _divided(self, dividend: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Divide by the polynomial that is zero at all places, x^n - 1; return quotient and rest."""
        rest, quotient = list(dividend), [0] * max(len(dividend) - self._slots, 1)
        for power in range(len(rest) - 1, self._slots - 1, -1):
            quotient[power - self._slots] = rest[power]
            rest[power - self._slots] = (rest[power - self._slots] + rest[power]) % ORDER
            rest[power] = 0
        return quotient, rest[: self._slots]

    def _committed(self, polynomial: Polynomial) -> bytes:
        return _first(_value(polynomial, self._tau))


def _value(polynomial: Polynomial, at: int) -> int:
    total = 0
    for coefficient in reversed(polynomial):
        total = (total * at + coefficient) % ORDER
    return total


def _minus(one: Polynomial, other: Polynomial) -> Polynomial:
    length = max(len(one), len(other))
    padded = [each + [0] * (length - len(each)) for each in (one, other)]
    return [(left - right) % ORDER for left, right in zip(*padded, strict=True)]


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    product = [0] * (len(one) + len(other) - 1)
    for power, factor in enumerate(one):
        for other_power, other_factor in enumerate(other):
            product[power + other_power] = (product[power + other_power] + factor * other_factor) % ORDER
    return product


def g1_bytes(point: G1Point) -> bytes:
    """Return the coordinates of a point of G1."""
    return _INFINITE + bytes(95) if point == G1Point.identity() else bytes(point.to_xy_bytes_be())


def g2_bytes(point: G2Point) -> bytes:
    """Return the coordinates of a point of G2, the imaginary parts first."""
    if point == G2Point.identity():
        return _INFINITE + bytes(191)
    data = bytes(point.to_xy_bytes_be())
    return data[48:96] + data[:48] + data[144:] + data[96:144]


def _first(secret: int) -> bytes:
    return g1_bytes(G1Point() * scalar(secret))


def _second(secret: int) -> bytes:
    return g2_bytes(G2Point() * scalar(secret))


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "little")
