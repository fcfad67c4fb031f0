"""The `state_overrides` of a call: their texts as they were sent, their rules, their values.

Numbers are hex, with or without 0x. A rule that several slots of a list break is reported once for the list.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from web3sim.calls.json_text import Members, Number, UnreadableJson, Value, as_list
from web3sim.state.overridden_state import Override

MEMBER = "state_overrides"
MAX_OVERRIDES = 100
MAX_SLOTS = 100
#: Names, values and brackets of the largest list: each override has two brackets, an address, a balance, a
#: code, a nonce and one list, each slot two brackets, a key and a value.
MAX_TOKENS = 2 + MAX_OVERRIDES * (2 + 4 * 2 + 3 + MAX_SLOTS * 6)

_ADDRESS = re.compile(r"(?:0x)?([0-9a-fA-F]{40})")
_NUMBER = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})")
_BYTES = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})*)")
_WORD = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")

Slots = tuple[tuple[str | None, str | None], ...]


class OverrideText(NamedTuple):
    """One override as it was sent."""

    address: str | None = None
    balance: str | None = None
    code: str | None = None
    nonce: str | None = None
    state: Slots | None = None
    state_diff: Slots | None = None


# JSON


def read(value: Value) -> tuple[OverrideText, ...]:
    """Read the list without checking its texts; null is an empty list. Errors: UnreadableJson."""
    return () if value is None else tuple(_override(each) for each in as_list(value, MEMBER))


def _override(value: Value) -> OverrideText:
    fields: dict[str, str | Slots | None] = {}
    for name, member in _members(value, MEMBER):
        if name in ("state", "state_diff"):
            fields[name] = (
                None if member is None else tuple(_slot(each, name) for each in as_list(member, name))
            )
        elif name in OverrideText._fields:
            fields[name] = _text(member, name)
    return OverrideText(**fields)  # type: ignore[arg-type]


def _slot(value: Value, name: str) -> tuple[str | None, str | None]:
    fields = dict(_members(value, name))
    return _text(fields.get("key"), "key"), _text(fields.get("value"), "value")


def _members(value: Value, name: str) -> Members:
    if not isinstance(value, Members):
        raise UnreadableJson(f"Each of {name} must be an object")
    return value


def _text(value: Value, name: str) -> str | None:
    if isinstance(value, Number):
        return value.text
    if value is not None and not isinstance(value, str):
        raise UnreadableJson(f"{name} must be a text")
    return value


# RULES


def violations(overrides: Sequence[OverrideText]) -> Iterator[str]:
    """Yield a sentence for each rule that is broken."""
    if len(overrides) > MAX_OVERRIDES:
        yield f"{MEMBER} field must have at most {MAX_OVERRIDES} items"
        return
    for index, each in enumerate(overrides):
        field = f"{MEMBER}[{index}]"
        if each.address is None:
            yield f"{field}.address field must not be empty"
        for name, pattern in _PATTERNS.items():
            text: str | None = getattr(each, name)
            if text is not None and not pattern.fullmatch(text):
                yield f"{field}.{name} field invalid hexadecimal string"
        yield from _violations_of_slots(each.state, f"{field}.state")
        yield from _violations_of_slots(each.state_diff, f"{field}.state_diff")
        if each.state is not None and each.state_diff is not None:
            yield "state and state_diff are mutually exclusive"


_PATTERNS = {"address": _ADDRESS, "balance": _NUMBER, "code": _BYTES, "nonce": _NUMBER}


def _violations_of_slots(slots: Slots | None, field: str) -> Iterator[str]:
    if slots is None:
        return
    if len(slots) > MAX_SLOTS:
        yield f"{field} field must have at most {MAX_SLOTS} items"
    for place, name in enumerate(("key", "value")):
        if not all(_WORD.fullmatch(slot[place] or "") for slot in slots):
            yield f"{field}.{name} field invalid hexadecimal string"


# VALUES


def decoded(overrides: Sequence[OverrideText]) -> tuple[Override, ...]:
    """Return the values of overrides that break no rule."""
    return tuple(_decoded(each) for each in overrides)


def _decoded(text: OverrideText) -> Override:
    slots = text.state_diff if text.state is None else text.state
    return Override(
        bytes.fromhex(_digits(text.address)),
        None if text.balance is None else int(_digits(text.balance), 16),
        None if text.code is None else bytes.fromhex(_digits(text.code)),
        None if text.nonce is None else int(_digits(text.nonce), 16),
        None if slots is None else {int(_digits(key), 16): int(_digits(value), 16) for key, value in slots},
        text.state is not None,
    )


def _digits(text: str | None) -> str:
    return (text or "").removeprefix("0x")
