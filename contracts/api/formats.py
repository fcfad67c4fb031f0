"""Bytes as the contract endpoints write them: quantities, 32-byte words, addresses."""

from mirror.core.values import entity_id, hexadecimal

_WORD_DIGITS = 64
_ADDRESS_DIGITS = 40


def plain(data: bytes | None) -> str:
    """Return hex; `0x` for nothing."""
    return "0x" if data is None else hexadecimal.text(data)


def quantity(data: bytes | None) -> str:
    """Return hex without its first digit if that is a zero among others."""
    text = plain(data)
    return f"0x{text[3:]}" if text.startswith("0x0") and len(text) > len("0x0") else text


def word(data: bytes) -> str:
    """Return hex of 32 bytes, padded with zeros on the left."""
    return "0x" + data.hex().rjust(_WORD_DIGITS, "0")


def uint256(data: bytes | None) -> str | None:
    return None if data is None else word(data)


def padded(data: bytes | None) -> str:
    """Return the same, but `0x` for nothing."""
    return word(data) if data else "0x"


def padded_address(data: bytes) -> str:
    return f"0x{data.hex():0>{_ADDRESS_DIGITS}}"


def long_zero(encoded: int | None) -> str | None:
    """Return the long-zero address of an entity; None for none."""
    if not encoded or not encoded & entity_id.MAX_NUM:
        return None
    return hexadecimal.text(entity_id.long_zero(encoded))


def address(evm_address: bytes | None, encoded: int) -> str | None:
    """Return an entity's EVM address, or else its long-zero address; None for none."""
    return hexadecimal.text(evm_address) if evm_address else long_zero(encoded)
