"""Transaction ids: payer account and valid start, in text `shard.realm.num-seconds-nnnnnnnnn`."""

import re
from typing import NamedTuple

from mirror.core.values import entity_id
from mirror.core.values.timestamp import MAX, NANOS_PER_SECOND

_TEXT = re.compile(r"(\d+)\.(\d+)\.(\d+)-(\d{1,19})-(\d{1,9})", re.ASCII)


class InvalidTransactionId(ValueError):
    """The text is not a transaction id."""


class TransactionId(NamedTuple):
    """The encoded payer account and the valid start, which may exceed 64 bits and then matches nothing."""

    payer_account_id: int
    valid_start_ns: int


def text(payer_account_id: int, valid_start_ns: int) -> str:
    """Return `shard.realm.num-seconds-nnnnnnnnn`."""
    payer = entity_id.bound(payer_account_id)
    if valid_start_ns >= NANOS_PER_SECOND:
        digits = str(valid_start_ns)
        return f"{payer}-{digits[:-9]}-{digits[-9:]}"
    seconds, nanos = divmod(valid_start_ns, NANOS_PER_SECOND)
    return f"{payer}-{seconds}-{nanos:09}"


def with_dashes(text: str) -> str:
    """Return an id as wallets write it (0.0.1234@1700000000.000000001) in the form of the API.

    Any other text is left as it is.
    """
    payer, at, start = text.partition("@")
    return f"{payer}-{start.replace('.', '-')}" if at else text


def parse(text: str) -> TransactionId:
    """Return the id that a text states.

    Errors: InvalidTransactionId for another form or seconds beyond 64 bits; InvalidEntityId when a part of
    the payer is out of range.
    """
    match = _TEXT.fullmatch(text)
    if match is None or int(match[4]) > MAX:
        raise InvalidTransactionId(
            f'"{text}" is not a transaction id of the form shard.realm.num-seconds-nanoseconds'
        )
    shard, realm, num, seconds, nanos = match.groups()
    payer = entity_id.encode(_number(shard), _number(realm), _number(num))
    return TransactionId(payer, int(seconds) * NANOS_PER_SECOND + int(nanos))


def _number(digits: str) -> int:
    # Python refuses to convert thousands of digits, and twenty are out of range already.
    return int(digits.lstrip("0")[:20] or "0")
