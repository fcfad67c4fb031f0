"""Transaction types: the number of the field in TransactionBody's `data`, and the name in the REST API."""

from mirror.core.values.hapi.messages import TransactionBody

UNKNOWN = "UNKNOWN"

# The API names a type after its field, without underscores and in capitals, but for these.
_KEPT = {29: "TOKENCREATION", 35: "TOKENDELETION"}

NAMES: dict[int, str] = {
    field.number: _KEPT.get(field.number, field.name.replace("_", "").upper())
    for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields
}
NUMBERS = {name: number for number, name in NAMES.items()}
# Names of older releases, which requests may still have.
OLD_NAMES = {"LAMBDASSTORE": 75}


def name(number: int) -> str:
    """Return the name in the REST API, UNKNOWN for a number without one."""
    return NAMES.get(number, UNKNOWN)
