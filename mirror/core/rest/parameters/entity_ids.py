"""Entity ids as requests write them: num, realm.num, shard.realm.num, and EVM addresses and account aliases
with or without the same parts; and transaction ids.

The configured shard and realm stand for parts that are left out. A plain number is always a num, never an
encoded id. Nothing here asks the database; ledger.api.account_names does.
"""

import re
from base64 import b32decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from mirror.core import config
from mirror.core.rest.answers.errors import BadRequest, InvalidEntityId, InvalidParameter
from mirror.core.values import alias, entity_id, transaction_id
from mirror.core.values.transaction_id import TransactionId

_FORM = re.compile(
    r"-?[0-9]{1,19}"
    r"|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.[0-9]{1,12}"
    r"|(?:0x)?[0-9a-fA-F]{40}"
    r"|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.[0-9a-fA-F]{40}"
)
_NUMERIC_FORM = re.compile(r"-?[0-9]{1,19}|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.[0-9]{1,12}")
_NUM = re.compile(r"[0-9]{1,12}")
_HEX_DIGITS = 40
_ALIAS = re.compile(r"((?:[0-9]{1,5}\.){0,2})([A-Z2-7]+)")

_SPRING_EVM_ADDRESS = re.compile(r"(?:(?:[0-9]{1,5}\.){0,2}|0x)([0-9a-fA-F]{40})")
_SPRING_ALIAS = re.compile(r"(?:[0-9]{1,5}\.){0,2}([A-Z2-7]{40,70})")


_NO_ID = (
    'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are seconds and nnn are '
    "nanoseconds"
)

T = TypeVar("T")


class NotAnEntityId(ValueError):
    """The text has none of the forms of an entity id."""


class EvmAddress(bytes):
    """An address that is not long-zero. Only the entity table knows whose it is."""


class Alias(bytes):
    """An account's alias. Only the entity table knows whose it is."""


#: The names of an account in a request.
AccountName = int | EvmAddress | Alias


def read_entity_id(text: str) -> int | EvmAddress:
    """Return the encoded id that a text stands for; a long-zero address stands for its num.

    Errors: NotAnEntityId for another form; InvalidEntityId, a 400, for the right form with a part out of
    range or an EVM address of a foreign shard or realm.
    """
    if not is_entity_id(text):
        raise NotAnEntityId(text)
    system = config.shard_and_realm()
    parts = text.split(".")
    shard, realm, last = [*map(str, system[: 3 - len(parts)]), *parts]
    if len(last) >= _HEX_DIGITS:
        address = bytes.fromhex(last[-_HEX_DIGITS:])
        if (int(shard), int(realm)) != system:
            raise InvalidEntityId(f"{shard}.{realm}.{last}")
        num = entity_id.num_of_long_zero(address)
        return EvmAddress(address) if num is None else entity_id.encode(*system, num)
    if _NUM.fullmatch(last) is None:
        raise InvalidEntityId(f"{shard}.{realm}.{last}")
    with _named_if_out_of_range(f"{shard}.{realm}.{last}"):
        return entity_id.encode(int(shard), int(realm), int(last))


@contextmanager
def _named_if_out_of_range(text: str) -> Iterator[None]:
    """Report an id with a part out of range by this text. Errors: InvalidEntityId."""
    try:
        yield
    except entity_id.InvalidEntityId:
        raise InvalidEntityId(text) from None


def require_form(has_form: Callable[[str], bool], text: str, part: str) -> None:
    """Require a part of the path to have the form of an id, where its range is checked after all else.

    Errors: InvalidParameter.
    """
    if not has_form(text):
        raise InvalidParameter(part)


def read_in_path(read: Callable[[str], T], text: str, part: str) -> T:
    """Return what `read` makes of a part of the path, where ids out of range have no error of their own.

    Errors: InvalidParameter.
    """
    try:
        return read(text)
    except (NotAnEntityId, InvalidEntityId):
        raise InvalidParameter(part) from None


def is_entity_id(text: str) -> bool:
    """Return whether the text has a form of an entity id. Its parts may still be out of range."""
    return _FORM.fullmatch(text) is not None


def is_numeric_id(text: str) -> bool:
    """Return whether the text is an id in numbers alone. Its parts may still be out of range."""
    return _NUMERIC_FORM.fullmatch(text) is not None


def read_numeric_id(text: str) -> int:
    """Return the encoded id of a text without EVM address. Errors: NotAnEntityId, InvalidEntityId."""
    if not is_numeric_id(text):
        raise NotAnEntityId(text)
    number = read_entity_id(text)
    assert isinstance(number, int)
    return number


def read_account(text: str) -> AccountName:
    """Read the account in the path of a classic endpoint: an entity id in any form, else an alias.

    Errors: as read_entity_id; NotAnEntityId also for an alias of a foreign shard or realm.
    """
    return read_entity_id(text) if is_entity_id(text) else read_alias(text)


def read_alias(text: str) -> Alias:
    """Read an alias in base32, with or without the configured shard and realm. Errors: NotAnEntityId."""
    match = _ALIAS.fullmatch(text)
    if match is None:
        raise NotAnEntityId(text)
    *parts, encoded = text.split(".")
    system = config.shard_and_realm()
    if parts and tuple(map(int, parts)) != system[2 - len(parts) :]:
        raise NotAnEntityId(text)
    try:
        return Alias(alias.parse(encoded))
    except alias.InvalidAlias:
        raise NotAnEntityId(text) from None


def read_spring_id(text: str) -> int:
    """Return the encoded id of a number in a request to a Spring endpoint. Errors: NotAnEntityId."""
    try:
        return entity_id.parse(text, *config.shard_and_realm())
    except entity_id.InvalidEntityId:
        raise NotAnEntityId(text) from None


def read_spring_account(text: str) -> AccountName:
    """Read the account in the path of a Spring endpoint.

    Every EVM address is looked up, even a long-zero one. Shard and realm before an address or alias are
    ignored. An alias has 40 to 70 characters; bits left over at its end are dropped.
    Errors: NotAnEntityId.
    """
    if address := _SPRING_EVM_ADDRESS.fullmatch(text):
        return EvmAddress(bytes.fromhex(address[1]))
    if encoded := _SPRING_ALIAS.fullmatch(text):
        return Alias(_dropping_last_bits(encoded[1]))
    return read_spring_id(text)


def _dropping_last_bits(encoded: str) -> bytes:
    whole_bytes = len(encoded) * 5 // 8
    return b32decode(encoded + "A" * (-len(encoded) % 8))[:whole_bytes]


def read_transaction_id(text: str) -> TransactionId:
    """Return payer and valid start, which may be beyond 64 bits. Errors: BadRequest; InvalidEntityId."""
    try:
        with _named_if_out_of_range(text.partition("-")[0]):
            return transaction_id.parse(text)
    except transaction_id.InvalidTransactionId:
        raise BadRequest(_NO_ID) from None
