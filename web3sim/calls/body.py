"""The body of POST /api/v1/contracts/call: read leniently, then checked by the rules of its fields.

Amounts are tinybars. Numbers and booleans may be written as texts, and the other way round; a null is the
default of the member's type, not of the member.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64
from web3sim.calls import access_list, overrides
from web3sim.calls.access_list import ListedAddress
from web3sim.calls.json_text import Members, Number, UnreadableJson, Value, read_object
from web3sim.calls.overrides import OverrideText
from web3sim.state.blocks import LATEST, BlockSelector, InvalidBlock, parse_block

DEFAULT_GAS = 15_000_000
MIN_GAS = 21_000
_MAX_DATA_DIGITS = 1_048_576
# So that data with too many digits is named as such.
MAX_DOCUMENT = 2 * _MAX_DATA_DIGITS

_ADDRESS = re.compile(r"(?:0x)?[0-9a-fA-F]{40}")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]*")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_LONG_LISTS = {overrides.MEMBER: overrides.MAX_TOKENS, access_list.MEMBER: access_list.MAX_TOKENS}
_EMPTY_TEXTS = ("", "null")

# How deployment code begins as compilers write it.
_CODE_PREFIXES = ("60806040", "60606040")
_CODECOPY, _RETURN = "39", "f3"
_MIN_CODE_LENGTH = 14


class InvalidBody(Exception):
    """The body breaks rules; `details` has a sentence for each."""

    def __init__(self, *details: str) -> None:
        self.details = details
        super().__init__(", ".join(details))


class CallBody(NamedTuple):
    """The call that a client describes, texts as they were sent; `selector` is what `block` selects."""

    block: str | None = None
    selector: BlockSelector = LATEST
    data: str | None = None
    estimate: bool = False
    sender: str | None = None
    gas: int = DEFAULT_GAS
    gas_price: int = 0
    to: str | None = None
    value: int = 0
    state_overrides: tuple[OverrideText, ...] = ()
    access_list: tuple[ListedAddress, ...] = ()


def parse(body: bytes) -> CallBody:
    """Read a body and check it by the rules of its fields. Errors: InvalidBody."""
    call = read(body)
    if violations := tuple(_violations(call)):
        raise InvalidBody(*violations)
    return call


# JSON


def read(body: bytes) -> CallBody:
    """Read the members of a body, whatever their values. Errors: InvalidBody."""
    if not body:
        raise InvalidBody("Required request body is missing")
    fields: dict[str, Any] = {}
    try:
        for name, value in read_object(body, MAX_DOCUMENT, _LONG_LISTS):
            if name == "block":
                fields["block"] = text = _text(name, value)
                fields["selector"] = parse_block(text)
            elif name in _TEXTS:
                fields[_TEXTS[name]] = _text(name, value)
            elif name in _INTEGERS:
                fields[_INTEGERS[name]] = _integer(name, value)
            elif name == "estimate":
                fields["estimate"] = _boolean(name, value)
            elif name == overrides.MEMBER:
                fields[name] = overrides.read(value)
            elif name == access_list.MEMBER:
                fields["access_list"] = access_list.read(value)
    except (UnreadableJson, InvalidBlock) as error:
        raise InvalidBody(f"JSON parse error: {error}") from None
    return CallBody(**fields)


# Member -> field.
_TEXTS = {"data": "data", "from": "sender", "to": "to"}
_INTEGERS = {"gas": "gas", "gasPrice": "gas_price", "value": "value"}


def _text(name: str, value: Value) -> str | None:
    if isinstance(value, Members | list):
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
        return int(value.text) if value.is_whole else _truncated(value.text)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text in _EMPTY_TEXTS:
        return 0
    # int() reads more forms, and takes long over thousands of digits.
    return int(text) if len(text) <= 100 and _INTEGER.fullmatch(text) else None


def _truncated(text: str) -> int | None:
    """Return a number with a fraction or an exponent without its fraction."""
    number = float(text)
    return int(number) if abs(number) <= MAX_INT64 else None


def _boolean(name: str, value: Value) -> bool:
    if isinstance(value, str):
        text = value.strip()
        if text in _EMPTY_TEXTS or text in ("false", "False", "FALSE"):
            return False
        if text in ("true", "True", "TRUE"):
            return True
    elif isinstance(value, Number):
        if value.is_whole:
            return int(value.text) != 0
    elif not isinstance(value, Members | list):
        return bool(value)
    raise UnreadableJson(f"{name} must be true or false")


# RULES


def _violations(call: CallBody) -> Iterator[str]:
    """Yield a sentence for each rule that the fields break by themselves or together."""
    yield from access_list.violations(call.access_list)
    if call.data is not None and not (_HEX.fullmatch(call.data) and len(call.data) <= _MAX_DATA_DIGITS):
        yield "data field invalid hexadecimal string"
    if call.sender is not None and not _ADDRESS.fullmatch(call.sender):
        yield "from field invalid hexadecimal string"
    if call.gas < MIN_GAS:
        yield f"gas field must be greater than or equal to {MIN_GAS}"
    if call.gas_price < 0:
        yield "gasPrice field must be greater than or equal to 0"
    if call.state_overrides:
        yield from overrides.violations(call.state_overrides)
    if call.to and not _ADDRESS.fullmatch(call.to):
        yield "to field invalid hexadecimal string"
    if call.value < 0:
        yield "value field must be greater than or equal to 0"
    if call.value > 0:
        if not call.sender:
            yield "from field must not be empty"
        if call.sender is not None and not call.to and not is_deployment_code(call.data or ""):
            yield "to field must not be empty"


def is_deployment_code(data: str) -> bool:
    """Return whether hex looks like the code that deploys a contract: begin, copy the code, return it."""
    data = data.lower()
    if len(data) < _MIN_CODE_LENGTH:
        return False
    positions = [position for prefix in _CODE_PREFIXES if (position := data.find(prefix)) >= 0]
    if not positions:
        return False
    copies = data.find(_CODECOPY, min(positions) + len(_CODE_PREFIXES[0]) + 1)
    return copies >= 0 and data.find(_RETURN, copies + len(_CODECOPY) + 1) >= 0
