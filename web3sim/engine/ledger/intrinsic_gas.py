"""Gas that is paid before a call runs, and the least that is paid for it."""

from web3sim.engine.interface import AccessList
from web3sim.engine.versions import V070, EvmVersion

_TRANSACTION = 21_000
_CREATION = 32_000
_ZERO_BYTE, _OTHER_BYTE = 4, 16
_INIT_CODE_WORD = 2
_LISTED_ADDRESS, _LISTED_SLOT = 2_400, 1_900
_MIN_ZERO_BYTE, _MIN_OTHER_BYTE = 10, 40


def intrinsic_gas(data: bytes, *, creates: bool, access_list: AccessList = ()) -> int:
    """Return the gas for the message itself: its data (EIP-2028), the init code of a creation (EIP-3860), and
    its access list (EIP-2930).

    The network's gas calculator is the same in all versions of its EVM.
    """
    zeros = data.count(0)
    gas = _TRANSACTION + zeros * _ZERO_BYTE + (len(data) - zeros) * _OTHER_BYTE
    if creates:
        gas += _CREATION + (len(data) + 31) // 32 * _INIT_CODE_WORD
    return gas + sum(_LISTED_ADDRESS + _LISTED_SLOT * len(slots) for _, slots in access_list)


def floor_gas(data: bytes, version: EvmVersion) -> int:
    """Return the least gas that a message uses, and that its limit must allow (EIP-7623)."""
    if version < V070:
        return 0
    zeros = data.count(0)
    return _TRANSACTION + zeros * _MIN_ZERO_BYTE + (len(data) - zeros) * _MIN_OTHER_BYTE
