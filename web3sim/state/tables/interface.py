"""The questions that the tables answer about one state, now or at a time, and the rows they answer with.

The modules beside this one read the tables; `web3sim.state.ledger` turns the rows into what the EVM sees.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mirror.db.sql import Row
from mirror.values import entity_id
from web3sim.engine.interface import Address

ADDRESS_LENGTH = 20

# The id of a contract, and the number of its slot.
SlotKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Entity:
    """A row of entity that is not deleted. `type` is as in the table; the balance in tinybars."""

    id: int
    type: str
    evm_address: bytes | None = None
    alias: bytes | None = None
    balance: int = 0
    nonce: int = 0
    receiver_signature_required: bool = False

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
    """A token whose entity is not deleted; the supply only if it is the current one."""

    id: int
    name: str
    symbol: str
    decimals: int
    unique: bool
    treasury_account_id: int
    total_supply: int


@dataclass(frozen=True, slots=True)
class Nft:
    """A serial that is not deleted."""

    account_id: int | None
    spender: int | None
    metadata: bytes


class Entities(NamedTuple):
    """The entities found, by the address or the id that was asked for."""

    by_address: Mapping[Address, Entity]
    by_id: Mapping[int, Entity]


class Tables(Protocol):
    """One state. Ids are encoded; amounts in the smallest unit; errors are those of Reading."""

    @property
    def time(self) -> int | None:
        """When, in ns; None is now."""

    def entities(self, addresses: Sequence[Address], ids: Sequence[int]) -> Entities: ...

    def nonce(self, entity: Entity) -> int: ...

    def slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        """The values of all slots; 0 is one that was never written."""

    def token(self, token_id: int) -> Token | None: ...

    def total_supply(self, token: Token) -> int: ...

    def token_balance(self, token: Token, account_id: int) -> int:
        """Return what a relationship holds, for a unique token the number of serials; 0 without one."""

    def tied_to_tokens(self, account_id: int) -> bool:
        """Return whether an account is the treasury of a token that is not deleted, or holds tokens."""

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        """Return what is left of an allowance; 0 without one."""

    def nft(self, token_id: int, serial_number: int) -> Nft | None: ...

    def approved_for_all(self, token_id: int, owner: int, spender: int) -> bool: ...


def entities_of(rows: Iterable[Row]) -> Entities:
    """From rows of the address and the id asked for, then the columns of Entity in order."""
    by_address: dict[Address, Entity] = {}
    by_id: dict[int, Entity] = {}
    for address, asked_id, found_id, kind, evm_address, alias, balance, nonce, receiver_signature in rows:
        # Of an account older than what is stored, more may be known to have gone than to have come.
        held = max(balance or 0, 0)
        entity = Entity(found_id, kind, evm_address, alias, held, nonce or 0, bool(receiver_signature))
        if address is None:
            by_id[asked_id] = entity
        else:
            by_address[address] = entity
    return Entities(by_address, by_id)


def token_of(row: Row | None) -> Token | None:
    """From the columns of Token in order, the type as text."""
    if row is None:
        return None
    token_id, name, symbol, decimals, kind, treasury, supply = row
    return Token(token_id, name, symbol, decimals, kind == "NON_FUNGIBLE_UNIQUE", treasury, supply)
