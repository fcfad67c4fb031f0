"""Custom fees as a token is given them (HIP-18): what the network allows, and the rows."""

from collections.abc import Mapping
from typing import Any

from web3sim.operations.refusals import Refused, refuse_if
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import CustomFees, Token

MOST_FEES = 10
#: The token that a fee belongs to, before it has a number.
ITSELF = 0

Fee = Mapping[str, Any]


def check_fees(ledger: Overlay, fees: CustomFees, *, token: Token | None, unique: bool) -> None:
    """Refuse fees that the network does. `token` is None while it is being created. Errors: Refused.

    Checks, in this order: the number of fees; then for each fee its collector, its kind, its amounts and the
    token it is paid in.
    """
    if len(fees.fixed) + len(fees.fractional) + len(fees.royalty) > MOST_FEES:
        raise Refused("CUSTOM_FEES_LIST_TOO_LONG")
    for fee in fees.fixed:
        _check_collector(ledger, fee)
        _check_fixed(ledger, fee, fee["collector_account_id"], token=token, unique=unique)
    for fee in fees.fractional:
        _check_collector(ledger, fee)
        _check_fractional(ledger, fee, token=token, unique=unique)
    for fee in fees.royalty:
        _check_collector(ledger, fee)
        _check_royalty(ledger, fee, token=token, unique=unique)


def collectors_of_itself(fees: CustomFees, token_id: int) -> list[int]:
    """Return the accounts that collect fees in the token itself: they are associated with it at once."""
    return list(
        dict.fromkeys(
            [
                *(
                    fee["collector_account_id"]
                    for fee in fees.fixed
                    if fee["denominating_token_id"] == token_id
                ),
                *(fee["collector_account_id"] for fee in fees.fractional),
            ]
        )
    )


def named(fees: CustomFees, token_id: int) -> CustomFees:
    """Return the fees with the number of the token in place of ITSELF."""

    def of(fee: Fee) -> Fee:
        is_own = fee["denominating_token_id"] == ITSELF
        return {**fee, "denominating_token_id": token_id} if is_own else fee

    royalty = [
        {**fee, "fallback_fee": of(fee["fallback_fee"])} if fee["fallback_fee"] else fee
        for fee in fees.royalty
    ]
    return CustomFees(tuple(map(of, fees.fixed)), fees.fractional, tuple(royalty))


def _check_collector(ledger: Overlay, fee: Fee) -> None:
    collector = fee["collector_account_id"]
    if collector is None or ledger.entity(collector) is None:
        raise Refused("INVALID_CUSTOM_FEE_COLLECTOR")


def _check_fixed(ledger: Overlay, fee: Fee, collector: int, *, token: Token | None, unique: bool) -> None:
    refuse_if(fee["amount"] <= 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    denominating = fee["denominating_token_id"]
    if denominating is None:
        return
    is_own = denominating == ITSELF or (token is not None and denominating == token.id)
    refuse_if(is_own and unique, "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
    if is_own and token is None:
        return
    paid_in = token if is_own else ledger.token(denominating)
    if paid_in is None:
        raise Refused("INVALID_TOKEN_ID_IN_CUSTOM_FEES")
    refuse_if(paid_in.unique, "CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
    if ledger.relationship(paid_in, collector) is None:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _check_fractional(ledger: Overlay, fee: Fee, *, token: Token | None, unique: bool) -> None:
    refuse_if(unique, "CUSTOM_FRACTIONAL_FEE_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
    refuse_if(fee["denominator"] == 0, "FRACTION_DIVIDES_BY_ZERO")
    amounts = (fee["numerator"], fee["denominator"], fee["minimum_amount"], fee["maximum_amount"] or 0)
    refuse_if(min(amounts) < 0 or fee["numerator"] == 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    if fee["maximum_amount"] and fee["maximum_amount"] < fee["minimum_amount"]:
        raise Refused("FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT")
    if token is not None and ledger.relationship(token, fee["collector_account_id"]) is None:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _check_royalty(ledger: Overlay, fee: Fee, *, token: Token | None, unique: bool) -> None:
    refuse_if(not unique, "CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE")
    refuse_if(fee["denominator"] == 0, "FRACTION_DIVIDES_BY_ZERO")
    refuse_if(fee["numerator"] <= 0 or fee["denominator"] < 0, "CUSTOM_FEE_MUST_BE_POSITIVE")
    refuse_if(fee["numerator"] > fee["denominator"], "ROYALTY_FRACTION_CANNOT_EXCEED_ONE")
    if fee["fallback_fee"]:
        collector = fee["collector_account_id"]
        _check_fixed(ledger, fee["fallback_fee"], collector, token=token, unique=unique)
