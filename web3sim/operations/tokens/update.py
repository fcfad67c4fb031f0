"""TokenUpdate and TokenFeeScheduleUpdate: what a token's keys may change of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import Address
from web3sim.operations import holdings
from web3sim.operations.rejections import Rejected, reject_if, required
from web3sim.operations.tokens import create
from web3sim.operations.tokens.fees import check_collectors, check_fees, fees_of
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import CustomFees, Token

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


def update_token(ledger: Overlay, body: Any, now: int, payer: int | None) -> None:
    """Change a token by a TokenUpdate body; what is empty or 0 in it stays. `now` is in seconds.

    Every key counts as having signed.

    Checks, in this order: the keys; the token, and what it needs keys for; it is not deleted, not paused;
    memo, symbol and name; expiry; the new treasury.
    """
    reject_if(not body.token.tokenNum, "INVALID_TOKEN_ID")
    create.check_keys(body)
    token = required(ledger.known_token(entity_id.from_token(body.token)), "INVALID_TOKEN_ID")
    _check_changeable(ledger, token, body, payer)
    holdings.check_usable(ledger, token)
    create.check_memo(body.memo.value)
    if body.symbol:
        create.check_text(body.symbol, "MISSING_TOKEN_SYMBOL", "TOKEN_SYMBOL_TOO_LONG")
    if body.name:
        create.check_text(body.name, "MISSING_TOKEN_NAME", "TOKEN_NAME_TOO_LONG")
    if body.HasField("expiry"):
        reject_if(not create.is_valid_expiry(body, now), "INVALID_EXPIRATION_TIME")
        reduced = body.expiry.seconds * NANOS_PER_SECOND < (token.expiration_timestamp or 0)
        reject_if(reduced, "EXPIRATION_REDUCTION_NOT_ALLOWED")
    reject_if(
        body.HasField("autoRenewPeriod") and not create.is_valid_period(body),
        "AUTORENEW_DURATION_NOT_IN_RANGE",
    )
    treasury = entity_id.from_account(body.treasury) or token.treasury_account_id
    if body.HasField("treasury"):
        _change_treasury(ledger, token, treasury)
    _put(ledger, token, treasury, body)


def needs_admin_key(body: Any) -> bool:
    """Return whether a TokenUpdate body changes more than the expiry and keys other than the admin key.

    Those change with the admin key, or each by itself (HIP-540).
    """
    named = ("treasury", "autoRenewAccount", "adminKey", "memo", "autoRenewPeriod")
    return bool(body.name or body.symbol) or any(map(body.HasField, named))


def _check_changeable(ledger: Overlay, token: Token, body: Any, payer: int | None) -> None:
    immutable = "" if token.admin_key else "TOKEN_IS_IMMUTABLE"
    reject_if(immutable and needs_admin_key(body), immutable)
    if body.HasField("treasury"):
        treasury = entity_id.from_account(body.treasury)
        required(holdings.get_account(ledger, treasury), "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
        holdings.require_signature(ledger, treasury, payer, "INVALID_ACCOUNT_ID")
    if body.HasField("autoRenewAccount"):
        create.check_renewer(ledger, body, payer)
    keys = create.keys_of(body)
    for column, code in _MISSING_KEYS.items():
        reject_if(column in keys and not getattr(token, column), immutable or code)


def _change_treasury(ledger: Overlay, token: Token, treasury: int) -> None:
    """All that the old treasury has becomes the new one's, which is associated if it may be."""
    if ledger.relationship(token, treasury) is None:
        account = required(holdings.get_account(ledger, treasury), "INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
        reject_if(holdings.has_no_free_slots(ledger, account), "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")
        holdings.add_relationship(ledger, holdings.new_relationship(token, treasury, automatic=True))
    if treasury == token.treasury_account_id:
        return
    old = holdings.unfrozen_relationship(ledger, token, token.treasury_account_id)
    new = holdings.unfrozen_relationship(ledger, token, treasury)
    if old.balance:
        have_kyc = holdings.has_kyc(token, old) and holdings.has_kyc(token, new)
        reject_if(not have_kyc, "TOKEN_HAS_NO_KYC_KEY")
        reject_if(token.unique and new.balance, "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
        if token.unique:
            ledger.replace_owner(token.id, token.treasury_account_id, treasury)
        holdings.adjust_balance(ledger, token, token.treasury_account_id, -old.balance)
        holdings.adjust_balance(ledger, token, treasury, old.balance)


def _put(ledger: Overlay, token: Token, treasury: int, body: Any) -> None:
    entity, keys = ledger.entity(token.id), create.keys_of(body)
    columns: dict[str, Any] = {
        column: value for column, value in create.renewal_columns(body).items() if value
    }
    if body.memo.value:
        columns["memo"] = body.memo.value
    if body.expiry.seconds:
        columns["expiration_timestamp"] = body.expiry.seconds * NANOS_PER_SECOND
    if entity is not None:
        ledger.put_entity(replace(entity, key=keys.get("admin_key", entity.key), **columns))
    columns |= {"name": body.name or token.name, "symbol": body.symbol or token.symbol}
    ledger.put_token(replace(token, treasury_account_id=treasury, **columns | keys))


def update_fees(ledger: Overlay, address: Address, messages: Sequence[Any]) -> None:
    """Replace all custom fees of a token by CustomFee messages.

    Checks, in this order: the token; collectors, if the token has a key for its fees; it is not deleted, not
    paused; the key; that there is something to change; the fees.
    """
    token = holdings.named_token(ledger, address)
    if token.fee_schedule_key:
        check_collectors(ledger, messages)
    holdings.check_usable(ledger, token)
    reject_if(not token.fee_schedule_key, "TOKEN_HAS_NO_FEE_SCHEDULE_KEY")
    if not messages and ledger.custom_fees(token.id) == CustomFees():
        raise Rejected("CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES")
    check_fees(ledger, messages, token=token, unique=token.unique)
    ledger.put_custom_fees(token.id, fees_of(messages, token.id))
