"""Custom fees as a token is given them (HIP-18): what the network allows, and the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from web3sim.operations.refusals import Refused
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
    if fee["amount"] <= 0:
        raise Refused("CUSTOM_FEE_MUST_BE_POSITIVE")
    denominating = fee["denominating_token_id"]
    if denominating is None:
        return
    is_own = denominating == ITSELF or (token is not None and denominating == token.id)
    if is_own and unique:
        raise Refused("CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
    if is_own and token is None:
        return
    paid_in = token if is_own else ledger.token(denominating)
    if paid_in is None:
        raise Refused("INVALID_TOKEN_ID_IN_CUSTOM_FEES")
    if paid_in.unique:
        raise Refused("CUSTOM_FEE_DENOMINATION_MUST_BE_FUNGIBLE_COMMON")
    if ledger.relationship(paid_in, collector) is None:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _check_fractional(ledger: Overlay, fee: Fee, *, token: Token | None, unique: bool) -> None:
    if unique:
        raise Refused("CUSTOM_FRACTIONAL_FEE_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON")
    if fee["denominator"] == 0:
        raise Refused("FRACTION_DIVIDES_BY_ZERO")
    amounts = (fee["numerator"], fee["denominator"], fee["minimum_amount"], fee["maximum_amount"] or 0)
    if min(amounts) < 0 or fee["numerator"] == 0:
        raise Refused("CUSTOM_FEE_MUST_BE_POSITIVE")
    if fee["maximum_amount"] and fee["maximum_amount"] < fee["minimum_amount"]:
        raise Refused("FRACTIONAL_FEE_MAX_AMOUNT_LESS_THAN_MIN_AMOUNT")
    if token is not None and ledger.relationship(token, fee["collector_account_id"]) is None:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_FEE_COLLECTOR")


def _check_royalty(ledger: Overlay, fee: Fee, *, token: Token | None, unique: bool) -> None:
    if not unique:
        raise Refused("CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE")
    if fee["denominator"] == 0:
        raise Refused("FRACTION_DIVIDES_BY_ZERO")
    if fee["numerator"] <= 0 or fee["denominator"] < 0:
        raise Refused("CUSTOM_FEE_MUST_BE_POSITIVE")
    if fee["numerator"] > fee["denominator"]:
        raise Refused("ROYALTY_FRACTION_CANNOT_EXCEED_ONE")
    if fee["fallback_fee"]:
        collector = fee["collector_account_id"]
        _check_fixed(ledger, fee["fallback_fee"], collector, token=token, unique=unique)


# FROM THE ARGUMENTS OF A CONTRACT


class FeeArguments:
    """Fees from the structs of the token service; addresses become numbers by the ledger."""

    def __init__(self, ledger: Overlay, own_token_id: int = ITSELF) -> None:
        self._ledger, self._own = ledger, own_token_id

    def fees(
        self,
        fixed: Sequence[tuple[Any, ...]] = (),
        fractional: Sequence[tuple[Any, ...]] = (),
        royalty: Sequence[tuple[Any, ...]] = (),
    ) -> CustomFees:
        """FixedFee, FractionalFee and RoyaltyFee, of any version. Errors: Refused."""
        return CustomFees(
            tuple(map(self._fixed, fixed)),
            tuple(map(self._fractional, fractional)),
            tuple(map(self._royalty, royalty)),
        )

    def _fixed(self, fee: tuple[Any, ...]) -> Fee:
        amount, token, in_hbar, in_itself, collector = fee
        return {
            **self._collected(collector),
            "amount": amount,
            "denominating_token_id": self._denominating(token, in_hbar=in_hbar, in_itself=in_itself),
        }

    def _fractional(self, fee: tuple[Any, ...]) -> Fee:
        numerator, denominator, least, most, net_of_transfers, collector = fee
        return {
            **self._collected(collector),
            "denominator": denominator,
            "maximum_amount": most or None,
            "minimum_amount": least,
            "net_of_transfers": net_of_transfers,
            "numerator": numerator,
        }

    def _royalty(self, fee: tuple[Any, ...]) -> Fee:
        numerator, denominator, amount, token, in_hbar, collector = fee
        fallback = None
        if amount > 0:
            denominating = self._denominating(token, in_hbar=in_hbar, in_itself=False)
            fallback = {"amount": amount, "denominating_token_id": denominating}
        return {
            **self._collected(collector),
            "denominator": denominator,
            "fallback_fee": fallback,
            "numerator": numerator,
        }

    def _collected(self, collector: bytes) -> Fee:
        return {
            "all_collectors_are_exempt": False,
            "collector_account_id": self._ledger.account_id_at(collector),
        }

    def _denominating(self, token: bytes, *, in_hbar: bool, in_itself: bool) -> int | None:
        """Errors: Refused."""
        named_token = any(token)
        if in_hbar + in_itself + named_token != 1:
            raise Refused("CUSTOM_FEE_NOT_FULLY_SPECIFIED")
        if in_hbar:
            return None
        if in_itself:
            return self._own
        found = self._ledger.token_at(token)
        if found is None:
            raise Refused("INVALID_TOKEN_ID_IN_CUSTOM_FEES")
        return found.id
