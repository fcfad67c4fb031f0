"""What a simulated call changes, beside what the same transaction changes when its record is ingested."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, cast

from ledger.stream.record.compose import account
from mirror.db.sql import fetch
from mirror.values.hapi import CryptoCreateTransactionBody
from tests.ledger.ingest.load import load
from tests.tokens.compose import KEY, TokenStream, serials, token, units
from tests.web3sim.state.states import current
from tests.web3sim.system_contracts.calls import Calls
from web3sim.state import cache
from web3sim.state.ledger import LedgerState
from web3sim.state.tables.interface import AirdropKey, Entity, Nft, Relationship, Schedule, Token

#: People: the treasury of the tokens, two who hold some, one who is not associated, one who takes anything.
OWNER, HOLDER, OTHER, STRANGER, OPEN = 1001, 1002, 1003, 1004, 1005
UNITS, SERIALS, PLAIN, FRESH = 5000, 5001, 5002, 5003

_EVERY_KEY: dict[str, Any] = dict.fromkeys(
    (
        "adminKey",
        "kycKey",
        "freezeKey",
        "wipeKey",
        "supplyKey",
        "fee_schedule_key",
        "pause_key",
        "metadata_key",
    ),
    KEY,
)


def stream() -> TokenStream:
    """A stream with people and tokens; its open block holds their creation."""
    made = TokenStream()
    for number in (OWNER, HOLDER, OTHER, STRANGER):
        made.crypto_create(number, initial_balance=10**9, create=CryptoCreateTransactionBody(key=KEY))
    unlimited = CryptoCreateTransactionBody(key=KEY, max_automatic_token_associations=-1)
    made.crypto_create(OPEN, initial_balance=10**9, create=unlimited)
    made.create(UNITS, treasury=OWNER, supply=1000, **_EVERY_KEY)
    made.create(SERIALS, treasury=OWNER, tokenType="NON_FUNGIBLE_UNIQUE", **_EVERY_KEY)
    made.create(PLAIN, treasury=OWNER, supply=1000)
    made.create(FRESH, treasury=OWNER, supply=5)
    for holder in (HOLDER, OTHER):
        made.associate(holder, UNITS, SERIALS, PLAIN)
        for number in (UNITS, SERIALS):
            made.happen("tokenGrantKyc", {"account": account(holder), "token": token(number)})
    made.mint_serials(SERIALS, 1, 2, 3, treasury=OWNER)
    made.transfer(units(UNITS, {OWNER: -100, HOLDER: 100}), units(PLAIN, {OWNER: -100, HOLDER: 100}))
    made.transfer(serials(SERIALS, (1, OWNER, HOLDER)))
    return made


def changes_of(
    call: Callable[[Calls], Any], transaction: Callable[[TokenStream], Any], made: TokenStream, *, sender: int
) -> None:
    """Load what `made` has, run a call, then ingest the transaction: the rows of both must be equal."""
    load(made.block())
    cache.forget()
    before = _rows()
    calls = Calls(sender=sender)
    call(calls)
    changed = cast(dict[tuple[Any, ...], Any], dict(calls.journal.rows()))
    transaction(made)
    load(made.block())
    cache.forget()
    state = current()

    in_call = {key: _plain(row) for key, row in changed.items() if key[0] in _READ}
    in_tables = {key: _plain(_READ[key[0]](state, *key[1:])) for key in in_call}
    differing = [(key, in_call[key], in_tables[key]) for key in in_call if in_call[key] != in_tables[key]]
    assert differing == [], f"key, row of the call, row of the table: {differing}"
    after = _rows()
    ingested = {key for key in after if after[key] != before.get(key)}
    assert ingested <= changed.keys(), f"changed by the transaction alone: {ingested - changed.keys()}"


def _token(state: LedgerState, token_id: int) -> Token:
    found = state.token(token_id)
    assert found is not None
    return found


_READ: dict[str, Callable[..., Any]] = {
    "entity": LedgerState.entity,
    "token": LedgerState.token,
    "supply": lambda state, token_id: state.total_supply(_token(state, token_id)),
    "custom fees": LedgerState.custom_fees,
    "relationship": lambda state, token_id, holder: state.relationship(_token(state, token_id), holder),
    "associations": LedgerState.associations,
    "nft": LedgerState.nft,
    "newest serial": LedgerState.newest_serial,
    "allowance": LedgerState.token_allowance,
    "approved for all": LedgerState.approved_for_all,
    "hbar allowance": LedgerState.hbar_allowance,
    "airdrop": lambda state, *key: state.pending_airdrop(AirdropKey(*key)),
    "schedule": LedgerState.schedule,
}


def _plain(row: Any) -> Any:
    """A row without what the time of the transaction says; in place of no status, that of its token."""
    match row:
        case Token():
            return replace(row, created_timestamp=0, expiration_timestamp=None, total_supply=0)
        case Nft():
            return replace(row, created_timestamp=0)
        case Entity():
            return replace(row, created_timestamp=0, expiration_timestamp=None, balance=0)
        case Relationship():
            owning = _token(current(), row.token_id)
            freeze = owning.freeze_status if row.freeze_status is None else row.freeze_status
            kyc = owning.kyc_status if row.kyc_status is None else row.kyc_status
            return replace(row, freeze_status=freeze, kyc_status=kyc)
        case Schedule():
            return replace(row, consensus_timestamp=0, expiration_time=None)
        case int() | bool() | None:
            return row
    return row if isinstance(row, tuple) or hasattr(row, "fixed") else None


_TABLES: Mapping[str, str] = {
    "relationship": (
        "select token_id, account_id, balance, associated, freeze_status, kyc_status from token_account"
    ),
    "nft": (
        "select token_id, serial_number, account_id, spender, delegating_spender, deleted, metadata from nft"
    ),
    "token": (
        "select token_id, 0, name, symbol, treasury_account_id, pause_status::text, kyc_key, freeze_key, "
        "supply_key, metadata from token"
    ),
    "supply": "select token_id, 0, total_supply from token",
    "custom fees": (
        "select entity_id, 0, fixed_fees::text, fractional_fees::text, royalty_fees::text from custom_fee"
    ),
    "allowance": "select token_id, owner, spender, amount from token_allowance",
    "approved for all": "select token_id, owner, spender, approved_for_all from nft_allowance",
}
_KEY_LENGTHS = {"token": 1, "supply": 1, "custom fees": 1, "allowance": 3, "approved for all": 3}


def _rows() -> dict[Hashable, Any]:
    """The rows of the tables by the keys of the overlay."""
    rows: dict[Hashable, Any] = {}
    for name, statement in _TABLES.items():
        for row in fetch(statement):
            rows[name, *row[: _KEY_LENGTHS.get(name, 2)]] = row
    return rows
