"""Result codes: the numbers of HAPI's ResponseCodeEnum and their names in the REST API."""

from mirror.core.values.hapi.messages import ResponseCodeEnum

UNKNOWN = "UNKNOWN"

# The codes that count as success.
SUCCESS = frozenset({22, 104, 220})

# The code of a transaction that another node, or the same one, has handled before.
DUPLICATE_TRANSACTION = 11
# The code of an Ethereum transaction that was never run, as its nonce was not the sender's next one.
WRONG_NONCE = 312

# The codes by which the network refuses an id: of a file, an account, a contract, a topic, a token, a
# schedule, an alias, the account of a node.
INVALID_ID = frozenset({14, 15, 16, 150, 167, 201, 282, 341})

NAMES: dict[int, str] = {
    number: name for name, number in sorted(ResponseCodeEnum.items(), key=lambda item: item[1])
}
NUMBERS = {name: number for number, name in NAMES.items()}


def name(number: int) -> str:
    """Return the name in the REST API, UNKNOWN for a number without one."""
    return NAMES.get(number, UNKNOWN)
