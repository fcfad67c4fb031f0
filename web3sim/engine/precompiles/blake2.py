"""The compression function F of BLAKE2b (RFC 7693, section 3.2; EIP-152).

A row of the state is one integer with a lane of 128 bits for each of its four words, so that one operation
works on four words. What a shift moves out of a word stays in its lane or the next one, and is masked.
"""

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Final

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


def compress(data: bytes, check_deadline: Callable[[], object]) -> bytes:
    """Return the next state. The data: rounds (4 bytes), state (64), message (128), offset (16), flag (1)."""
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
