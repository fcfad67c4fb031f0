"""TokenCreate: a new token, its treasury and its fee collectors."""

from typing import Any

from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import SchedulableTransactionBody
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import AccountKind
from web3sim.operations import holdings
from web3sim.operations.rejections import reject_if
from web3sim.operations.tokens.fees import (
    MAX_FEES,
    check_collectors,
    check_fees,
    collectors_of_itself,
    fees_of,
)
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import CustomFees, Token

_MAX_TEXT_BYTES = 100
_MIN_RENEW_SECONDS, _MAX_RENEW_SECONDS = 2_592_000, 8_000_001
#: How far ahead a token may expire.
_MAX_LIFE_SECONDS = 8_000_001
_MAX_INT32 = 2**31 - 1

#: Columns of Token, the fields of the bodies, and what an unusable key is refused with, in that order.
KEYS = {
    "admin_key": ("adminKey", "INVALID_ADMIN_KEY"),
    "kyc_key": ("kycKey", "INVALID_KYC_KEY"),
    "wipe_key": ("wipeKey", "INVALID_WIPE_KEY"),
    "supply_key": ("supplyKey", "INVALID_SUPPLY_KEY"),
    "freeze_key": ("freezeKey", "INVALID_FREEZE_KEY"),
    "fee_schedule_key": ("fee_schedule_key", "INVALID_CUSTOM_FEE_SCHEDULE_KEY"),
    "pause_key": ("pause_key", "INVALID_PAUSE_KEY"),
    "metadata_key": ("metadata_key", "INVALID_METADATA_KEY"),
}


def create_token(ledger: Overlay, body: Any, now: int, payer: int | None) -> Token:
    """Create the token of a TokenCreate body; `now` is in seconds. Every key counts as having signed.

    Checks, in this order: supply and decimals, what each type needs; the accounts; memo, symbol and name;
    keys; the number of fees; expiry; custom fees.
    """
    check_supply(body)
    holdings.require_signature(ledger, entity_id.from_account(body.treasury), payer, "INVALID_ACCOUNT_ID")
    check_renewer(ledger, body, payer)
    check_collectors(ledger, body.custom_fees)
    check_memo(body.memo)
    check_text(body.symbol, "MISSING_TOKEN_SYMBOL", "TOKEN_SYMBOL_TOO_LONG")
    check_text(body.name, "MISSING_TOKEN_NAME", "TOKEN_NAME_TOO_LONG")
    check_keys(body)
    reject_if(len(body.custom_fees) > MAX_FEES, "CUSTOM_FEES_LIST_TOO_LONG")
    _check_expiry(body, now)
    check_fees(ledger, body.custom_fees, token=None, unique=body.tokenType == 1)
    return _add_token(ledger, body, now)


def _add_token(ledger: Overlay, body: Any, now: int) -> Token:
    columns = renewal_columns(body)
    expires = body.expiry.seconds or now + body.autoRenewPeriod.seconds
    columns |= {"memo": body.memo, "expiration_timestamp": expires * NANOS_PER_SECOND}
    created = now * NANOS_PER_SECOND
    key = keys_of(body).get("admin_key")
    entity = ledger.add_entity(AccountKind.TOKEN, key=key, created_timestamp=created, **columns)
    token = _token(body, entity.id, created_timestamp=created, **columns)
    fees = fees_of(body.custom_fees, token.id)
    ledger.put_token(token)
    ledger.put_total_supply(token.id, token.total_supply)
    ledger.put_newest_serial(token.id, 0)
    ledger.put_custom_fees(token.id, fees)
    treasury = token.treasury_account_id
    for holder in dict.fromkeys([treasury, *collectors_of_itself(fees, token.id)]):
        balance = token.total_supply if holder == treasury else 0
        holdings.add_relationship(ledger, holdings.first_relationship(token, holder, balance))
    return token


def scheduled_token(body: bytes) -> tuple[Token, CustomFees] | None:
    """Return the token that a SchedulableTransactionBody creates, with id 0; None if it creates none.

    Errors: DecodeError.
    """
    message: Any = SchedulableTransactionBody.FromString(body)
    if message.WhichOneof("data") != "tokenCreation":
        return None
    creation = message.tokenCreation
    expires = creation.expiry.seconds * NANOS_PER_SECOND or None
    columns = {"memo": creation.memo, "expiration_timestamp": expires, "metadata": creation.metadata}
    return _token(creation, 0, **renewal_columns(creation), **columns), fees_of(creation.custom_fees)


def _token(body: Any, token_id: int, **columns: Any) -> Token:
    keys: dict[str, Any] = keys_of(body)
    return Token(
        token_id,
        body.name,
        body.symbol,
        # The network would refuse more, of a scheduled creation only when it executes the schedule.
        min(body.decimals, _MAX_INT32),
        body.tokenType == 1,
        entity_id.from_account(body.treasury),
        min(body.initialSupply, MAX_INT64),
        body.maxSupply,
        body.supplyType == 1,
        body.freezeDefault,
        (holdings.FROZEN if body.freezeDefault else holdings.UNFROZEN) if "freeze_key" in keys else 0,
        holdings.KYC_REVOKED if "kyc_key" in keys else 0,
        "UNPAUSED" if "pause_key" in keys else "NOT_APPLICABLE",
        **keys,
        **columns,
    )


# PARTS OF BODIES


def keys_of(body: Any) -> dict[str, bytes]:
    """Return the serialized keys in a body, by column."""
    return {
        column: getattr(body, field).SerializeToString()
        for column, (field, _) in KEYS.items()
        if body.HasField(field)
    }


def renewal_columns(body: Any) -> dict[str, Any]:
    return {
        "auto_renew_account_id": entity_id.from_account(body.autoRenewAccount) or None,
        "auto_renew_period": body.autoRenewPeriod.seconds or None,
    }


def check_supply(body: Any) -> None:
    """Errors: Rejected, for supply and decimals, and a key that is missing with them."""
    unique = body.tokenType == 1
    reject_if(body.initialSupply > (0 if unique else MAX_INT64), "INVALID_TOKEN_INITIAL_SUPPLY")
    reject_if(body.decimals > (0 if unique else _MAX_INT32), "INVALID_TOKEN_DECIMALS")
    finite = body.supplyType == 1
    reject_if(body.maxSupply < 0 or bool(body.maxSupply) != finite, "INVALID_TOKEN_MAX_SUPPLY")
    reject_if(finite and body.initialSupply > body.maxSupply, "INVALID_TOKEN_INITIAL_SUPPLY")
    reject_if(unique and not body.HasField("supplyKey"), "TOKEN_HAS_NO_SUPPLY_KEY")
    reject_if(body.freezeDefault and not body.HasField("freezeKey"), "TOKEN_HAS_NO_FREEZE_KEY")


def check_renewer(ledger: Overlay, body: Any, payer: int | None) -> None:
    """Errors: Rejected, if the account that pays for the renewal is unknown, or can't sign."""
    if body.HasField("autoRenewAccount"):
        renewer = entity_id.from_account(body.autoRenewAccount)
        holdings.require_signature(ledger, renewer, payer, "INVALID_AUTORENEW_ACCOUNT")


def check_text(text: str, missing: str, too_long: str) -> None:
    reject_if(not text, missing)
    reject_if(len(text.encode()) > _MAX_TEXT_BYTES, too_long)
    reject_if("\0" in text, "INVALID_ZERO_BYTE_IN_STRING")


def check_memo(memo: str) -> None:
    reject_if(len(memo.encode()) > _MAX_TEXT_BYTES, "MEMO_TOO_LONG")
    reject_if("\0" in memo, "INVALID_ZERO_BYTE_IN_STRING")


def check_keys(body: Any) -> None:
    """Errors: Rejected, if one of the keys can't be used: it has nothing in it."""
    for field, code in KEYS.values():
        reject_if(body.HasField(field) and getattr(body, field).WhichOneof("key") is None, code)


def _check_expiry(body: Any, now: int) -> None:
    """Without an account that pays for the renewal the token needs a time at which it expires."""
    has_renewer, is_valid = body.HasField("autoRenewAccount"), is_valid_expiry(body, now)
    if has_renewer or body.HasField("autoRenewPeriod") or not is_valid:
        reject_if(not is_valid_period(body), "INVALID_RENEWAL_PERIOD")
    reject_if(not has_renewer and not is_valid, "INVALID_EXPIRATION_TIME")


def is_valid_expiry(body: Any, now: int) -> bool:
    return bool(now < body.expiry.seconds <= now + _MAX_LIFE_SECONDS)


def is_valid_period(body: Any) -> bool:
    return bool(_MIN_RENEW_SECONDS <= body.autoRenewPeriod.seconds <= _MAX_RENEW_SECONDS)
