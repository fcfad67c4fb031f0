"""The rows that a call and its transaction change, as the ledger reads them, and what is compared of them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from mirror.core.db.reading.sql import fetch
from tests.web3sim.state.states import current
from web3sim.state.ledger import LedgerState
from web3sim.state.tables.rows import AirdropKey, Entity, Nft, Relationship, Schedule, Token


def _token(state: LedgerState, token_id: int) -> Token:
    found = state.token(token_id)
    assert found is not None
    return found


READ: dict[str, Callable[..., Any]] = {
    "entity": LedgerState.entity,
    "token": LedgerState.token,
    "supply": lambda state, token_id: state.total_supply(_token(state, token_id)),
    "custom fees": LedgerState.custom_fees,
    "relationship": lambda state, token_id, holder: state.relationship(_token(state, token_id), holder),
    "nft": LedgerState.nft,
    "newest serial": LedgerState.newest_serial,
    "allowance": LedgerState.token_allowance,
    "approved for all": LedgerState.approved_for_all,
    "hbar allowance": LedgerState.hbar_allowance,
    "airdrop": lambda state, *key: state.pending_airdrop(AirdropKey(*key)),
    "schedule": LedgerState.schedule,
    "signatories": LedgerState.signatories,
    "associations": LedgerState.associations,
    "allowances": LedgerState.allowances,
}


def plain(row: Any) -> Any:
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
    return row if isinstance(row, tuple | frozenset) or hasattr(row, "fixed") else None


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
    "hbar allowance": "select owner, spender, amount from crypto_allowance",
    "airdrop": (
        "select sender_account_id, receiver_account_id, token_id, serial_number, amount, state::text "
        "from token_airdrop"
    ),
    "schedule": "select schedule_id, creator_account_id, payer_account_id, transaction_body from schedule",
    "entity": (
        "select id, key, memo, max_automatic_token_associations, deleted from entity "
        "where type in ('ACCOUNT', 'CONTRACT')"
    ),
}
_KEY_LENGTHS = {
    **dict.fromkeys(("token", "supply", "custom fees", "schedule", "entity"), 1),
    **dict.fromkeys(("allowance", "approved for all"), 3),
    "airdrop": 4,
}


def stored_rows() -> dict[tuple[Any, ...], Hashable]:
    """The rows of the tables by the keys of the overlay."""
    rows: dict[tuple[Any, ...], Any] = {}
    for name, statement in _TABLES.items():
        for row in fetch(statement):
            rows[name, *row[: _KEY_LENGTHS.get(name, 2)]] = row
    return rows
