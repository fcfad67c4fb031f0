"""Call data of Solidity contracts: arguments as the contract ABI encodes them."""

from mirror.values.hashes import keccak256

_WORD = 32
Argument = int | bool | bytes | str


def encode(*arguments: Argument) -> bytes:
    """Words for numbers and addresses (20 bytes); texts, and `bytes` that are no address, follow them.

    A `bytes32` is given as a number.
    """
    heads: list[bytes] = []
    tail = b""
    for argument in arguments:
        if isinstance(argument, str) or (isinstance(argument, bytes) and len(argument) != 20):
            heads.append(_word(_WORD * len(arguments) + len(tail)))
            tail += _dynamic(argument.encode() if isinstance(argument, str) else argument)
        elif isinstance(argument, bytes):
            heads.append(argument.rjust(_WORD, b"\0"))
        else:
            heads.append(_word(argument))
    return b"".join(heads) + tail


def call_data(signature: str, *arguments: Argument) -> bytes:
    """What a call of a function such as `transfer(address,uint256)` sends."""
    return keccak256(signature.encode())[:4] + encode(*arguments)


def _dynamic(data: bytes) -> bytes:
    return _word(len(data)) + data.ljust(-(-len(data) // _WORD) * _WORD, b"\0")


def _word(number: int) -> bytes:
    return number.to_bytes(_WORD, "big")
