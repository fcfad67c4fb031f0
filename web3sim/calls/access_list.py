"""The `accessList` of a call (EIP-2930): its texts as they were sent, their rules, their values.

Addresses and slots are hex, with or without 0x. A rule that several slots of an entry break is reported once.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from web3sim.calls.json_text import Members, UnreadableJson, Value, as_list
from web3sim.engine.interface import AccessList

MEMBER = "accessList"
#: Addresses and slots together, which cost 9,500,000 gas and more.
MAX_ITEMS = 5_000
#: Names, values and brackets of the largest list: of an address without slots seven.
MAX_TOKENS = 2 + MAX_ITEMS * 7

_ADDRESS = re.compile(r"(?:0x)?([0-9a-fA-F]{40})")
_WORD = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")


class ListedAddress(NamedTuple):
    """An address and its slots, as they were sent."""

    address: str = ""
    slots: tuple[str, ...] = ()


def read(value: Value) -> tuple[ListedAddress, ...]:
    """Read the list without checking its texts; null is an empty list. Errors: UnreadableJson."""
    return () if value is None else tuple(_entry(each) for each in as_list(value, MEMBER))


def _entry(value: Value) -> ListedAddress:
    if not isinstance(value, Members):
        raise UnreadableJson(f"Each of {MEMBER} must be an object")
    members = dict(value)
    address, slots = members.pop("address", ""), members.pop("storageKeys", None) or []
    if members:
        raise UnreadableJson(f"{MEMBER} has objects with address and storageKeys, not {next(iter(members))}")
    texts = [address, *as_list(slots, "storageKeys")]
    if not all(isinstance(text, str) for text in texts):
        raise UnreadableJson(f"address and storageKeys of {MEMBER} must be texts")
    return ListedAddress(texts[0], tuple(texts[1:]))


def violations(entries: Sequence[ListedAddress]) -> Iterator[str]:
    """Yield a sentence for each rule that is broken."""
    if len(entries) + sum(len(entry.slots) for entry in entries) > MAX_ITEMS:
        yield f"{MEMBER} field must have at most {MAX_ITEMS} addresses and slots"
        return
    for index, entry in enumerate(entries):
        if not _ADDRESS.fullmatch(entry.address):
            yield f"{MEMBER}[{index}].address field invalid hexadecimal string"
        if not all(map(_WORD.fullmatch, entry.slots)):
            yield f"{MEMBER}[{index}].storageKeys field invalid hexadecimal string"


def decoded(entries: Sequence[ListedAddress]) -> AccessList:
    """Return the values of entries that break no rule."""
    return tuple(
        (bytes.fromhex(entry.address.removeprefix("0x")), tuple(int(slot, 16) for slot in entry.slots))
        for entry in entries
    )
