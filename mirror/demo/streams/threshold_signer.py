"""Making threshold signatures, for simulated networks and tests: never safe outside of them.

In a real network no party knows the secret point tau that the commitments of a verification key are made at,
and no node the keys of others. Here one object knows all of it: a commitment is one multiplication, and that
to a quotient of polynomials is one to the quotient of their values.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from py_arkworks_bls12381 import G1Point, G2Point

from ledger.stream.ledger_identity import Contributor, LedgerIdentity
from ledger.stream.signature import verify_proof
from ledger.stream.signature.verify_proof import (
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
    def _secrets(self) -> list[int]:
        return [self._secret(("key", node)) for node, _ in self._nodes]

    @cached_property
    def _last(self) -> Polynomial:
        return self._polynomial([0] * (self._slots - 1) + [1])

    @cached_property
    def _key(self) -> bytes:
        weights = self._polynomial([weight for _, weight in self._nodes])
        return b"".join(
            (
                self._slots.to_bytes(8, "little"),
                _number(sum(self.weights.values())),
                g1_bytes(G1Point()),
                g2_bytes(G2Point()),
                _second(self._tau),
                _first(_value(self._last, self._tau)),
                _first(_value(weights, self._tau)),
                _second(_value(self._polynomial(self._secrets), self._tau)),
                _second(pow(self._tau, self._slots, ORDER) - 1),
            )
        )

    # SIGNATURE

    def _signature(self, message: bytes, nodes: Collection[int] | None) -> bytes:
        # No node has the last place: its bit is set, and its weight is what takes the sum of all to zero.
        bits = [int(nodes is None or node in nodes) for node, _ in self._nodes]
        counted = [weight * bit for (_, weight), bit in zip(self._nodes, bits, strict=True)]
        weight = sum(counted)
        signing = [secret * bit for secret, bit in zip(self._secrets, bits, strict=True)]
        # The mean over all places is the constant of the product of keys and bits.
        secret = sum(signing) * pow(self._slots, -1, ORDER) % ORDER
        head = (
            _first(secret)
            + _number(weight)
            + g2_bytes(G2Point.hash_to_curve(message, MESSAGE_TAG) * scalar(secret))
        )
        unused = [0] * (self._slots - len(bits) - 1)
        bitmap = self._polynomial([*bits, *unused, 1])
        weights = self._polynomial([*(weight for _, weight in self._nodes), *unused, -weight])
        sums = self._polynomial(list(accumulate([*counted, *unused, -weight])))

        def values(x: int) -> list[int]:
            """Return the values of sums, weights and bitmap, and of the quotients that prove them."""
            total, each, bit = (_value(polynomial, x) for polynomial in (sums, weights, bitmap))
            last, before = _value(self._last, x), _value(sums, x * pow(self._root, -1, ORDER))
            dividends = (total - before - each * bit, last * total, bit * bit - bit, last * (bit - 1))
            return [total, each, bit, *(dividend * self._vanishing(x) % ORDER for dividend in dividends)]

        at_tau = values(self._tau)
        signed = _value(self._polynomial(signing), self._tau)
        keys = _value(self._polynomial(self._secrets), self._tau)
        qx, qz = signed - secret, (at_tau[2] * keys - signed) * self._vanishing(self._tau)
        committed = (at_tau[2], qx * pow(self._tau, -1, ORDER), qx, qz, at_tau[0], *at_tau[3:])
        points = b"".join(map(_first, committed))
        r = self._challenge(head + points)
        at_r = values(r)
        opened = sum(
            pow(r, power, ORDER) * (one - other)
            for power, (one, other) in enumerate(zip(at_tau, at_r, strict=True))
        )
        before = r * pow(self._root, -1, ORDER) % ORDER
        value_before = _value(sums, before)
        openings = (
            _first(opened * pow(self._tau - r, -1, ORDER)),
            _first((at_tau[0] - value_before) * pow(self._tau - before, -1, ORDER)),
        )
        numbers = (at_r[0], value_before, *at_r[1:])
        return head + points + b"".join(openings) + b"".join(map(_number, numbers))

    def _vanishing(self, x: int) -> int:
        """Return the inverse of the polynomial that is zero at all places, x^n - 1."""
        return pow(pow(x, self._slots, ORDER) - 1, -1, ORDER)

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

    def _polynomial(self, values: Sequence[int]) -> Polynomial:
        """Return the polynomial with these values at the places; at those left it is zero."""
        share, inverse = pow(self._slots, -1, ORDER), pow(self._root, -1, ORDER)
        return [
            share
            * sum(value * pow(inverse, index * power, ORDER) for index, value in enumerate(values))
            % ORDER
            for power in range(self._slots)
        ]


def _value(polynomial: Polynomial, at: int) -> int:
    total = 0
    for coefficient in reversed(polynomial):
        total = (total * at + coefficient) % ORDER
    return total


def g1_bytes(point: G1Point) -> bytes:
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
