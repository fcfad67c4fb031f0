"""Entity ids: shard.realm.num as one signed 64-bit integer, as every bigint id column stores it.

Layout, most significant bit first: 10 bits shard, 16 bits realm, 38 bits num. From shard 512 on the integer
is negative. In shard 0, realm 0 it equals num. Num 0 names no entity: such an id is written as 0 and read as
None.

The EVM knows an entity without an address of its own by its long-zero address: 12 zero bytes and the num in
8 bytes, without shard and realm.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, overload

MAX_SHARD = 1023
MAX_REALM = 65_535
MAX_NUM = (1 << 38) - 1

_REALM_BITS, _NUM_BITS = 16, 38
_SHARD_SHIFT = _REALM_BITS + _NUM_BITS
_UNSIGNED = (1 << 64) - 1
LONG_ZERO_PREFIX = bytes(12)
_TEXT = re.compile(r"(?:(?:(\d{1,4})\.)?(\d{1,5})\.)?(\d{1,12})", re.ASCII)


class InvalidEntityId(ValueError):
    """A part of an entity id is out of range, or its text is malformed; the message says which."""


def encode(shard: int, realm: int, num: int) -> int:
    """Return the signed 64-bit form. Errors: InvalidEntityId when a part is out of range."""
    if not (0 <= shard <= MAX_SHARD and 0 <= realm <= MAX_REALM and 0 <= num <= MAX_NUM):
        raise InvalidEntityId(
            f"entity id {shard}.{realm}.{num} is out of range (0-{MAX_SHARD}.0-{MAX_REALM}.0-{MAX_NUM})"
        )
    encoded = shard << _SHARD_SHIFT | realm << _NUM_BITS | num
    return encoded - (1 << 64) if shard > MAX_SHARD >> 1 else encoded


def decode(encoded: int) -> tuple[int, int, int]:
    """Return shard, realm and num of the signed 64-bit form."""
    bits = encoded & _UNSIGNED
    return bits >> _SHARD_SHIFT, bits >> _NUM_BITS & MAX_REALM, bits & MAX_NUM


def text(encoded: int | None) -> str | None:
    """Return `shard.realm.num`; None for None and for num 0."""
    if not encoded:
        return None
    if 0 < encoded <= MAX_NUM:
        return f"0.0.{encoded}"
    shard, realm, num = decode(encoded)
    return f"{shard}.{realm}.{num}" if num else None


@overload
def bound(encoded: int) -> str: ...
@overload
def bound(encoded: None) -> None: ...
def bound(encoded: int | None) -> str | None:
    """Return `shard.realm.num` of a number that need not be an entity's id, such as the end of a range."""
    if encoded is None:
        return None
    if 0 <= encoded <= MAX_NUM:
        return f"0.0.{encoded}"
    return "{}.{}.{}".format(*decode(encoded))


def parse(text: str, shard: int = 0, realm: int = 0) -> int:
    """Return the encoded id of `num`, `realm.num` or `shard.realm.num`. Errors: InvalidEntityId.

    `shard` and `realm` stand in for parts that are missing.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InvalidEntityId(f'"{text}" is not an entity id of the form shard.realm.num')
    shard_text, realm_text, num = match.groups()
    return encode(
        shard if shard_text is None else int(shard_text),
        realm if realm_text is None else int(realm_text),
        int(num),
    )


def long_zero(encoded: int) -> bytes:
    return (encoded & MAX_NUM).to_bytes(20, "big")


def long_zero_sql(column: str) -> str:
    return f"decode(lpad(to_hex({column} & {MAX_NUM}), 40, '0'), 'hex')"


def num_of_long_zero(evm_address: bytes) -> int | None:
    """Return the num of a long-zero EVM address; None for any other address."""
    if len(evm_address) != 20 or not evm_address.startswith(LONG_ZERO_PREFIX):
        return None
    num = int.from_bytes(evm_address, "big")
    return num if num <= MAX_NUM else None


# The id messages of HAPI. An id given by alias or EVM address has num 0 and encodes to 0, "no entity". A
# record may hold any number where an id is expected; one that can't be an id names no entity either.


class OutOfRangeEntityId(int):
    """The 0 that stands for an id message with a part out of range; `text` is the id it states."""

    kind: str
    text: str

    @classmethod
    def encode(cls, kind: str, shard: int, realm: int, num: int) -> "OutOfRangeEntityId":
        impossible = cls(0)
        impossible.kind, impossible.text = kind, f"{shard}.{realm}.{num}"
        return impossible

    @property
    def problem(self) -> str:
        return f"{self.kind} id {self.text} is out of range (0-{MAX_SHARD}.0-{MAX_REALM}.0-{MAX_NUM})"


def from_account(account: Any) -> int:
    """Return the encoded id of an AccountID; an OutOfRangeEntityId when it can't be one."""
    shard, realm, num = account.shardNum, account.realmNum, account.accountNum
    # Nothing is read more often from a stream.
    if not shard and not realm and 0 <= num <= MAX_NUM:
        return num  # type: ignore[no-any-return]
    return _encode("account", shard, realm, num)


def amounts_of(transfers: Iterable[Any]) -> list[tuple[int, int]]:
    """Return the encoded account and the amount of AccountAmount messages."""
    amounts = []
    for transfer in transfers:
        account = transfer.accountID
        num = account.accountNum
        # Most time of loading goes by here: so `from_account` is called only for the others.
        if account.shardNum or account.realmNum or not 0 <= num <= MAX_NUM:
            num = from_account(account)
        amounts.append((num, transfer.amount))
    return amounts


def _encoder(kind: str, number: str) -> Callable[[Any], int]:
    def encoded(message: Any) -> int:
        return _encode(kind, message.shardNum, message.realmNum, getattr(message, number))

    return encoded


# The same of a ContractID, FileID, ScheduleID, TokenID and TopicID.
from_contract = _encoder("contract", "contractNum")
from_file = _encoder("file", "fileNum")
from_schedule = _encoder("schedule", "scheduleNum")
from_token = _encoder("token", "tokenNum")
from_topic = _encoder("topic", "topicNum")


def _encode(kind: str, shard: int, realm: int, num: int) -> int:
    if shard == 0 and realm == 0 and 0 <= num <= MAX_NUM:
        return num
    try:
        encoded = encode(shard, realm, num)
    except InvalidEntityId:
        return OutOfRangeEntityId.encode(kind, shard, realm, num)
    return encoded if num else 0
