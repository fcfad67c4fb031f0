"""The token service (0x167), as contracts of the simulated network call it to spend allowances.

The sender of a transaction has made sure that the network permits what its contract asks for.
"""

from dataclasses import dataclass
from typing import NamedTuple

from eth_abi.abi import decode

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ResponseCodeEnum
from mirror.core.values.hashes import keccak256

NUMBER = 359
ADDRESS = entity_id.long_zero(NUMBER)
# Canonical prices at 852 tinycents for a unit of gas, with a fifth on them: of units, and of hbars.
_GAS_OF_UNITS, _GAS_OF_HBARS = 15_284, 2_607
SUCCEEDED: bytes = ResponseCodeEnum.Value("SUCCESS").to_bytes(32, "big")
TRANSFERRED = keccak256(b"Transfer(address,address,uint256)")

_UNITS = ("address", "address", "address", "uint256")
_AMOUNT = "(address,int64,bool)"
_HBARS = (f"({_AMOUNT}[])", f"(address,{_AMOUNT}[],(address,address,int64,bool)[])[]")
_UNITS_SELECTOR = keccak256(f"transferFrom({','.join(_UNITS)})".encode())[:4]


class Moved(NamedTuple):
    """Units of a token, with the topics of the log of such a transfer."""

    token: bytes
    topics: tuple[bytes, bytes, bytes]
    amount: int


@dataclass(frozen=True, slots=True)
class Spending:
    """A transfer by `spender` from `owner` to `receiver`, all by address: units of a token, or tinybars.

    `data` is that of the call of the token service.
    """

    spender: bytes
    owner: bytes
    receiver: bytes
    amount: int
    token: bytes | None
    data: bytes

    @property
    def gas(self) -> int:
        return _GAS_OF_HBARS if self.token is None else _GAS_OF_UNITS

    @property
    def moved(self) -> Moved | None:
        """Return the units that it moves; None if it moves tinybars."""
        if self.token is None:
            return None
        topics = (TRANSFERRED, self.owner.rjust(32, b"\0"), self.receiver.rjust(32, b"\0"))
        return Moved(self.token, topics, self.amount)


def spending(spender: bytes, data: bytes) -> Spending:
    """Return the transfer that a call of the token service makes."""
    if data[:4] == _UNITS_SELECTOR:
        token, owner, receiver, amount = decode(_UNITS, data[4:])
        return Spending(spender, _bytes(owner), _bytes(receiver), amount, _bytes(token), data)
    ((debit, credit),) = decode(_HBARS, data[4:])[0]
    return Spending(spender, _bytes(debit[0]), _bytes(credit[0]), credit[1], None, data)


def _bytes(address: str) -> bytes:
    return bytes.fromhex(address[2:])
