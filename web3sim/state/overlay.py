"""The ledger as a call has changed it so far: rows that the call wrote, and behind them the state before.

A row stands under the key of what it is: `("token", id)`, `("relationship", token, account)` and so on. Rows
go into the journal of the engine, so a frame that reverts takes back its own. Nothing is ever stored.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, TypeVarTuple

from mirror.core.values import entity_id
from mirror.core.values.keys import EMPTY_LIST
from web3sim.engine.interface import AccountKind, AccountRecord, Address, Journal
from web3sim.state.ledger import LedgerState
from web3sim.state.proxy_code import proxy_code
from web3sim.state.tables.rows import (
    AirdropKey,
    Associations,
    CustomFees,
    Entity,
    Nft,
    Relationship,
    Schedule,
    Token,
)

#: In place of a row that the call has removed.
_ABSENT: Any = object()
_NEXT = ("next entity",)
_KNOWN_NUMBERS_USED = ("known numbers that were used",)
_PROXIED = (AccountKind.TOKEN, AccountKind.SCHEDULE)

Arguments = TypeVarTuple("Arguments")
Stored = TypeVar("Stored")


def _read(
    name: str, stored: Callable[[LedgerState, *Arguments], Stored]
) -> Callable[["Overlay", *Arguments], Stored]:
    """Return a method for the row of a kind that the call wrote, or else the stored one."""

    def row(overlay: "Overlay", /, *arguments: *Arguments) -> Stored:
        return overlay._row((name, *arguments), lambda: stored(overlay.state, *arguments))

    return row


class Overlay:
    """Errors of all methods: those of LedgerState."""

    def __init__(self, state: LedgerState, journal: Journal) -> None:
        self.state, self.journal = state, journal
        # Most calls only read: this spares each of their rows two calls and the hash of a key.
        self._rows = journal.rows()

    def _row(self, key: tuple[Any, ...], stored: Callable[[], Stored]) -> Stored:
        # Operations on long lists read a row for each item, most of them from a cache.
        self.state.check_deadline()
        row = self._rows.get(key) if self._rows else None
        if row is None:
            return stored()
        value: Stored = None if row is _ABSENT else row  # type: ignore[assignment]
        return value

    def _put(self, key: tuple[Any, ...], row: Any) -> None:
        self.journal.put_row(key, _ABSENT if row is None else row)

    # ENTITIES

    # By id, whatever the address; not one that the call has deleted.
    entity = _read("entity", LedgerState.entity)

    def put_entity(self, entity: Entity) -> None:
        self._put(("entity", entity.id), entity)

    def remove_entity(self, encoded: int) -> None:
        self._put(("entity", encoded), None)

    def is_removed(self, encoded: int) -> bool:
        """Return whether the call has deleted an entity."""
        return self.journal.row(("entity", encoded)) is _ABSENT

    def entity_at(self, address: Address) -> Entity | None:
        """The entity that the EVM knows by an address, also a contract that the call itself has made."""
        created = self._rows.get(("created", address)) if self._rows else None
        if created is not None:
            return self.entity(created)
        stored = self.state.entity_at(address)
        return None if stored is None else self._row(("entity", stored.id), lambda: stored)

    def account_at(self, address: Address) -> Entity | None:
        entity = self.entity_at(address)
        return entity if entity is not None and entity.type in ("ACCOUNT", "CONTRACT") else None

    def account_id_at(self, address: Address) -> int | None:
        account = self.account_at(address)
        return None if account is None else account.id

    def address_of(self, encoded: int) -> Address:
        """The EVM address of an entity, also of one that is not known."""
        entity = self.entity(encoded)
        return entity_id.long_zero(encoded) if entity is None else entity.address

    def load_accounts(self, ids: Iterable[int]) -> None:
        """Read several entities in one statement."""
        self.state.load(entity_id.long_zero(encoded) for encoded in ids)

    def add_entity(self, kind: AccountKind, address: Address | None = None, **columns: Any) -> Entity:
        """Make an entity with a new number, at an address of its own or the long-zero one."""
        encoded = self.state.encoded(self._new_num())
        entity = Entity(encoded, kind.name, evm_address=address, **columns)
        self.put_entity(entity)
        self._put(("created", entity.address), encoded)
        code = proxy_code(kind, entity.address, self.state.version) if kind in _PROXIED else b""
        self.journal.add_account(entity.address, AccountRecord(code=code, kind=kind, entity_id=encoded))
        return entity

    def add_created(self, address: Address, kind: AccountKind) -> None:
        """Number what the EVM creates at an address: a contract, or an account that has no key yet.

        A contract created at the address of an account without a key has that account's number.
        """
        if self.entity_at(address) is not None:
            return
        num = entity_id.num_of_long_zero(address)
        own = address if num is None else None
        encoded = self.state.encoded(self._next_num() if num is None else num)
        key = EMPTY_LIST if kind is AccountKind.ACCOUNT else None
        self.put_entity(Entity(encoded, kind.name, key=key, evm_address=own))
        self._put(("created", address), encoded)

    def _new_num(self) -> int:
        used: int = self.journal.row(_KNOWN_NUMBERS_USED, 0)
        known = self.state.known_numbers
        if used >= len(known):
            return self._next_num()
        self.journal.put_row(_KNOWN_NUMBERS_USED, used + 1)
        return known[used]

    def _next_num(self) -> int:
        num: int = self.journal.row(_NEXT, self.state.next_num)
        # The outermost message may have created a contract of that number.
        while self.journal.account_exists(entity_id.long_zero(num)):
            num += 1
        self.journal.put_row(_NEXT, num + 1)
        return num

    # HBAR, in tinybars

    def hbar_balance(self, encoded: int) -> int:
        return self.journal.get_balance(self._funded(encoded))

    def add_hbar(self, encoded: int, tinybars: int) -> None:
        """Change a balance; the caller has checked that it does not become negative."""
        address = self._funded(encoded)
        self.journal.set_balance(address, self.journal.get_balance(address) + tinybars)

    def _funded(self, encoded: int) -> Address:
        """Return the address of an account that an operation loads."""
        address = self.address_of(encoded)
        self.journal.fund(address)
        return address

    hbar_allowance = _read("hbar allowance", LedgerState.hbar_allowance)

    def put_hbar_allowance(self, owner: int, spender: int, tinybars: int) -> None:
        self._count_allowance(owner, self.hbar_allowance(owner, spender), tinybars)
        self._put(("hbar allowance", owner, spender), tinybars)

    # TOKENS

    # Not one that the call has deleted.
    token = _read("token", LedgerState.token)

    def token_at(self, address: Address) -> Token | None:
        """The token at an address, which is always the long-zero one."""
        num = entity_id.num_of_long_zero(address)
        return None if num is None else self.token(self.state.encoded(num))

    def load_token(self, address: Address, serial_number: int | None = None) -> None:
        """Read a token, its custom fees and a serial in one statement."""
        num = entity_id.num_of_long_zero(address)
        if num is not None:
            self.state.load_token(self.state.encoded(num), serial_number)

    def put_token(self, token: Token) -> None:
        self._put(("token", token.id), token)

    def delete_token(self, token: Token) -> None:
        """Delete a token; its relationships stay."""
        self._put(("token", token.id), None)
        self.remove_entity(token.id)
        self._put(("deleted token", token.id), token)

    def known_token(self, token_id: int) -> Token | None:
        """A token, also one that the call has deleted."""
        return self.token(token_id) or self._row(("deleted token", token_id), lambda: None)

    def known_token_at(self, address: Address) -> Token | None:
        num = entity_id.num_of_long_zero(address)
        return None if num is None else self.known_token(self.state.encoded(num))

    def token_deleted_before_at(self, address: Address) -> Token | None:
        """What the token at an address was, if it was deleted before the call."""
        num = entity_id.num_of_long_zero(address)
        return None if num is None else self.state.deleted_token(self.state.encoded(num))

    def total_supply(self, token: Token) -> int:
        return self._row(("supply", token.id), lambda: self.state.total_supply(token))

    def put_total_supply(self, token_id: int, amount: int) -> None:
        self._put(("supply", token_id), amount)

    custom_fees = _read("custom fees", LedgerState.custom_fees)

    def put_custom_fees(self, token_id: int, fees: CustomFees) -> None:
        self._put(("custom fees", token_id), fees)

    # RELATIONSHIPS

    def relationship(self, token: Token, account_id: int) -> Relationship | None:
        """The relationship of an account with a token; None unless it is associated."""
        key = ("relationship", token.id, account_id)
        return self._row(key, lambda: self.state.relationship(token, account_id))

    def put_relationship(self, relationship: Relationship) -> None:
        self._put(("relationship", relationship.token_id, relationship.account_id), relationship)

    def remove_relationship(self, token_id: int, account_id: int) -> None:
        self._put(("relationship", token_id, account_id), None)

    def token_balance(self, token: Token, account_id: int) -> int:
        """What an account holds, of a unique token the number of serials; 0 without a relationship."""
        relationship = self.relationship(token, account_id)
        return 0 if relationship is None else relationship.balance

    def tied_to_tokens(self, account_id: int, *, only_as_treasury: bool = False) -> bool:
        """Return whether an account is a token's treasury or, unless `only_as_treasury`, holds tokens."""
        tokens = set(self.state.tying_tokens(account_id))
        for row in self.journal.rows().values():
            if isinstance(row, Relationship) and row.account_id == account_id:
                tokens.add(row.token_id)
            elif isinstance(row, Token) and row.treasury_account_id == account_id:
                tokens.add(row.id)
        return any(self._is_tied(token_id, account_id, only_as_treasury) for token_id in tokens)

    def _is_tied(self, token_id: int, account_id: int, only_as_treasury: bool) -> bool:
        """A deleted token has no treasury, but may have balances."""
        token = self.token(token_id)
        if token is not None and token.treasury_account_id == account_id:
            return True
        if only_as_treasury:
            return False
        any_token = self.known_token(token_id) or self.state.deleted_token(token_id)
        return any_token is not None and self.token_balance(any_token, account_id) > 0

    def associations(self, account_id: int) -> Associations:
        """The counts before the call, and what `count_associations` has added."""
        stored = self.state.associations(account_id)
        new = self._new_associations(account_id)
        return Associations(stored.all + new.all, stored.automatic + new.automatic)

    def count_associations(self, account_id: int, *, all: int, automatic: int) -> None:
        """Add to the counts, which need not be read for it."""
        new = self._new_associations(account_id)
        self._put(("more associations", account_id), Associations(new.all + all, new.automatic + automatic))

    def _new_associations(self, account_id: int) -> Associations:
        new: Associations = self.journal.row(("more associations", account_id), Associations(0, 0))
        return new

    # UNIQUE TOKENS

    def nft(self, token_id: int, serial_number: int) -> Nft | None:
        return self._row(("nft", token_id, serial_number), lambda: self._stored_nft(token_id, serial_number))

    def _stored_nft(self, token_id: int, serial_number: int) -> Nft | None:
        stored = self.state.nft(token_id, serial_number)
        new_owners: Mapping[int, int] = self.journal.row(("new owners", token_id), {})
        if stored is None or stored.account_id is None or stored.account_id not in new_owners:
            return stored
        return replace(
            stored, account_id=new_owners[stored.account_id], spender=None, delegating_spender=None
        )

    def replace_owner(self, token_id: int, old: int, new: int) -> None:
        """Move all serials of an account to another one; only those that were read are known."""
        known: Mapping[int, int] = self.journal.row(("new owners", token_id), {})
        owners = {first: new if last == old else last for first, last in known.items()}
        self._put(("new owners", token_id), {old: new} | owners)
        for key, row in list(self.journal.rows().items()):
            is_serial = isinstance(key, tuple) and key[:2] == ("nft", token_id) and row is not _ABSENT
            if is_serial and row.account_id == old:
                self.journal.put_row(key, replace(row, account_id=new, spender=None, delegating_spender=None))

    def put_nft(self, token_id: int, serial_number: int, nft: Nft | None) -> None:
        """None: the serial is burned or wiped."""
        self._put(("nft", token_id, serial_number), nft)

    newest_serial = _read("newest serial", LedgerState.newest_serial)

    def put_newest_serial(self, token_id: int, serial_number: int) -> None:
        self._put(("newest serial", token_id), serial_number)

    # ALLOWANCES AND AIRDROPS

    def allowances(self, owner: int) -> int:
        """The number of spenders that an owner has granted something: hbar, units, all serials."""
        new: int = self.journal.row(("more allowances", owner), 0)
        return self.state.allowances(owner) + new

    def _count_allowance(self, owner: int, old: int, new: int) -> None:
        change = bool(new) - bool(old)
        if change:
            key = ("more allowances", owner)
            self.journal.put_row(key, self.journal.row(key, 0) + change)

    token_allowance = _read("allowance", LedgerState.token_allowance)

    def put_token_allowance(self, token_id: int, owner: int, spender: int, amount: int) -> None:
        self._count_allowance(owner, self.token_allowance(token_id, owner, spender), amount)
        self._put(("allowance", token_id, owner, spender), amount)

    approved_for_all = _read("approved for all", LedgerState.approved_for_all)

    def put_approved_for_all(self, token_id: int, owner: int, spender: int, approved: bool) -> None:
        self._count_allowance(owner, self.approved_for_all(token_id, owner, spender), approved)
        self._put(("approved for all", token_id, owner, spender), approved)

    def pending_airdrop(self, key: AirdropKey) -> int | None:
        return self._row(("airdrop", *key), lambda: self.state.pending_airdrop(key))

    def put_pending_airdrop(self, key: AirdropKey, amount: int | None) -> None:
        """None: the airdrop is claimed or cancelled."""
        self._put(("airdrop", *key), amount)

    # SCHEDULES

    schedule = _read("schedule", LedgerState.schedule)

    def put_schedule(self, schedule: Schedule) -> None:
        self._put(("schedule", schedule.id), schedule)

    signatories = _read("signatories", LedgerState.signatories)

    def put_signatories(self, schedule_id: int, prefixes: frozenset[bytes]) -> None:
        self._put(("signatories", schedule_id), prefixes)
