"""Versions of the network's EVM, by which a past block is run with the rules of its time."""

from typing import NamedTuple


class EvmVersion(NamedTuple):
    """A version as the network numbers them: 0.46 is before 0.50."""

    major: int
    minor: int

    @property
    def text(self) -> str:
        return f"{self.major}.{self.minor}"


#: London; a transfer makes no account.
V030 = EvmVersion(0, 30)
#: Paris; a transfer to an alias makes an account.
V034 = EvmVersion(0, 34)
#: PUSH0; the balances of system accounts are hidden.
V038 = EvmVersion(0, 38)
#: Shanghai; a call of an address without an account succeeds.
V046 = EvmVersion(0, 46)
#: Cancun.
V050 = EvmVersion(0, 50)
#: Nothing that a call can notice.
V051, V065, V066, V067 = (EvmVersion(0, minor) for minor in (51, 65, 66, 67))
#: Prague: BLS12-381, code delegations of accounts (HIP-1340), the least price of call data. No network has
#: it yet.
V070 = EvmVersion(0, 70)
#: The code of tokens and schedules is a code delegation to their service.
V077 = EvmVersion(0, 77)

VERSIONS = {
    version.text: version for version in (V030, V034, V038, V046, V050, V051, V065, V066, V067, V070, V077)
}
#: The newest that networks have.
LATEST = V067

#: The versions on mainnet, by the first block of each.
MAINNET = {
    0: V030,
    44_029_066: V034,
    49_117_794: V038,
    60_258_042: V046,
    65_435_845: V050,
    66_602_102: V051,
    85_011_472: V065,
    85_659_065: V066,
    87_129_575: V067,
}
