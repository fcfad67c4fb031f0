"""Custom fees of tokens (HIP-18) and topics (HIP-991): from CustomFee messages to rows of custom_fee.

Amounts are in the smallest unit of the denominating token, or in tinybars without one.
"""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.models import CustomFee
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.hapi.custom_fees import fee_of


def replace_token_fees(item: RecordItem, batch: Batch, token: int, fees: Any) -> list[int]:
    """Replace the fees of a token, and return the accounts that collect fees in the token itself.

    Rows: custom_fee version, also when `fees` is empty; none when every fee is of an unknown kind.
    """
    columns: dict[str, list[dict[str, Any]]] = {}
    own_collectors = []
    for message in fees:
        field = message.WhichOneof("fee")
        if field is None:
            batch.recoverable(item, "a custom fee is of an unknown kind")
            continue
        fee = fee_of(message, field, token)
        columns.setdefault(f"{field}s", []).append(fee)
        collector, denominating = fee["collector_account_id"] or 0, fee.get("denominating_token_id") or 0
        batch.mention(collector, denominating)
        if collector and (field == "fractional_fee" or denominating == token):
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
