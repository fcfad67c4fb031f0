"""The precompiled contracts 1 to 10 of Cancun, each within a time that its gas pays for.

Gas is always charged by the formulas here. Elliptic curves, modular powers, BLAKE2 and point evaluations run
in the native EVM revm: in Python 15 million gas would buy minutes of them, and the KZG setup, which revm has
built in, would take seconds to read from a file. The ten contracts of the EVM library serve as reference in
tests.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import pyrevm
from eth.abc import ComputationAPI
from eth_typing import Address
from spec256k1 import PublicKey

from mirror.core.values.hashes import keccak256
from web3sim.engine.halts import ExceptionalHalt
from web3sim.engine.interface import Halt

Precompile = Callable[[ComputationAPI], ComputationAPI]

_SENDER = "0x" + "00" * 20
_NATIVE_ADDRESSES = [f"0x{number:040x}" for number in range(11)]
_NATIVE_MESSAGES = 1_000
# Order of the group of secp256k1.
_SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
# EIP-4844: a commitment, its versioned hash and a proof, all of the polynomial that is zero everywhere.
_INFINITY = bytes([0xC0]) + bytes(47)
_ZERO_POLYNOMIAL = b"\x01" + hashlib.sha256(_INFINITY).digest()[1:] + bytes(64) + _INFINITY * 2


def _words(data: bytes) -> int:
    return (len(data) + 31) // 32


class _Native:
    """The EVM revm, created once, not for each message, and replaced after many, as it grows with each."""

    def __init__(self) -> None:
        self._evm, self._messages_left = pyrevm.EVM(spec_id="CANCUN"), _NATIVE_MESSAGES

    def answer(self, number: int, data: bytes) -> bytes:
        if not self._messages_left:
            self._evm, self._messages_left = pyrevm.EVM(spec_id="CANCUN"), _NATIVE_MESSAGES
        self._messages_left -= 1
        try:
            answer = self._evm.message_call(_SENDER, _NATIVE_ADDRESSES[number], calldata=data, is_static=True)
        except RuntimeError as error:
            raise ExceptionalHalt(Halt.PRECOMPILE) from error
        return bytes(answer)


_native = _Native().answer


def ecrecover(data: bytes) -> bytes:
    """Return the address that signed, as a word; nothing for no signature. Words: digest, v, r, s."""
    digest, v, r, s = (data[start : start + 32].ljust(32, b"\0") for start in (0, 32, 64, 96))
    parity = int.from_bytes(v, "big") - 27
    in_order = all(0 < int.from_bytes(number, "big") < _SECP256K1_ORDER for number in (r, s))
    if parity not in (0, 1) or not in_order:
        return b""
    try:
        key = PublicKey.from_signature_and_message(r + s + bytes([parity]), digest)
    except ValueError:
        return b""
    return keccak256(key.format(compressed=False)[1:])[12:].rjust(32, b"\0")


def _modexp_gas(data: bytes) -> int:
    """EIP-2565."""
    base_size, exponent_size, modulus_size = (
        int.from_bytes(data[start : start + 32].ljust(32, b"\0"), "big") for start in (0, 32, 64)
    )
    head_size = min(exponent_size, 32)
    head = data[96 + base_size : 96 + base_size + head_size].ljust(head_size, b"\0")
    bits = max(int.from_bytes(head, "big").bit_length() - 1, 0)
    iterations = max(bits + 8 * max(exponent_size - 32, 0), 1)
    complexity = ((max(base_size, modulus_size) + 7) // 8) ** 2
    return max(200, complexity * iterations // 3)


def _modexp(data: bytes) -> bytes:
    base_size, modulus_size = (
        int.from_bytes(data[start : start + 32].ljust(32, b"\0"), "big") for start in (0, 64)
    )
    # With an empty base and modulus any exponent is cheap, also one too long for memory.
    return _native(5, data) if base_size or modulus_size else b""


def _blake2f_gas(data: bytes) -> int:
    """EIP-152: one for each round."""
    if len(data) != 213:
        raise ExceptionalHalt(Halt.PRECOMPILE)
    return int.from_bytes(data[:4], "big")


def _pairing_gas(data: bytes) -> int:
    """EIP-1108. A length that is no multiple of a pair's fails in any case."""
    return 45_000 + 34_000 * (len(data) // 192)


def _modexp_size(data: bytes | memoryview) -> int:
    return 96 + sum(int.from_bytes(bytes(data[start : start + 32]).ljust(32, b"\0")) for start in (0, 32, 64))


def priced(
    gas: Callable[[bytes], int],
    answer: Callable[[bytes], bytes],
    max_bytes: int | Callable[[bytes | memoryview], int] | None = None,
) -> Precompile:
    """Only `max_bytes` bytes of the data are read: the price does not depend on the others."""

    def precompile(computation: ComputationAPI) -> ComputationAPI:
        data: Any = computation.msg.data
        data = bytes(data[: max_bytes(data) if callable(max_bytes) else max_bytes])
        computation.consume_gas(gas(data), reason="precompile")
        computation.output = answer(data)
        return computation

    return precompile


def _native_answer(number: int) -> Callable[[bytes], bytes]:
    return lambda data: _native(number, data)


_CONTRACTS: dict[int, Precompile] = {
    1: priced(lambda data: 3_000, ecrecover, 128),
    2: priced(lambda data: 60 + 12 * _words(data), lambda data: hashlib.sha256(data).digest()),
    3: priced(lambda data: 600 + 120 * _words(data), _native_answer(3)),
    4: priced(lambda data: 15 + 3 * _words(data), lambda data: data),
    5: priced(_modexp_gas, _modexp, _modexp_size),
    6: priced(lambda data: 150, _native_answer(6), 128),
    7: priced(lambda data: 6_000, _native_answer(7), 96),
    8: priced(_pairing_gas, _native_answer(8)),
    9: priced(_blake2f_gas, _native_answer(9), 214),
    10: priced(lambda data: 50_000, _native_answer(10), 193),
}

PRECOMPILES: dict[Address, Precompile] = {
    Address(number.to_bytes(20, "big")): contract for number, contract in _CONTRACTS.items()
}


def load() -> None:
    """Load the KZG setup into memory before the first call."""
    _native(10, _ZERO_POLYNOMIAL)
