"""The hash Poseidon over the scalar field of BN254, as the proofs of a network's ledger use it.

It has a state of five numbers, of which the first is never read or written from outside, 8 full rounds and 60
partial ones, and x^5 as its substitution. Its constants and its matrix come from the Grain generator, as the
authors of Poseidon propose: no number is chosen.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

#: The order of BN254's groups: all numbers are smaller.
FIELD: Final = 21888242871839275222246405745257275088548364400416034343698204186575808495617
_BITS = FIELD.bit_length()
_RATE, _WIDTH = 4, 5
_FULL_ROUNDS, _PARTIAL_ROUNDS = 8, 60
_CHUNK = 32


def of_bytes(data: bytes) -> int:
    """Return the hash of bytes, in chunks of 32 that are read as little-endian numbers."""
    return of_numbers(
        int.from_bytes(data[start : start + _CHUNK], "little") for start in range(0, len(data), _CHUNK)
    )


def of_numbers(numbers: Iterable[int]) -> int:
    state = [0] * _WIDTH
    place = 0
    for number in numbers:
        if place == _RATE:
            state = _permuted(state)
            place = 0
        place += 1
        state[place] = (state[place] + number) % FIELD
    return _permuted(state)[1]


def _permuted(state: Sequence[int]) -> list[int]:
    constants, matrix = _parameters()
    half = _FULL_ROUNDS // 2
    mixed = list(state)
    for number, of_round in enumerate(constants):
        mixed = [(value + constant) % FIELD for value, constant in zip(mixed, of_round, strict=True)]
        if half <= number < half + _PARTIAL_ROUNDS:
            mixed[0] = pow(mixed[0], 5, FIELD)
        else:
            mixed = [pow(value, 5, FIELD) for value in mixed]
        mixed = [
            sum(factor * value for factor, value in zip(row, mixed, strict=True)) % FIELD for row in matrix
        ]
    return mixed


# PARAMETERS

_TAPS = (62, 51, 38, 23, 13, 0)
_WARM_UP = 160


class _Grain:
    """The generator Grain in its self-shrinking mode: a register of 80 bits, the oldest bit first."""

    def __init__(self) -> None:
        fields = (
            # A prime field, and a power as substitution.
            (1, 2),
            (0, 4),
            (_BITS, 12),
            (_WIDTH, 12),
            (_FULL_ROUNDS, 10),
            (_PARTIAL_ROUNDS, 10),
            ((1 << 30) - 1, 30),
        )
        text = "".join(format(value, f"0{length}b") for value, length in fields)
        self._register = [int(bit) for bit in text]
        for _ in range(_WARM_UP):
            self._step()

    def _step(self) -> int:
        bit = 0
        for tap in _TAPS:
            bit ^= self._register[tap]
        self._register.pop(0)
        self._register.append(bit)
        return bit

    def number(self) -> int:
        """Return the next number of as many bits as the field's order has."""
        value = 0
        for _ in range(_BITS):
            while not self._step():
                self._step()
            value = value << 1 | self._step()
        return value

    def below_order(self) -> int:
        while (value := self.number()) >= FIELD:
            pass
        return value


@cache
def _parameters() -> tuple[list[list[int]], list[list[int]]]:
    """Return the constants of each round, and the matrix (of Cauchy's kind)."""
    grain = _Grain()
    constants = [[grain.below_order() for _ in range(_WIDTH)] for _ in range(_FULL_ROUNDS + _PARTIAL_ROUNDS)]
    rows = [grain.number() % FIELD for _ in range(_WIDTH)]
    columns = [grain.number() % FIELD for _ in range(_WIDTH)]
    matrix = [[pow(row + column, -1, FIELD) for column in columns] for row in rows]
    return constants, matrix
