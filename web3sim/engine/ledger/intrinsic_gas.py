"""Gas that is paid before a call runs."""

from web3sim.engine.versions import LATEST, V046, EvmVersion

_TRANSACTION = 21_000
_CREATION = 32_000
_ZERO_BYTE, _OTHER_BYTE = 4, 16
_INIT_CODE_WORD = 2


def intrinsic_gas(data: bytes, *, creates: bool, version: EvmVersion = LATEST) -> int:
    """Return the gas for the message itself: its data (EIP-2028), and the init code of a creation.

    The words of init code cost gas from version 0.46 on (EIP-3860).
    """
    zeros = data.count(0)
    gas = _TRANSACTION + zeros * _ZERO_BYTE + (len(data) - zeros) * _OTHER_BYTE
    if creates:
        gas += _CREATION
        if version >= V046:
            gas += (len(data) + 31) // 32 * _INIT_CODE_WORD
    return gas
