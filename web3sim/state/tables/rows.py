"""The rows of one state, current or past, from the columns that the other modules of this folder read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mirror.core.db.reading.sql import Row
from mirror.core.values import entity_id
from web3sim.engine.interface import Address

ADDRESS_LENGTH = 20

# The id of a contract, and the number of its slot.
SlotKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Entity:
    """A row of entity that is not deleted. `type` is as in the table; the balance in tinybars.

    `key` is serialized; the period is in seconds, the timestamps are in ns.
    """

    id: int
    type: str
    evm_address: bytes | None = None
    alias: bytes | None = None
    balance: int = 0
    nonce: int = 0
    receiver_signature_required: bool = False
    key: bytes | None = None
    memo: str = ""
    max_automatic_associations: int = 0
    auto_renew_account_id: int | None = None
    auto_renew_period: int | None = None
    expiration_timestamp: int | None = None
    delegation_address: bytes | None = None
    created_timestamp: int | None = None

    @property
    def own_address(self) -> Address | None:
        """Its EVM address or 20-byte alias, if it has one."""
        for address in (self.evm_address, self.alias):
            if address is not None and len(address) == ADDRESS_LENGTH:
                return address
        return None

    @property
    def address(self) -> Address:
        """The address by which the EVM knows it: its own, else the long-zero one."""
        return self.own_address or entity_id.long_zero(self.id)


@dataclass(frozen=True, slots=True)
class Token:
    """A row of token whose entity is not deleted; the supply only if it is the current one.

    Keys are serialized. `freeze_status` is that of new relationships: 0 without a key, 1 frozen, 2 not;
    `kyc_status`: 0 without a key, 1 granted, 2 not.
    """

    id: int
    name: str
    symbol: str
    decimals: int
    unique: bool
    treasury_account_id: int
    total_supply: int
    max_supply: int = 0
    finite: bool = False
    freeze_default: bool = False
    freeze_status: int = 0
    kyc_status: int = 0
    pause_status: str = "NOT_APPLICABLE"
    kyc_key: bytes | None = None
    freeze_key: bytes | None = None
    wipe_key: bytes | None = None
    supply_key: bytes | None = None
    fee_schedule_key: bytes | None = None
    pause_key: bytes | None = None
    metadata_key: bytes | None = None
    metadata: bytes = b""
    created_timestamp: int = 0
    # Of its entity.
    admin_key: bytes | None = None
    memo: str = ""
    auto_renew_account_id: int | None = None
    auto_renew_period: int | None = None
    expiration_timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class Relationship:
    """A row of token_account that is associated.

    `balance` of a unique token is the number of serials. The statuses are as in Token; None is the token's.
    """

    account_id: int
    token_id: int
    balance: int = 0
    freeze_status: int | None = None
    kyc_status: int | None = None
    automatic: bool = False


class Associations(NamedTuple):
    """The number of tokens an account is associated with, and of them automatically."""

    all: int
    automatic: int


@dataclass(frozen=True, slots=True)
class Nft:
    """A serial that is not deleted."""

    account_id: int | None
    spender: int | None
    metadata: bytes
    created_timestamp: int = 0
    delegating_spender: int | None = None


@dataclass(frozen=True, slots=True)
class CustomFees:
    """A row of custom_fee, each fee as in its JSON."""

    fixed: tuple[Mapping[str, Any], ...] = ()
    fractional: tuple[Mapping[str, Any], ...] = ()
    royalty: tuple[Mapping[str, Any], ...] = ()


class TokenFacts(NamedTuple):
    """A token, its custom fees, and a serial of it."""

    token: Token | None
    fees: CustomFees
    nft: Nft | None


class AirdropKey(NamedTuple):
    """`serial_number` is 0 for a fungible token."""

    sender: int
    receiver: int
    token_id: int
    serial_number: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """A row of schedule whose entity is not deleted. Times are in ns; the admin key is serialized."""

    id: int
    creator_account_id: int
    payer_account_id: int
    transaction_body: bytes
    executed_timestamp: int | None
    expiration_time: int | None
    wait_for_expiry: bool
    consensus_timestamp: int
    admin_key: bytes | None
    memo: str


class Entities(NamedTuple):
    """Entities by the address or the id they were looked up with."""

    by_address: Mapping[Address, Entity]
    by_id: Mapping[int, Entity]


#: The columns of an entity, of the table or a version of it.
ENTITY_COLUMNS = (
    "id, type::text as type, evm_address, alias, balance, ethereum_nonce, receiver_sig_required, key, memo, "
    "max_automatic_token_associations, auto_renew_account_id, auto_renew_period, expiration_timestamp, "
    "delegation_address, created_timestamp"
)
#: The columns of a token, of the table or a version of it, and those of its entity.
TOKEN_COLUMNS = (
    "token_id, name, symbol, decimals, type::text as kind, treasury_account_id, total_supply, max_supply, "
    "supply_type::text as supply_type, freeze_default, freeze_status, kyc_status, "
    "pause_status::text as pause_status, kyc_key, freeze_key, wipe_key, supply_key, fee_schedule_key, "
    "pause_key, metadata_key, metadata, created_timestamp"
)
TOKEN_ENTITY_COLUMNS = (
    "id, type::text as type, deleted, key, memo, auto_renew_account_id, auto_renew_period, "
    "expiration_timestamp"
)
#: Both, from a query of each.
TOKEN_SELECTION = (
    ", ".join(column.split(" as ")[-1] for column in TOKEN_COLUMNS.split(", "))
    + ", key, memo, auto_renew_account_id, auto_renew_period, expiration_timestamp"
)
#: The columns of a custom_fee; of an nft as selected, and in the order of Nft.
FEE_COLUMNS = "fixed_fees, fractional_fees, royalty_fees"
NFT_SOURCE_COLUMNS = (
    "account_id, spender, coalesce(metadata, '') as metadata, created_timestamp, delegating_spender, deleted"
)
NFT_COLUMNS = "account_id, spender, metadata, created_timestamp, delegating_spender"
_FEES, _NFTS = 3, 5


def entities_of(by_address: Mapping[Address, Row], by_id: Mapping[int, Row]) -> Entities:
    """From rows of ENTITY_COLUMNS."""
    return Entities(
        {address: _entity_of(row) for address, row in by_address.items()},
        {id: _entity_of(row) for id, row in by_id.items()},
    )


def _entity_of(columns: Sequence[Any]) -> Entity:
    found_id, kind, evm_address, alias, balance, nonce, receiver_signature, key, memo, most, *others = columns
    # Of an account older than what is stored, the debits may be known, but not the credits.
    held = max(balance or 0, 0)
    return Entity(
        found_id, kind, evm_address, alias, held, nonce or 0, bool(receiver_signature), key, memo, most or 0,
        *others,
    )  # fmt: skip


def token_of(row: Row | None) -> Token | None:
    """From the columns of TOKEN_SELECTION."""
    if row is None:
        return None
    token_id, name, symbol, decimals, kind, treasury, supply, max_supply, supply_type, *others = row
    *keys, metadata, created, admin_key, memo, auto_renew_id, auto_renew_period, expiration = others
    columns: list[Any] = [
        *(token_id, name, symbol, decimals, kind == "NON_FUNGIBLE_UNIQUE", treasury, supply, max_supply),
        *(supply_type == "FINITE", *keys, metadata or b"", created, admin_key, memo),
        *(auto_renew_id, auto_renew_period, expiration),
    ]
    return Token(*columns)


def custom_fees_of(row: Row | None) -> CustomFees:
    """From the columns fixed_fees, fractional_fees and royalty_fees. Rows may leave out what is empty."""
    if row is None:
        return CustomFees()
    fixed, fractional, royalty = row
    return CustomFees(
        tuple(_FIXED_FEE | fee for fee in fixed or ()),
        tuple(_FRACTIONAL_FEE | fee for fee in fractional or ()),
        tuple(_royalty_fee(fee) for fee in royalty or ()),
    )


_FEE: dict[str, Any] = {"all_collectors_are_exempt": False, "collector_account_id": None}
_FIXED_FEE = _FEE | {"denominating_token_id": None}
_FRACTIONAL_FEE = _FEE | {"maximum_amount": None, "minimum_amount": 0, "net_of_transfers": False}
_ROYALTY_FEE = _FEE | {"fallback_fee": None}


def _royalty_fee(fee: Mapping[str, Any]) -> Mapping[str, Any]:
    fallback = fee.get("fallback_fee")
    return {**_ROYALTY_FEE, **fee, "fallback_fee": fallback and {"denominating_token_id": None} | fallback}


def token_facts_of(row: Row | None) -> TokenFacts:
    """From the columns of TOKEN_SELECTION, FEE_COLUMNS and NFT_COLUMNS."""
    if row is None:
        return TokenFacts(None, CustomFees(), None)
    account_id, spender, metadata, created, delegating_spender = row[-_NFTS:]
    token, fees = row[: -_NFTS - _FEES], row[-_NFTS - _FEES : -_NFTS]
    nft = None if created is None else Nft(account_id, spender, metadata, created, delegating_spender)
    return TokenFacts(token_of(token), custom_fees_of(fees), nft)
