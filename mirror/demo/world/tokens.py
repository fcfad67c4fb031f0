"""Tokens of the simulated network, with allowances and airdrops: plain data that only actions change.

Tokens and accounts are keyed by their number, serials by theirs within the token. Amounts are smallest units,
or tinybars where no token is named; times are nanoseconds. Keys are serialized Key messages, None when there
is none. `modified` and `since` are when the current state began, as REST shows it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FixedFee:
    """A fixed fee (HIP-18), in tinybars or in `denominating_token`."""

    amount: int
    collector: int
    denominating_token: int | None = None
    all_collectors_are_exempt: bool = False


@dataclass(frozen=True, slots=True)
class FractionalFee:
    """A fraction of the units moved. A `maximum` of 0 is none; with `net_of_transfers` the sender pays it."""

    numerator: int
    denominator: int
    collector: int
    minimum: int = 0
    maximum: int = 0
    net_of_transfers: bool = False
    all_collectors_are_exempt: bool = False

    def compute(self, amount: int) -> int:
        owed = max(amount * self.numerator // self.denominator, self.minimum)
        return min(owed, self.maximum) if self.maximum else owed


@dataclass(frozen=True, slots=True)
class RoyaltyFee:
    """A fraction of the price of a serial. If there is no price, its receiver pays `fallback`."""

    numerator: int
    denominator: int
    collector: int
    fallback: FixedFee | None = None
    all_collectors_are_exempt: bool = False


CustomFee = FixedFee | FractionalFee | RoyaltyFee


@dataclass(slots=True)
class Serial:
    """A serial of a non-fungible token. Without `owner` it is burnt, wiped or given up."""

    owner: int | None
    metadata: bytes
    created: int
    modified: int
    spender: int | None = None
    delegating_spender: int | None = None

    def move(self, owner: int | None, at: int) -> None:
        """Give it another owner, or none, which ends its allowance."""
        self.owner, self.modified = owner, at
        self.spender = self.delegating_spender = None


@dataclass(slots=True)
class Relationship:
    """The association of an account with a token. `frozen` and `kyc_granted` are None if they don't apply."""

    created: int
    automatic: bool
    frozen: bool | None
    kyc_granted: bool | None
    balance_timestamp: int  # of the last transfer
    balance: int = 0

    def receive(self, amount: int, at: int) -> None:
        """Add an amount, which is negative when it is spent."""
        self.balance += amount
        self.balance_timestamp = at


@dataclass(slots=True)
class Token:
    """A token. `paused` is None if there never was a pause key.

    `relationships` are those of the accounts that are associated now, by account.
    """

    number: int
    created: int
    modified: int
    name: str
    symbol: str
    fungible: bool
    treasury: int
    decimals: int = 0
    initial_supply: int = 0
    supply: int = 0
    finite: bool = False
    max_supply: int = 0
    memo: str = ""
    metadata: bytes = b""
    admin_key: bytes | None = None
    fee_schedule_key: bytes | None = None
    freeze_key: bytes | None = None
    kyc_key: bytes | None = None
    metadata_key: bytes | None = None
    pause_key: bytes | None = None
    supply_key: bytes | None = None
    wipe_key: bytes | None = None
    freeze_default: bool = False
    paused: bool | None = None
    deleted: bool = False
    auto_renew_account: int | None = None
    auto_renew_period: int | None = None  # seconds
    expiration: int | None = None
    fees: tuple[CustomFee, ...] = ()
    fees_since: int = 0
    is_currency: bool = False
    serials: dict[int, Serial] = field(default_factory=dict)
    relationships: dict[int, Relationship] = field(default_factory=dict)

    def balance(self, account: int) -> int:
        relationship = self.relationships.get(account)
        return relationship.balance if relationship else 0

    def holders(self) -> list[int]:
        return [account for account, relationship in self.relationships.items() if relationship.balance]

    def owned(self, account: int) -> list[int]:
        return [number for number, serial in self.serials.items() if serial.owner == account]

    def receive(self, moved: Mapping[int, int], at: int) -> None:
        """Move units: account -> amount. All are associated."""
        for account, amount in moved.items():
            self.relationships[account].receive(amount, at)

    def failure(self, account: int) -> str | None:
        """Return the result code of moving the token from or to an account; None if it succeeds."""
        relationship = self.relationships.get(account)
        if self.deleted:
            return "TOKEN_WAS_DELETED"
        if self.paused:
            return "TOKEN_IS_PAUSED"
        if relationship is None:
            return "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
        if relationship.frozen:
            return "ACCOUNT_FROZEN_FOR_TOKEN"
        return "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN" if relationship.kyc_granted is False else None

    def exempts(self, payer: int, fee: CustomFee) -> bool:
        """Return whether an account pays no fee: the treasury, its collector, of some fees any one."""
        if payer in (self.treasury, fee.collector):
            return True
        return fee.all_collectors_are_exempt and any(payer == other.collector for other in self.fees)


@dataclass(slots=True)
class Allowance:
    """An allowance: `amount` is what is left of `granted`."""

    granted: int
    amount: int
    since: int


@dataclass(slots=True)
class AllowanceForAll:
    """An allowance for all serials of a token, `approved` or revoked."""

    approved: bool
    since: int


@dataclass(slots=True)
class Airdrop:
    """An airdrop. `amount` is None for a serial; `state` is PENDING, CLAIMED or CANCELLED."""

    amount: int | None
    state: str
    since: int


HbarAllowanceKey = tuple[int, int]  # owner, spender
TokenAllowanceKey = tuple[int, int, int]  # owner, spender, token
AirdropKey = tuple[int, int, int, int]  # sender, receiver, token, serial or 0


@dataclass
class Tokens:
    """All tokens, allowances (also of hbars) and airdrops.

    `made` counts the tokens there ever were by the place of their recipe, `automatic_associations` those that
    each account has now.
    """

    issued: dict[int, Token] = field(default_factory=dict)
    made: Counter[int] = field(default_factory=Counter)
    hbar_allowances: dict[HbarAllowanceKey, Allowance] = field(default_factory=dict)
    token_allowances: dict[TokenAllowanceKey, Allowance] = field(default_factory=dict)
    nft_allowances: dict[TokenAllowanceKey, AllowanceForAll] = field(default_factory=dict)
    airdrops: dict[AirdropKey, Airdrop] = field(default_factory=dict)
    automatic_associations: Counter[int] = field(default_factory=Counter)

    def living(self) -> Iterator[Token]:
        return (token for token in self.issued.values() if not token.deleted)

    def pending(self) -> list[AirdropKey]:
        """Return the airdrops that were neither claimed nor cancelled."""
        return [key for key, airdrop in self.airdrops.items() if airdrop.state == "PENDING"]

    def is_pending(self, key: AirdropKey) -> bool:
        return key in self.airdrops and self.airdrops[key].state == "PENDING"

    def add_airdrop(self, key: AirdropKey, share: int, at: int) -> int | None:
        """Add a share to a pending airdrop, or begin it. Return its amount, None for a serial."""
        amount = None
        if not key[3]:
            amount = share + (self.airdrops[key].amount or 0 if self.is_pending(key) else 0)
        self.airdrops[key] = Airdrop(amount, "PENDING", at)
        return amount

    def end_airdrops(self, keys: Iterable[AirdropKey], claimed: bool, at: int) -> None:
        state = "CLAIMED" if claimed else "CANCELLED"
        self.airdrops.update({key: Airdrop(self.airdrops[key].amount, state, at) for key in keys})

    def all_serials_allowed(self) -> list[TokenAllowanceKey]:
        """Return the allowances for all serials that are not revoked."""
        return [key for key, allowance in self.nft_allowances.items() if allowance.approved]

    def associate(self, token: Token, account: int, at: int, *, automatic: bool = False) -> None:
        """Begin a relationship with the defaults of the token."""
        token.relationships[account] = Relationship(
            created=at,
            automatic=automatic,
            frozen=token.freeze_default if token.freeze_key else None,
            kyc_granted=False if token.kyc_key else None,
            balance_timestamp=at,
        )
        self.automatic_associations[account] += automatic

    def dissociate(self, token: Token, account: int, at: int) -> int:
        """End a relationship. Return the balance of a deleted token that ends with it."""
        ended = token.relationships.pop(account)
        self.automatic_associations[account] -= ended.automatic
        token.supply -= ended.balance
        for serial in token.owned(account):
            token.serials[serial].move(None, at)
        return ended.balance
