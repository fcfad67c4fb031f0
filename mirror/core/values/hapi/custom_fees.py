"""Custom fees of tokens (HIP-18): from a CustomFee message to an object of the table custom_fee.

Amounts are in the smallest unit of the denominating token, or in tinybars without one.
"""

from typing import Any

from mirror.core.values import entity_id

Fee = dict[str, Any]


def fee_of(message: Any, kind: str, token: int) -> Fee:
    """Return the fee in the field `kind` of a message.

    The columns of the table are called like these fields, with an s. The token 0.0.0 is the fee's own.
    """
    terms = getattr(message, kind)
    fee = {
        "all_collectors_are_exempt": message.all_collectors_are_exempt,
        "collector_account_id": entity_id.from_account(message.fee_collector_account_id) or None,
    }
    if kind == "fixed_fee":
        return fee | _fixed(terms, token)
    if kind == "fractional_fee":
        return fee | {
            "denominator": terms.fractional_amount.denominator,
            "maximum_amount": terms.maximum_amount or None,
            "minimum_amount": terms.minimum_amount,
            "net_of_transfers": terms.net_of_transfers,
            "numerator": terms.fractional_amount.numerator,
        }
    return fee | {
        "denominator": terms.exchange_value_fraction.denominator,
        "fallback_fee": _fixed(terms.fallback_fee, token) if terms.HasField("fallback_fee") else None,
        "numerator": terms.exchange_value_fraction.numerator,
    }


def _fixed(terms: Any, token: int) -> Fee:
    """Return a fee in hbar, in the denominating token, or if that is 0.0.0 in the token itself."""
    denominating = None
    if terms.HasField("denominating_token_id"):
        denominating = entity_id.from_token(terms.denominating_token_id) or token
    return {"amount": terms.amount, "denominating_token_id": denominating}
