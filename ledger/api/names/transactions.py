"""The transaction in a path, where it is an id: shard.realm.num-sss-nnn."""

from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters.entity_ids import named_if_out_of_range
from mirror.core.values import transaction_id
from mirror.core.values.transaction_id import TransactionId

_NO_ID = (
    'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are seconds and nnn are '
    "nanoseconds"
)


def read_transaction_id(text: str) -> TransactionId:
    """Return payer and valid start, which may be beyond 64 bits. Errors: BadRequest; InvalidEntityId."""
    try:
        with named_if_out_of_range(text.partition("-")[0]):
            return transaction_id.parse(text)
    except transaction_id.InvalidTransactionId:
        raise BadRequest(_NO_ID) from None
