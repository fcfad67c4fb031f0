"""The code the EVM sees at the address of a token, schedule or account: it delegates to a system contract.

The call data reaches the system contract behind a selector and the 20 bytes of the address, packed. From
version 0.77 on it is a code delegation (HIP-1340), which passes the call data as it is.
"""

from web3sim.engine.interface import AccountKind, Address, delegation_to
from web3sim.engine.versions import LATEST, V077, EvmVersion

TOKEN_SERVICE, ACCOUNT_SERVICE, SCHEDULE_SERVICE = (
    number.to_bytes(20, "big") for number in (0x167, 0x16A, 0x16B)
)

# redirectForToken(address,bytes), redirectForAccount(address,bytes), redirectForScheduleTxn(address,bytes)
REDIRECT_FOR_TOKEN = bytes.fromhex("618dc65e")
REDIRECT_FOR_ACCOUNT = bytes.fromhex("e4cbd3a7")
REDIRECT_FOR_SCHEDULE = bytes.fromhex("5c3889ca")

_BEFORE_SERVICE = bytes.fromhex("6080604052348015600f57600080fd5b50600061")
_BEFORE_REDIRECT = bytes.fromhex("905077")
_AFTER_ADDRESS = bytes.fromhex(
    "600052366000602037600080366018016008845af43d806000803e8160008114605857816000f35b816000fdfea26469706673"
    "58221220d8378feed472ba49a0005514ef7087017f707b45fb9bf56bb81bb93ff19a238b64736f6c634300080b0033"
)

_REDIRECTS = {
    AccountKind.TOKEN: (TOKEN_SERVICE, REDIRECT_FOR_TOKEN),
    AccountKind.SCHEDULE: (SCHEDULE_SERVICE, REDIRECT_FOR_SCHEDULE),
    AccountKind.ACCOUNT: (ACCOUNT_SERVICE, REDIRECT_FOR_ACCOUNT),
}


def proxy_code(kind: AccountKind, address: Address, version: EvmVersion = LATEST) -> bytes:
    """The runtime code at the address of a token, schedule or account."""
    service, redirect = _REDIRECTS[kind]
    if version >= V077:
        return delegation_to(service)
    return _BEFORE_SERVICE + service[-2:] + _BEFORE_REDIRECT + redirect + address + _AFTER_ADDRESS
