"""Custom fees of tokens (HIP-18) and topics (HIP-991): from CustomFee messages to rows of custom_fee.

Amounts are in the smallest unit of the denominating token, or in tinybars without one.
"""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.models import CustomFee
from ledger.stream.record.item import RecordItem
from mirror.core.values import entity_id

Fee = dict[str, Any]


def replace_token_fees(item: RecordItem, batch: Batch, token: int, fees: Any) -> list[int]:
    """Replace the fees of a token, and return the accounts that collect fees in the token itself.

    Rows: custom_fee version, also when `fees` is empty; none when every fee is of an unknown kind.
    """
    columns: dict[str, list[Fee]] = {}
    own_collectors = []
    for fee in fees:
        kind = fee.WhichOneof("fee")
        if kind is None:
            batch.recoverable(item, "a custom fee is of an unknown kind")
            continue
        collector = entity_id.from_account(fee.fee_collector_account_id)
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


def replace_topic_fees(item: RecordItem, batch: Batch, fees: Any) -> None:
    """Replace the fees of a message to a topic, all of them fixed. Rows: custom_fee version."""
    fixed_fees = []
    for fee in fees:
        collector = entity_id.from_account(fee.fee_collector_account_id)
        token = entity_id.from_token(fee.fixed_fee.denominating_token_id)
        batch.mention(collector, token)
        fixed_fees.append(
            {
                "all_collectors_are_exempt": False,
                "amount": fee.fixed_fee.amount,
                "collector_account_id": collector or None,
                "denominating_token_id": token or None,
            }
        )
    batch.upsert(CustomFee, since=item.consensus_timestamp, entity_id=item.entity_id, fixed_fees=fixed_fees)


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
    """Return a fee in hbar, in the denominating token, or if that is 0.0.0 in the token itself."""
    denominating = None
    if fee.HasField("denominating_token_id"):
        denominating = entity_id.from_token(fee.denominating_token_id) or token
    return {"amount": fee.amount, "denominating_token_id": denominating}


_TERMS = {"fixed_fee": _fixed, "fractional_fee": _fractional, "royalty_fee": _royalty}
