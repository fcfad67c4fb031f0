"""The precompiled contracts 0x0b to 0x11 of Prague: BLS12-381 (EIP-2537), computed by arkworks.

A coordinate takes 64 bytes, the first 16 of which are zero. Points at infinity are zeros. Additions take any
point of the curve, multiplications and pairings those of the subgroup alone. Invalid input uses all gas.
"""

from collections.abc import Callable, Sequence
from typing import Any

from eth.precompiles.bls12_381 import constants
from eth_typing import Address
from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from web3sim.engine.halts import ExceptionalHalt
from web3sim.engine.interface import Halt
from web3sim.engine.precompiles import Precompile, priced

_COORDINATE, _PADDING, _SCALAR = 64, 16, 32
_G1, _G2 = 2 * _COORDINATE, 4 * _COORDINATE
_PAIR = _G1 + _G2
_PAIRING, _PAIRING_OF_PAIR = 37_700, 32_600


def _parts(data: bytes, size: int) -> list[bytes]:
    """Divide data, which isn't empty, into parts of this size. Errors: ExceptionalHalt."""
    if not data or len(data) % size:
        raise ExceptionalHalt(Halt.PRECOMPILE)
    return [data[start : start + size] for start in range(0, len(data), size)]


def _coordinates(data: bytes) -> bytes:
    """Return coordinates without their padding. Errors: ExceptionalHalt."""
    parts = _parts(data, _COORDINATE)
    if any(any(part[:_PADDING]) for part in parts):
        raise ExceptionalHalt(Halt.PRECOMPILE)
    return b"".join(part[_PADDING:] for part in parts)


def _padded(point: Any) -> bytes:
    size = _COORDINATE - _PADDING
    coordinates = bytes(point.to_xy_bytes_be())
    return b"".join(
        bytes(_PADDING) + coordinates[start : start + size] for start in range(0, len(coordinates), size)
    )


def _adding(group: Any, size: int) -> Callable[[bytes], bytes]:
    def add(data: bytes) -> bytes:
        if len(data) != 2 * size:
            raise ExceptionalHalt(Halt.PRECOMPILE)
        first, second = (group.from_xy_bytes_unchecked_be(_coordinates(part)) for part in _parts(data, size))
        return _padded(first + second)

    return add


def _multiplying(group: Any, size: int) -> Callable[[bytes], bytes]:
    """Return the sum of points, each multiplied by a number."""

    def multiply(data: bytes) -> bytes:
        parts = _parts(data, size + _SCALAR)
        points = [group.from_xy_bytes_be(_coordinates(part[:size])) for part in parts]
        scalars = [Scalar.from_be_bytes_mod_order(part[size:]) for part in parts]
        return _padded(group.multiexp_unchecked(points, scalars))

    return multiply


def _pair(data: bytes) -> bytes:
    parts = _parts(data, _PAIR)
    first = [G1Point.from_xy_bytes_be(_coordinates(part[:_G1])) for part in parts]
    second = [G2Point.from_xy_bytes_be(_coordinates(part[_G1:])) for part in parts]
    return int(GT.pairing_check(first, second)).to_bytes(32, "big")


def _mapping(to_point: Callable[[bytes], Any], size: int) -> Callable[[bytes], bytes]:
    def map_to_point(data: bytes) -> bytes:
        if len(data) != size:
            raise ExceptionalHalt(Halt.PRECOMPILE)
        return _padded(to_point(_coordinates(data)))

    return map_to_point


def _gas_of_multiplications(price: int, size: int, discounts: Sequence[int]) -> Callable[[bytes], int]:
    """Return the price of multiplications: each costs less the more there are, up to 128."""

    def gas(data: bytes) -> int:
        number = len(data) // (size + _SCALAR)
        discount = discounts[min(number, len(discounts)) - 1]
        return number * price * discount // constants.MSM_MULTIPLIER

    return gas


_CONTRACTS = {
    0x0B: priced(constants.BLS12_G1_ADD_GAS, _adding(G1Point, _G1)),
    0x0C: priced(
        _gas_of_multiplications(constants.BLS12_G1_MSM_GAS, _G1, constants.G1_MSM_DISCOUNTS),
        _multiplying(G1Point, _G1),
    ),
    0x0D: priced(constants.BLS12_G2_ADD_GAS, _adding(G2Point, _G2)),
    0x0E: priced(
        _gas_of_multiplications(constants.BLS12_G2_MSM_GAS, _G2, constants.G2_MSM_DISCOUNTS),
        _multiplying(G2Point, _G2),
    ),
    0x0F: priced(lambda data: _PAIRING + _PAIRING_OF_PAIR * (len(data) // _PAIR), _pair),
    0x10: priced(constants.BLS12_MAP_FP_G1_GAS, _mapping(G1Point.map_from_fp_be, _COORDINATE)),
    0x11: priced(constants.BLS12_MAP_FP2_G2_GAS, _mapping(G2Point.map_from_fp2_be, 2 * _COORDINATE)),
}

BLS12_381: dict[Address, Precompile] = {
    Address(number.to_bytes(20, "big")): contract for number, contract in _CONTRACTS.items()
}
