"""The precompiled contracts 1 to 10 of Cancun.

Gas bounds their time, but not to less than a call may take: pairings, powers and BLAKE2F check its deadline.
"""

import hashlib
from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any, Final

from bitcurve import PublicKey
from Crypto.Hash import RIPEMD160
from eth.abc import ComputationAPI
from eth_typing import Address
from gmpy2 import powmod
from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from mirror.core.values.bn254 import pairing, points
from mirror.core.values.hashes import keccak256
from web3sim.engine.halts import ExceptionalHalt
from web3sim.engine.interface import Halt

_WORD, _LANE, _ROW = 64, 128, 512
_ONES: Final = (1 << _WORD) - 1
_MASK: Final = sum(_ONES << place for place in range(0, _ROW, _LANE))
_IV: Final = [
    sum((isqrt(prime << 128) & _ONES) << lane * _LANE for lane, prime in enumerate(primes))
    for primes in ((2, 3, 5, 7), (11, 13, 17, 19))
]
# The words of the message that each of ten rounds takes: two for each column, then for each diagonal.
_SIGMA: Final = (
    *("0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d"),
    *("2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"),
)
_ROUNDS_PER_CHECK = 500


def _compress(data: bytes, check_deadline: Callable[[], object]) -> bytes:
    """Return the next state of BLAKE2b's compression function (RFC 7693, section 3.2; EIP-152).

    A row of the state is one integer with a lane of 128 bits for each of its four words, so that one
    operation works on four words. What a shift moves out of a word stays in its lane or the next one, and is
    masked. The data: rounds (4 bytes), state (64), message (128), offset (16), flag (1).
    """
    words = [data[at : at + 8] + bytes(8) for at in range(4, 212, 8)]
    message = dict(zip(_SIGMA[0], words[8:24], strict=True))
    h0, h1 = _row(words[:4]), _row(words[4:8])
    final = _ONES << 2 * _LANE if data[212] else 0
    a, b, c, d = h0, h1, _IV[0], _IV[1] ^ _row(words[24:]) ^ final
    # Each half of a round, and how far rows b and d turn after it.
    halves = [
        (*(_row([message[word] for word in half[first::2]]) for first in (0, 1)), turn, _ROW - turn)
        for sigma in _SIGMA
        for half, turn in ((sigma[:8], _LANE), (sigma[8:], 3 * _LANE))
    ]
    rounds, mask = int.from_bytes(data[:4], "big"), _MASK
    for first in range(0, rounds, _ROUNDS_PER_CHECK):
        check_deadline()
        count = min(rounds - first, _ROUNDS_PER_CHECK)
        for x, y, turn_b, turn_d in (halves * (count // 10 + 1))[: 2 * count]:
            a = a + b + x & mask
            d ^= a
            d = (d >> 32 | d << 32) & mask
            c = c + d & mask
            b ^= c
            b = (b >> 24 | b << 40) & mask
            a = a + b + y & mask
            d ^= a
            d = (d >> 16 | d << 48) & mask
            c = c + d & mask
            b ^= c
            b |= b << 512
            b = (b >> turn_b + 63 | b >> turn_b - 1) & mask
            c = c >> 256 | c << 256 & mask
            d = (d | d << 512) >> turn_d & mask
    state = b"".join(row.to_bytes(_ROW // 8, "little") for row in (a ^ c ^ h0, b ^ d ^ h1))
    return b"".join(state[at : at + 8] for at in range(0, len(state), _LANE // 8))


def _row(words: Sequence[bytes]) -> int:
    return int.from_bytes(b"".join(words), "little")


Precompile = Callable[[ComputationAPI], ComputationAPI]
CheckDeadline = Callable[[], None]

# Order of the group of secp256k1.
_SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
# The bytes of an exponent between checks of the deadline.
_EXPONENT_PART = 65_536
_PAIR = 192
# EIP-4844: field elements of a blob, the order of BLS12-381, and [τ]G2 of Ethereum's KZG ceremony.
_EVALUATED: Final = (4096).to_bytes(32, "big") + bytes.fromhex(
    "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"
)
_TAU_G2: Final = G2Point.from_compressed_bytes(
    bytes.fromhex(
        "b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72"
        "185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2"
    )
)


def _words(data: bytes) -> int:
    return (len(data) + 31) // 32


def ecrecover(data: bytes) -> bytes:
    """Return the address that signed, as a word; nothing for no signature. Words: digest, v, r, s."""
    digest, v, r, s = (data[start : start + 32].ljust(32, b"\0") for start in (0, 32, 64, 96))
    parity = int.from_bytes(v, "big") - 27
    in_order = all(0 < int.from_bytes(number, "big") < _SECP256K1_ORDER for number in (r, s))
    if parity not in (0, 1) or not in_order:
        return b""
    try:
        key = PublicKey.from_signature_and_message(r + s + bytes([parity]), digest, hasher=None)
    except ValueError:
        return b""
    return keccak256(key.format(compressed=False)[1:])[12:].rjust(32, b"\0")


def _modexp_sizes(data: bytes) -> tuple[int, int, int]:
    """Return the sizes of base, exponent and modulus."""
    words = (int.from_bytes(data[start : start + 32].ljust(32, b"\0"), "big") for start in (0, 32, 64))
    return next(words), next(words), next(words)


def _modexp_gas(data: bytes) -> int:
    """EIP-2565."""
    base_size, exponent_size, modulus_size = _modexp_sizes(data)
    head_size = min(exponent_size, 32)
    head = data[96 + base_size : 96 + base_size + head_size].ljust(head_size, b"\0")
    bits = max(int.from_bytes(head, "big").bit_length() - 1, 0)
    iterations = max(bits + 8 * max(exponent_size - 32, 0), 1)
    complexity = ((max(base_size, modulus_size) + 7) // 8) ** 2
    return max(200, complexity * iterations // 3)


def _modexp(data: bytes, check_deadline: CheckDeadline) -> bytes:
    base_size, exponent_size, modulus_size = _modexp_sizes(data)
    # Without a modulus any exponent is cheap, also one too long for memory.
    if not modulus_size:
        return b""
    end = base_size + exponent_size
    operands = data[96:].ljust(end + modulus_size, b"\0")
    base, modulus = (int.from_bytes(each, "big") for each in (operands[:base_size], operands[end:]))
    if not modulus:
        return bytes(modulus_size)
    result = 1 % modulus
    for start in range(base_size, end, _EXPONENT_PART):
        check_deadline()
        part = operands[start : min(start + _EXPONENT_PART, end)]
        if start > base_size:
            result = powmod(result, 1 << 8 * len(part), modulus)
        result = int(result * powmod(base, int.from_bytes(part, "big"), modulus) % modulus)
    return result.to_bytes(modulus_size, "big")


def _add(data: bytes) -> bytes:
    return points.encoded(points.add(points.read_g1(data), points.read_g1(data, 64)))


def _multiply(data: bytes) -> bytes:
    number = int.from_bytes(data[64:96].ljust(32, b"\0"), "big")
    return points.encoded(points.linear_combination([(points.read_g1(data), number)]))


def _pairing_gas(data: bytes) -> int:
    """EIP-1108. A length that is no multiple of a pair's fails in any case."""
    return 45_000 + 34_000 * (len(data) // _PAIR)


def _pairing(data: bytes, check_deadline: CheckDeadline) -> bytes:
    if len(data) % _PAIR:
        raise ExceptionalHalt(Halt.PRECOMPILE)
    starts = range(0, len(data), _PAIR)
    pairs = ((points.read_g1(data, start), points.read_g2(data, start + 64)) for start in starts)
    return pairing.is_one(pairs, check_deadline).to_bytes(32, "big")


def _blake2f_gas(data: bytes) -> int:
    """EIP-152: one for each round."""
    if len(data) != 213 or data[212] > 1:
        raise ExceptionalHalt(Halt.PRECOMPILE)
    return int.from_bytes(data[:4], "big")


def _evaluate(data: bytes) -> bytes:
    """Check that the polynomial of a commitment has the value y at z (EIP-4844)."""
    parts = [data[start:end] for start, end in ((32, 64), (64, 96), (96, 144), (144, len(data)))]
    z, y = (Scalar.from_be_bytes(part) for part in parts[:2])
    commitment, proof = (G1Point.from_compressed_bytes(part) for part in parts[2:])
    # The library takes infinity with further bits, too.
    is_canonical = parts[2:] == [bytes(each.to_compressed_bytes()) for each in (commitment, proof)]
    is_named = data[:32] == b"\1" + hashlib.sha256(parts[2]).digest()[1:]
    # e(C - y G1, G2) = e(proof, [τ - z] G2), with z moved to the other side.
    left = commitment - G1Point() * y + proof * z
    if not (is_canonical and is_named and GT.pairing_check([left, -proof], [G2Point(), _TAU_G2])):
        raise ExceptionalHalt(Halt.PRECOMPILE)
    return _EVALUATED


def _modexp_size(data: bytes | memoryview) -> int:
    return 96 + sum(_modexp_sizes(bytes(data[:96])))


def priced(
    gas: int | Callable[[bytes], int],
    answer: Callable[..., bytes],
    max_bytes: int | Callable[[bytes | memoryview], int] | None = None,
    *,
    takes_long: bool = False,
) -> Precompile:
    """Only `max_bytes` bytes of the data are read: the price does not depend on the others.

    An answer raises ValueError for invalid data. One that takes long is also given what checks the deadline.
    """

    def precompile(computation: ComputationAPI) -> ComputationAPI:
        data: Any = computation.msg.data
        data = bytes(data[: max_bytes(data) if callable(max_bytes) else max_bytes])
        computation.consume_gas(gas(data) if callable(gas) else gas, reason="precompile")
        state: Any = computation.state
        try:
            computation.output = answer(data, state.check_deadline) if takes_long else answer(data)
        except ValueError as error:
            raise ExceptionalHalt(Halt.PRECOMPILE) from error
        return computation

    return precompile


_CONTRACTS: dict[int, Precompile] = {
    1: priced(3_000, ecrecover, 128),
    2: priced(lambda data: 60 + 12 * _words(data), lambda data: hashlib.sha256(data).digest()),
    3: priced(lambda data: 600 + 120 * _words(data), lambda data: bytes(12) + RIPEMD160.new(data).digest()),
    4: priced(lambda data: 15 + 3 * _words(data), lambda data: data),
    5: priced(_modexp_gas, _modexp, _modexp_size, takes_long=True),
    6: priced(150, _add, 128),
    7: priced(6_000, _multiply, 96),
    8: priced(_pairing_gas, _pairing, takes_long=True),
    9: priced(_blake2f_gas, _compress, 214, takes_long=True),
    10: priced(50_000, _evaluate, 193),
}

PRECOMPILES: dict[Address, Precompile] = {
    Address(number.to_bytes(20, "big")): contract for number, contract in _CONTRACTS.items()
}
