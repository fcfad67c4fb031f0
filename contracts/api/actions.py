"""GET /api/v1/contracts/results/{transactionIdOrHash}/actions: the calls and creations in a transaction.

Source: contract_action. Gas: units of gas; `value`: tinybars. Errors: 400 malformed parameter, id or hash;
404 no such transaction. A transaction without actions has an empty list.
"""

from typing import Literal, NotRequired, TypedDict

from rest_framework.response import Response

from contracts.api import formats
from contracts.api.lookup import not_found, search_of
from contracts.models.result import CALL_TYPES, OPERATIONS, RESULT_DATA_TYPES
from contracts.queries import actions as queries
from contracts.queries.actions import ActionRow
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE
from mirror.core.rest.views import Answer, ReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, EvmAddress, Hex, Int32, Int64, Timestamp, page_type


# PARAMETERS
class ActionParameters(classic.PageParameters):
    index = classic.Number(
        "index", column="index", operators=WITHOUT_NE, any_equal=False, help="Place in the transaction."
    )
    order = classic.Order("asc")


# JSON
_From = TypedDict("_From", {"from": EvmAddress | None})


class ActionJson(_From):
    """A kind of call or of result data that has no name is left out."""

    call_depth: Int32 | None
    call_operation_type: str
    call_type: NotRequired[str]
    caller: EntityId | None
    caller_type: str | None
    gas: Int64 | None
    gas_used: Int64 | None
    index: Int32
    input: Hex
    recipient: EntityId | None
    recipient_type: Literal["ACCOUNT", "CONTRACT"] | None
    result_data: Hex
    result_data_type: NotRequired[str]
    timestamp: Timestamp | None
    to: EvmAddress | None
    value: Int64 | None


def action_json(action: ActionRow) -> Answer:
    """Return an action as JSON, without the members whose number has no name."""
    is_account = action.recipient_account is not None
    recipient = action.recipient_account if is_account else action.recipient_contract
    operation = action.call_operation_type or 0
    answer = {
        "call_depth": action.call_depth,
        "call_operation_type": OPERATIONS.get(operation, "UNKNOWN"),
        "call_type": CALL_TYPES.get(-1 if action.call_type is None else action.call_type),
        "caller": entity_id.text(action.caller),
        "caller_type": action.caller_type,
        "from": formats.long_zero(action.caller),
        "gas": action.gas,
        "gas_used": action.gas_used,
        "index": action.number,
        "input": formats.plain(action.input),
        "recipient": entity_id.text(recipient),
        "recipient_type": None if recipient is None else "ACCOUNT" if is_account else "CONTRACT",
        "result_data": formats.plain(action.result_data),
        "result_data_type": RESULT_DATA_TYPES.get(action.result_data_type),
        "timestamp": timestamp.text(action.consensus_timestamp),
        "to": _receiver(action.recipient_address, recipient),
        "value": action.value,
    }
    for name in ("call_type", "result_data_type"):
        if answer[name] is None:
            del answer[name]
    return answer


def _receiver(evm_address: bytes | None, recipient: int | None) -> str | None:
    return formats.padded_address(evm_address) if evm_address else formats.long_zero(recipient)


# VIEW
class Actions(ReadView):
    """List the actions of a contract transaction.

    These are its calls and creations within each other, with their gas and outcome.
    """

    parameters, max_age, answers = ActionParameters, 600, page_type("Actions", actions=ActionJson)
    paging = {"index": "index"}

    def read(self, parameters: ActionParameters, transaction_id_or_hash: str) -> Response:
        search = search_of(transaction_id_or_hash)
        rows = queries.actions(search, self.query)
        if rows is None:
            raise not_found(search, "contract_action")
        return self.page("actions", [action_json(row) for row in rows])
