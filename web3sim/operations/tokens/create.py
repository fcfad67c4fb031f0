"""TokenCreate: a new token, its treasury and whoever collects fees in it."""

from dataclasses import dataclass, field

from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import AccountKind
from web3sim.operations.refusals import Refused, refuse_if
from web3sim.operations.signers import Signers
from web3sim.operations.tokens.associate import add_relationship
from web3sim.operations.tokens.fees import check_fees, collectors_of_itself, named
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import CustomFees, Entity, Relationship, Token

MOST_NAME_BYTES = MOST_SYMBOL_BYTES = MOST_MEMO_BYTES = 100
LEAST_RENEW_SECONDS, MOST_RENEW_SECONDS = 2_592_000, 8_000_001
#: How far ahead a token may expire.
MOST_LIFE_SECONDS = 8_000_001
_MOST_INT64, _MOST_INT32 = 2**63 - 1, 2**31 - 1

# Freeze and KYC status of a relationship; see Token.
UNFROZEN, GRANTED = 2, 1
_FROZEN, _REVOKED = 1, 2

#: The codes of keys that can't be used, by the column of the key.
_INVALID_KEYS = {
    "admin_key": "INVALID_ADMIN_KEY",
    "kyc_key": "INVALID_KYC_KEY",
    "wipe_key": "INVALID_WIPE_KEY",
    "supply_key": "INVALID_SUPPLY_KEY",
    "freeze_key": "INVALID_FREEZE_KEY",
    "fee_schedule_key": "INVALID_CUSTOM_FEE_SCHEDULE_KEY",
    "pause_key": "INVALID_PAUSE_KEY",
    "metadata_key": "INVALID_METADATA_KEY",
}


@dataclass(frozen=True, slots=True)
class NewToken:
    """What a token is created with. `keys` are serialized, by column; an empty one is none that can be used.

    `expires` is in seconds since the epoch, 0 for none; the period is in seconds. A fee in the token itself
    names token 0.
    """

    name: str
    symbol: str
    treasury: Entity | None
    memo: str = ""
    unique: bool = False
    finite: bool = False
    max_supply: int = 0
    initial_supply: int = 0
    decimals: int = 0
    freeze_default: bool = False
    keys: dict[str, bytes] = field(default_factory=dict)
    expires: int = 0
    auto_renew_account: Entity | None = None
    auto_renew_period: int = 0
    fees: CustomFees = field(default_factory=CustomFees)


def create_token(ledger: Overlay, signers: Signers, new: NewToken, now: int) -> Token:
    """Create a token; `now` is in seconds. Errors: Refused.

    Checks, in this order: supply and decimals, what each type needs, symbol and name, memo, keys, treasury,
    expiry, signatures, custom fees.
    """
    _check_supply(new)
    check_text(new.symbol, "MISSING_TOKEN_SYMBOL", "TOKEN_SYMBOL_TOO_LONG", MOST_SYMBOL_BYTES)
    check_text(new.name, "MISSING_TOKEN_NAME", "TOKEN_NAME_TOO_LONG", MOST_NAME_BYTES)
    check_memo(new.memo)
    check_keys(new.keys)
    if new.treasury is None:
        raise Refused("INVALID_TREASURY_ACCOUNT_FOR_TOKEN")
    _check_expiry(new, now)
    signing = [new.treasury] if new.auto_renew_account is None else [new.treasury, new.auto_renew_account]
    admin_key = new.keys.get("admin_key")
    if not all(map(signers.has_signed, signing)) or (admin_key and not signers.is_active(admin_key)):
        raise Refused("INVALID_SIGNATURE")
    check_fees(ledger, new.fees, token=None, unique=new.unique)
    for fee_collector in collectors_of_itself(new.fees, 0):
        collector = ledger.entity(fee_collector)
        refuse_if(collector is not None and not signers.has_signed(collector), "INVALID_SIGNATURE")
    return _add_token(ledger, new, new.treasury.id, now)


def _add_token(ledger: Overlay, new: NewToken, treasury: int, now: int) -> Token:
    expires = new.expires or now + new.auto_renew_period
    renewer = new.auto_renew_account
    entity = ledger.add_entity(
        AccountKind.TOKEN,
        key=new.keys.get("admin_key"),
        memo=new.memo,
        auto_renew_account_id=None if renewer is None else renewer.id,
        auto_renew_period=new.auto_renew_period or None,
        expiration_timestamp=expires * NANOS_PER_SECOND,
        created_timestamp=now * NANOS_PER_SECOND,
    )
    keys = new.keys
    freeze_status = (_FROZEN if new.freeze_default else UNFROZEN) if "freeze_key" in keys else 0
    token = Token(
        entity.id,
        new.name,
        new.symbol,
        new.decimals,
        new.unique,
        treasury,
        new.initial_supply,
        new.max_supply,
        new.finite,
        new.freeze_default,
        freeze_status,
        _REVOKED if "kyc_key" in keys else 0,
        "UNPAUSED" if "pause_key" in keys else "NOT_APPLICABLE",
        created_timestamp=now * NANOS_PER_SECOND,
        memo=new.memo,
        auto_renew_account_id=entity.auto_renew_account_id,
        auto_renew_period=entity.auto_renew_period,
        expiration_timestamp=entity.expiration_timestamp,
        **keys,
    )
    fees = named(new.fees, entity.id)
    ledger.put_token(token)
    ledger.put_total_supply(entity.id, new.initial_supply)
    ledger.put_newest_serial(entity.id, 0)
    ledger.put_custom_fees(entity.id, fees)
    for holder in dict.fromkeys([treasury, *collectors_of_itself(fees, entity.id)]):
        held = new.initial_supply if holder == treasury else 0
        add_relationship(ledger, first_relationship(token, holder, held))
    return token


def first_relationship(token: Token, account_id: int, held: int = 0) -> Relationship:
    """Return the relationship of a treasury or a collector of fees: neither frozen nor without KYC."""
    return Relationship(
        account_id,
        token.id,
        held,
        UNFROZEN if token.freeze_key else 0,
        GRANTED if token.kyc_key else 0,
    )


def _check_supply(new: NewToken) -> None:
    refuse_if(not 0 <= new.initial_supply <= _MOST_INT64, "INVALID_TOKEN_INITIAL_SUPPLY")
    refuse_if(not 0 <= new.decimals <= _MOST_INT32, "INVALID_TOKEN_DECIMALS")
    refuse_if(new.unique and new.initial_supply, "INVALID_TOKEN_INITIAL_SUPPLY")
    refuse_if(new.unique and new.decimals, "INVALID_TOKEN_DECIMALS")
    refuse_if(new.unique and "supply_key" not in new.keys, "TOKEN_HAS_NO_SUPPLY_KEY")
    refuse_if(new.max_supply < 0 or bool(new.max_supply) != new.finite, "INVALID_TOKEN_MAX_SUPPLY")
    refuse_if(new.finite and new.initial_supply > new.max_supply, "INVALID_TOKEN_INITIAL_SUPPLY")
    refuse_if(new.freeze_default and "freeze_key" not in new.keys, "TOKEN_HAS_NO_FREEZE_KEY")


def check_text(text: str, missing: str, too_long: str, most: int) -> None:
    """Errors: Refused."""
    refuse_if(not text, missing)
    refuse_if(len(text.encode()) > most, too_long)
    refuse_if("\0" in text, "INVALID_ZERO_BYTE_IN_STRING")


def check_memo(memo: str) -> None:
    """Errors: Refused."""
    refuse_if(len(memo.encode()) > MOST_MEMO_BYTES, "MEMO_TOO_LONG")
    refuse_if("\0" in memo, "INVALID_ZERO_BYTE_IN_STRING")


def check_keys(keys: dict[str, bytes]) -> None:
    """Errors: Refused."""
    for column, code in _INVALID_KEYS.items():
        refuse_if(keys.get(column) == b"", code)


def _check_expiry(new: NewToken, now: int) -> None:
    if new.auto_renew_account is not None:
        check_renew_period(new.auto_renew_period)
    elif new.expires and not now < new.expires <= now + MOST_LIFE_SECONDS:
        raise Refused("INVALID_EXPIRATION_TIME")


def check_renew_period(seconds: int) -> None:
    """Errors: Refused."""
    refuse_if(not LEAST_RENEW_SECONDS <= seconds <= MOST_RENEW_SECONDS, "INVALID_RENEWAL_PERIOD")
