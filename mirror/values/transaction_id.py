"""Transaction ids: payer account and valid start, in text `shard.realm.num-seconds-nnnnnnnnn`."""

import re
from typing import NamedTuple

from mirror.values import entity_id
from mirror.values.timestamp import MAX, NANOS_PER_SECOND

_TEXT = re.compile(r"(\d+)\.(\d+)\.(\d+)-(\d{1,19})-(\d{1,9})", re.ASCII)


class InvalidTransactionId(ValueError):
    """Text is not a transaction id."""


class TransactionId(NamedTuple):
    """`payer_account_id` encoded, `valid_start_ns` in nanoseconds (may exceed 64 bits.

    Then nothing matches).
    """

    payer_account_id: int
    valid_start_ns: int


def text(payer_account_id: int, valid_start_ns: int) -> str:
    """`shard.realm.num-seconds-nnnnnnnnn`, nine digits of nanoseconds."""
    shard, realm, num = entity_id.decode(payer_account_id)
    seconds, nanos = divmod(valid_start_ns, NANOS_PER_SECOND)
    return f"{shard}.{realm}.{num}-{seconds}-{nanos:09}"


def parse(text: str) -> TransactionId:
    """Errors.

    InvalidTransactionId for another form or seconds beyond 64 bits, InvalidEntityId when a part of the
    payer is out of range.
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
    # Python refuses to convert thousands of digits; twenty are out of range for every part already.
    return int(digits.lstrip("0")[:20] or "0")
