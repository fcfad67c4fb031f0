"""The custom fees of a token as the columns of custom_fee (HIP-18)."""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from tokens.models import CustomFee

Fee = dict[str, Any]


def replace_custom_fees(item: RecordItem, batch: Batch, token: int, fees: Any) -> list[int]:
    """The token's fees are these and no others; the accounts that collect them in the token itself.

    Source: CustomFee messages of a body. Rows: custom_fee version, also when there are no fees; none when
    fees are given and not one is of a known kind. Amounts in the denominating token's smallest unit, without
    one in tinybars.
    """
    columns: dict[str, list[Fee]] = {}
    own_collectors = []
    for fee in fees:
        kind = fee.WhichOneof("fee")
        if kind is None:
            batch.recoverable(item, "a custom fee is of no known kind")
            continue
        collector = entity_id.of_account(fee.fee_collector_account_id)
        common = {
            "all_collectors_are_exempt": fee.all_collectors_are_exempt,
            "collector_account_id": collector or None,
        }
        column, terms = _TERMS[kind](getattr(fee, kind), token)
        columns.setdefault(column, []).append(common | terms)
        denominating = terms.get("denominating_token_id") or 0
        batch.mention(collector, denominating)
        if collector and (kind == "fractional_fee" or denominating == token):
            own_collectors.append(collector)
    if columns or not fees:
        batch.upsert(CustomFee, since=item.consensus_timestamp, entity_id=token, **columns)
    return own_collectors


def _fixed(fee: Any, token: int) -> tuple[str, Fee]:
    return "fixed_fees", _fixed_terms(fee, token)


def _fractional(fee: Any, token: int) -> tuple[str, Fee]:
    return "fractional_fees", {
        "denominator": fee.fractional_amount.denominator,
        "maximum_amount": fee.maximum_amount or None,
        "minimum_amount": fee.minimum_amount,
        "net_of_transfers": fee.net_of_transfers,
        "numerator": fee.fractional_amount.numerator,
    }


def _royalty(fee: Any, token: int) -> tuple[str, Fee]:
    return "royalty_fees", {
        "denominator": fee.exchange_value_fraction.denominator,
        "fallback_fee": _fixed_terms(fee.fallback_fee, token) if fee.HasField("fallback_fee") else None,
        "numerator": fee.exchange_value_fraction.numerator,
    }


def _fixed_terms(fee: Any, token: int) -> Fee:
    """Without a denominating token the fee is in hbar; with 0.0.0, in the token that has the fee."""
    denominating = None
    if fee.HasField("denominating_token_id"):
        denominating = entity_id.of_token(fee.denominating_token_id) or token
    return {"amount": fee.amount, "denominating_token_id": denominating}


_TERMS = {"fixed_fee": _fixed, "fractional_fee": _fractional, "royalty_fee": _royalty}
