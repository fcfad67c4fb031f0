"""The body of POST /api/v1/contracts/call: read leniently, then held against the rules of its fields.

Amounts are tinybars. Numbers and booleans may be written as texts, and the other way round; a null is the
default of the member's type, not of the member.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mirror import config
from mirror.db.sql import MAX_INT64, MIN_INT64
from web3sim.calls.json_text import Nested, Number, UnreadableJson, Value, read_object
from web3sim.state.blocks import LATEST, BlockSelector, InvalidBlock, parse_block

DEFAULT_GAS = 15_000_000
LEAST_GAS = 21_000
_MOST_DATA_DIGITS = 1_048_576

_ADDRESS = re.compile(r"(?:0x)?[0-9a-fA-F]{40}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]*")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_TEXTS_OF_NOTHING = ("", "null")

# How deployment code begins as compilers write it.
_CODE_BEGINNINGS = ("60806040", "60606040")
_CODECOPY, _RETURN = "39", "f3"
_LEAST_CODE_LENGTH = 14


class InvalidBody(Exception):
    """The body breaks rules; `details` has a sentence for each."""

    def __init__(self, *details: str) -> None:
        self.details = details
        super().__init__(", ".join(details))


class CallBody(NamedTuple):
    """What a client asks to be simulated, texts as they were sent; `at` is `block` as it was meant."""

    block: str | None = None
    at: BlockSelector = LATEST
    data: str | None = None
    estimate: bool = False
    sender: str | None = None
    gas: int = DEFAULT_GAS
    gas_price: int = 0
    to: str | None = None
    value: int = 0


def longest_document() -> int:
    """Most characters of a request, by the most data a call may have."""
    return 2 * int(config.value("web3.evm.properties.jumboTransactions.ethereumMaxCallDataSize")) + 1024


def parse(body: bytes) -> CallBody:
    """Read a body and hold it against the rules of its fields. Errors: InvalidBody."""
    found = read(body)
    if violations := tuple(_violations(found)):
        raise InvalidBody(*violations)
    return found


# JSON


def read(body: bytes) -> CallBody:
    """The members of a body, whatever their values. Errors: InvalidBody."""
    members: dict[str, object] = {}

    def take(name: str, value: Value) -> None:
        if name == "block":
            members["block"] = text = _text(name, value)
            members["at"] = parse_block(text)
        elif name in _TEXTS:
            members[_TEXTS[name]] = _text(name, value)
        elif name in _INTEGERS:
            members[_INTEGERS[name]] = _integer(name, value)
        elif name == "estimate":
            members["estimate"] = _boolean(name, value)

    if not body:
        raise InvalidBody("Required request body is missing")
    try:
        read_object(body, longest_document(), take)
    except (UnreadableJson, InvalidBlock) as error:
        raise InvalidBody(f"JSON parse error: {error}") from None
    return CallBody(**members)  # type: ignore[arg-type]


# Member -> field.
_TEXTS = {"data": "data", "from": "sender", "to": "to"}
_INTEGERS = {"gas": "gas", "gasPrice": "gas_price", "value": "value"}


def _text(name: str, value: Value) -> str | None:
    if isinstance(value, Nested):
        raise UnreadableJson(f"{name} must be a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, Number) else value


def _integer(name: str, value: Value) -> int:
    if value is None:
        return 0
    number = _number(value)
    if number is None or not MIN_INT64 <= number <= MAX_INT64:
        raise UnreadableJson(f"{name} must be a whole number of at most 64 bits")
    return number


def _number(value: Value) -> int | None:
    if isinstance(value, Number):
        return int(value.text) if value.is_whole else _rounded_down(value.text)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text in _TEXTS_OF_NOTHING:
        return 0
    # int() reads more forms, and takes long over thousands of digits.
    return int(text) if len(text) <= 100 and _INTEGER.fullmatch(text) else None


def _rounded_down(text: str) -> int | None:
    """A number with a fraction or an exponent, without its fraction."""
    number = float(text)
    return int(number) if abs(number) <= MAX_INT64 else None


def _boolean(name: str, value: Value) -> bool:
    if isinstance(value, str):
        text = value.strip()
        if text in _TEXTS_OF_NOTHING or text in ("false", "False", "FALSE"):
            return False
        if text in ("true", "True", "TRUE"):
            return True
    elif isinstance(value, Number):
        if value.is_whole:
            return int(value.text) != 0
    elif not isinstance(value, Nested):
        return bool(value)
    raise UnreadableJson(f"{name} must be true or false")


# RULES


def _violations(given: CallBody) -> Iterator[str]:
    """A sentence for each rule that the fields break by themselves or together."""
    if given.data is not None and not (_HEX.fullmatch(given.data) and len(given.data) <= _MOST_DATA_DIGITS):
        yield "data field invalid hexadecimal string"
    if given.sender is not None and not _ADDRESS.fullmatch(given.sender):
        yield "from field invalid hexadecimal string"
    if given.gas < LEAST_GAS:
        yield f"gas field must be greater than or equal to {LEAST_GAS}"
    if given.gas_price < 0:
        yield "gasPrice field must be greater than or equal to 0"
    if given.to and not _ADDRESS.fullmatch(given.to):
        yield "to field invalid hexadecimal string"
    if given.value < 0:
        yield "value field must be greater than or equal to 0"
    if given.value > 0:
        if not given.sender:
            yield "from field must not be empty"
        if given.sender is not None and not given.to and not is_deployment_code(given.data or ""):
            yield "to field must not be empty"


def is_deployment_code(data: str) -> bool:
    """Whether hex looks like the code that deploys a contract: begin, copy the code, return it."""
    data = data.lower()
    if len(data) < _LEAST_CODE_LENGTH:
        return False
    begins = [at for beginning in _CODE_BEGINNINGS if (at := data.find(beginning)) >= 0]
    if not begins:
        return False
    copies = data.find(_CODECOPY, min(begins) + len(_CODE_BEGINNINGS[0]) + 1)
    return copies >= 0 and data.find(_RETURN, copies + len(_CODECOPY) + 1) >= 0
