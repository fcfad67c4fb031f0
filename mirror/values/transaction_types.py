"""Transaction types: the number of the field in TransactionBody's `data`, and the name in the REST API."""

from mirror.values.hapi import TransactionBody

UNKNOWN = "UNKNOWN"

# The API names a type after its field, without underscores and in capitals, but for these.
_KEPT = {29: "TOKENCREATION", 35: "TOKENDELETION", 75: "LAMBDASSTORE"}
# Fields of block streams, of registered nodes and of no transaction that users send: the API has no names.
_UNNAMED = {*range(65, 73), *range(77, 82)}

NAMES: dict[int, str] = {
    field.number: _KEPT.get(field.number, field.name.replace("_", "").upper())
    for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields
    if field.number not in _UNNAMED
}
NUMBERS = {name: number for number, name in NAMES.items()}


def name(number: int) -> str:
    """Return the name in the REST API, UNKNOWN for a number without one."""
    return NAMES.get(number, UNKNOWN)
