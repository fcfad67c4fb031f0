"""The body of a CryptoTransfer, and what it has moved.

Accounts and tokens are ids. An address without an account has a placeholder, a negative number.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from web3sim.engine.interface import Address
from web3sim.state.overlay import Overlay

# Of the last shard, where no network is: no entity has such an id.
_LAST_PLACEHOLDER = -1_000_000


def placeholder(index: int) -> int:
    """Return the number of the first, second and further address where nothing is; 0 names no token."""
    return -1 - index


def is_placeholder(number: int) -> bool:
    """Return whether a number is 0 or stands for an address without an account."""
    return _LAST_PLACEHOLDER <= number <= 0


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What an account gets, or if less than zero gives: tinybars or units. `approved`: from an allowance."""

    account: int
    amount: int
    approved: bool = False


@dataclass(frozen=True, slots=True)
class NftTransfer:
    sender: int
    receiver: int
    serial_number: int
    approved: bool = False


@dataclass(frozen=True, slots=True)
class TokenTransfers:
    token_id: int
    adjustments: tuple[Adjustment, ...] = ()
    nfts: tuple[NftTransfer, ...] = ()


@dataclass(frozen=True, slots=True)
class Transfers:
    """`missing` are the addresses behind the placeholders of accounts."""

    hbar: tuple[Adjustment, ...] = ()
    tokens: tuple[TokenTransfers, ...] = ()
    missing: Mapping[int, Address] = field(default_factory=dict)

    def credited(self) -> Iterator[int]:
        """Yield the accounts that get something, each as often as it does, hbar first."""
        for adjustments in (self.hbar, *(each.adjustments for each in self.tokens)):
            yield from (each.account for each in adjustments if each.amount > 0)
        for each in self.tokens:
            yield from (nft.receiver for nft in each.nfts)

    def renamed(self, accounts: Mapping[int, int]) -> "Transfers":
        """Return the same between other accounts."""

        def new(account: int) -> int:
            return accounts.get(account, account)

        def rename_adjustments(adjustments: Iterable[Adjustment]) -> tuple[Adjustment, ...]:
            return tuple(replace(each, account=new(each.account)) for each in adjustments)

        def rename_nfts(nfts: Iterable[NftTransfer]) -> tuple[NftTransfer, ...]:
            return tuple(replace(nft, sender=new(nft.sender), receiver=new(nft.receiver)) for nft in nfts)

        tokens = tuple(
            TokenTransfers(each.token_id, rename_adjustments(each.adjustments), rename_nfts(each.nfts))
            for each in self.tokens
        )
        missing = {number: address for number, address in self.missing.items() if number not in accounts}
        return Transfers(rename_adjustments(self.hbar), tokens, missing)


class Parties:
    """The accounts of a transfer by their addresses; `missing` are those without an account."""

    def __init__(self, ledger: Overlay) -> None:
        self._ledger = ledger
        self._numbers: dict[Address, int] = {}
        self.missing: dict[int, Address] = {}

    def number(self, address: Address) -> int:
        if address not in self._numbers:
            account = self._ledger.account_id_at(address)
            if account is None:
                account = placeholder(len(self.missing))
                self.missing[account] = address
            self._numbers[address] = account
        return self._numbers[address]


@dataclass(slots=True)
class Outcome:
    """What a transfer has moved: units by token and account, serials by token, and new associations."""

    fungible: dict[int, dict[int, int]] = field(default_factory=dict)
    nfts: dict[int, list[NftTransfer]] = field(default_factory=dict)
    associations: int = 0

    def adjust_balance(self, token_id: int, account: int, amount: int) -> None:
        accounts = self.fungible.setdefault(token_id, {})
        accounts[account] = accounts.get(account, 0) + amount
