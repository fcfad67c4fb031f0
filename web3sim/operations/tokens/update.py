"""TokenUpdate and TokenFeeScheduleUpdate: what a token's keys may change of it."""

from dataclasses import dataclass, field, replace
from typing import Any

from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.operations.holdings import add_units, not_paused
from web3sim.operations.refusals import Refused, refuse_if
from web3sim.operations.signers import Signers
from web3sim.operations.tokens.associate import add_relationship
from web3sim.operations.tokens.create import (
    MOST_NAME_BYTES,
    MOST_SYMBOL_BYTES,
    check_keys,
    check_memo,
    check_renew_period,
    check_text,
    first_relationship,
)
from web3sim.operations.tokens.fees import check_fees
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import CustomFees, Entity, Token

#: The codes for a key that can't be changed since there is none, by column.
_MISSING_KEYS = {
    "kyc_key": "TOKEN_HAS_NO_KYC_KEY",
    "freeze_key": "TOKEN_HAS_NO_FREEZE_KEY",
    "wipe_key": "TOKEN_HAS_NO_WIPE_KEY",
    "supply_key": "TOKEN_HAS_NO_SUPPLY_KEY",
    "fee_schedule_key": "TOKEN_HAS_NO_FEE_SCHEDULE_KEY",
    "pause_key": "TOKEN_HAS_NO_PAUSE_KEY",
    "metadata_key": "TOKEN_HAS_NO_METADATA_KEY",
}


@dataclass(frozen=True, slots=True)
class TokenChange:
    """What is changed of a token; what is empty, None or 0 stays. `keys` are serialized, by column.

    `expires` is in seconds since the epoch, the period in seconds.
    """

    name: str = ""
    symbol: str = ""
    memo: str = ""
    treasury: Entity | None = None
    keys: dict[str, bytes] = field(default_factory=dict)
    expires: int = 0
    auto_renew_account: Entity | None = None
    auto_renew_period: int = 0

    @property
    def is_only_of_keys(self) -> bool:
        """Return whether only keys change that may change themselves, all but the admin key (HIP-540)."""
        return bool(self.keys) and "admin_key" not in self.keys and replace(self, keys={}) == TokenChange()

    @property
    def is_only_of_expiry(self) -> bool:
        return replace(self, expires=0) == TokenChange()


def update_token(ledger: Overlay, signers: Signers, token: Token, change: TokenChange) -> None:
    """Change a token. Errors: Refused.

    Checks, in this order: that it is not paused; memo, keys, symbol and name; expiry; that it has an admin
    key and the keys that change; signatures; the new treasury.
    """
    not_paused(token)
    check_memo(change.memo)
    check_keys(change.keys)
    if change.symbol:
        check_text(change.symbol, "MISSING_TOKEN_SYMBOL", "TOKEN_SYMBOL_TOO_LONG", MOST_SYMBOL_BYTES)
    if change.name:
        check_text(change.name, "MISSING_TOKEN_NAME", "TOKEN_NAME_TOO_LONG", MOST_NAME_BYTES)
    _check_expiry(token, change)
    _check_keys(token, signers, change)
    if change.treasury is not None and change.treasury.id != token.treasury_account_id:
        _change_treasury(ledger, token, change.treasury.id)
    _put(ledger, token, change)


def _check_expiry(token: Token, change: TokenChange) -> None:
    if change.auto_renew_period:
        check_renew_period(change.auto_renew_period)
    if change.expires and change.expires * NANOS_PER_SECOND < (token.expiration_timestamp or 0):
        raise Refused("INVALID_EXPIRATION_TIME")


def _check_keys(token: Token, signers: Signers, change: TokenChange) -> None:
    if change.is_only_of_expiry:
        return
    if token.admin_key is None and not change.is_only_of_keys:
        raise Refused("TOKEN_IS_IMMUTABLE")
    for column in change.keys:
        if column in _MISSING_KEYS and getattr(token, column) is None:
            raise Refused(_MISSING_KEYS[column])
    by_themselves = change.is_only_of_keys and all(
        signers.is_active(getattr(token, column)) for column in change.keys
    )
    refuse_if(not by_themselves and not signers.is_active(token.admin_key), "INVALID_SIGNATURE")
    admin_key = change.keys.get("admin_key")
    signing = [each for each in (change.treasury, change.auto_renew_account) if each is not None]
    if not all(map(signers.has_signed, signing)) or (admin_key and not signers.is_active(admin_key)):
        raise Refused("INVALID_SIGNATURE")


def _change_treasury(ledger: Overlay, token: Token, treasury: int) -> None:
    """All that the old treasury has becomes the new one's, which is associated if it may be."""
    new = ledger.relationship(token, treasury)
    if new is None:
        account = ledger.entity(treasury)
        most = 0 if account is None else account.max_automatic_associations
        refuse_if(0 <= most <= ledger.associations(treasury).automatic, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
        new = replace(first_relationship(token, treasury), automatic=True)
        add_relationship(ledger, new)
    refuse_if(token.unique and new.balance, "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    old = ledger.relationship(token, token.treasury_account_id)
    held = 0 if old is None else old.balance
    if token.unique:
        ledger.replace_owner(token.id, token.treasury_account_id, treasury)
    if held:
        add_units(ledger, token, token.treasury_account_id, -held)
        add_units(ledger, token, treasury, held)


def _put(ledger: Overlay, token: Token, change: TokenChange) -> None:
    entity = ledger.entity(token.id)
    renewer = change.auto_renew_account
    columns: dict[str, Any] = {
        "memo": change.memo or token.memo,
        "auto_renew_account_id": token.auto_renew_account_id if renewer is None else renewer.id,
        "auto_renew_period": change.auto_renew_period or token.auto_renew_period,
        "expiration_timestamp": change.expires * NANOS_PER_SECOND or token.expiration_timestamp,
    }
    if entity is not None:
        ledger.put_entity(replace(entity, key=change.keys.get("admin_key", entity.key), **columns))
    treasury = token.treasury_account_id if change.treasury is None else change.treasury.id
    ledger.put_token(
        replace(
            token,
            name=change.name or token.name,
            symbol=change.symbol or token.symbol,
            treasury_account_id=treasury,
            **(columns | change.keys),
        )
    )


def update_fees(ledger: Overlay, signers: Signers, token: Token, fees: CustomFees) -> None:
    """Replace all custom fees of a token. Errors: Refused.

    Checks, in this order: that the token has a key for it, the fees, that there is something to change; the
    signature.
    """
    if token.fee_schedule_key is None:
        raise Refused("TOKEN_HAS_NO_FEE_SCHEDULE_KEY")
    not_paused(token)
    refuse_if(not signers.is_active(token.fee_schedule_key), "INVALID_SIGNATURE")
    refuse_if(fees == ledger.custom_fees(token.id) == CustomFees(), "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES")
    check_fees(ledger, fees, token=token, unique=token.unique)
    ledger.put_custom_fees(token.id, fees)
