"""Custom fees as a token is given them (HIP-18): what the network allows, and the rows."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.custom_fees import fee_of
from web3sim.operations.rejections import Rejected, reject_if
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import CustomFees, Token

MAX_FEES = 10

Fee = Mapping[str, Any]


# ROWS


def fees_of(messages: Iterable[Any], token_id: int = 0) -> CustomFees:
    """Return CustomFee messages as rows. Token 0.0.0 in them is the token itself, which has this id."""
    by_field: dict[str, list[Fee]] = {"fixed_fee": [], "fractional_fee": [], "royalty_fee": []}
    for message in messages:
        field = message.WhichOneof("fee")
        if field is not None:
            by_field[field].append(fee_of(message, field, token_id))
    return CustomFees(*(tuple(fees) for fees in by_field.values()))


def collectors_of_itself(fees: CustomFees, token_id: int) -> list[int]:
    """Return the accounts that collect fees in the token itself: they are associated with it at once."""
    own_fees = [fee for fee in fees.fixed if fee["denominating_token_id"] == token_id]
    return [fee["collector_account_id"] for fee in (*own_fees, *fees.fractional)]


# CHECKS


def check_collectors(ledger: Overlay, messages: Iterable[Any]) -> None:
    """Errors: Rejected, if the account of a CustomFee message is unknown."""
    for message in messages:
        if ledger.entity(entity_id.from_account(message.fee_collector_account_id)) is None:
            raise Rejected("INVALID_CUSTOM_FEE_COLLECTOR")


def check_fees(ledger: Overlay, messages: Iterable[Any], *, token: Token | None, unique: bool) -> None:
    """Refuse CustomFee messages that the network does. `token` is None while it is being created.

    Checks, in this order, for each fee: its collector, its amounts and the token it is paid in.
    """
    checks = {"fixed_fee": _check_fixed, "fractional_fee": _check_fractional, "royalty_fee": _check_royalty}
    token_id = 0 if token is None else token.id
    for message in messages:
        check_collectors(ledger, [message])
        field = message.WhichOneof("fee")
        checks[field](ledger, fee_of(message, field, token_id), token, unique)


def _check_fixed(ledger: Overlay, fee: Fee, token: Token | None, unique: bool) -> None:
    _check_amount(ledger, fee, fee["collector_account_id"], token, unique)


def _check_amount(ledger: Overlay, fee: Fee, collector: int, token: Token | None, unique: bool) -> None:
    reject_if(fee["amount"] <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    denominating = fee["denominating_token_id"]
    if denominating is None:
        return
    is_own = denominating == (0 if token is None else token.id)
    reject_if(is_own and unique, "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
    if is_own and token is None:
        return
    fee_token = token if is_own else ledger.token(denominating)
    if fee_token is None:
        raise Rejected("INVALID_TOKEN_ID_IN_CUSTOM_FEES")
    reject_if(fee_token.unique, "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
    if ledger.relationship(fee_token, collector) is None:
        raise Rejected("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _check_fractional(ledger: Overlay, fee: Fee, token: Token | None, unique: bool) -> None:
    reject_if(unique, "CUSTOM_FRACTIONAL_FEE_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
    reject_if(fee["denominator"] == 0, "FRACTION_DIVIDES_BY_ZERO")
    amounts = (fee["numerator"], fee["denominator"], fee["minimum_amount"], fee["maximum_amount"] or 0)
    reject_if(min(amounts) < 0 or fee["numerator"] == 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    if fee["maximum_amount"] and fee["maximum_amount"] < fee["minimum_amount"]:
        raise Rejected("FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT")
    if token is not None and ledger.relationship(token, fee["collector_account_id"]) is None:
        raise Rejected("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _check_royalty(ledger: Overlay, fee: Fee, token: Token | None, unique: bool) -> None:
    reject_if(not unique, "CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE")
    reject_if(fee["denominator"] == 0, "FRACTION_DIVIDES_BY_ZERO")
    reject_if(fee["numerator"] <= 0 or fee["denominator"] < 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    reject_if(fee["numerator"] > fee["denominator"], "ROYALTY_FRACTION_CANNOT_EXCEED_ONE")
    if fee["fallback_fee"]:
        _check_amount(ledger, fee["fallback_fee"], fee["collector_account_id"], token, unique)
