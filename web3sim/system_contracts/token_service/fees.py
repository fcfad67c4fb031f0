"""Custom fees as contracts state them."""

from collections.abc import Mapping, Sequence
from typing import Any

from web3sim.operations.refusals import Refused
from web3sim.operations.tokens.fees import ITSELF
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import CustomFees

Fee = Mapping[str, Any]


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
