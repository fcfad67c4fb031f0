"""Entity ids as requests write them: num, realm.num, shard.realm.num, and EVM addresses with or without the
same parts.

The configured shard and realm stand for parts that are left out. A plain number is always a num, never an
encoded id.
"""

import re

from mirror import config
from mirror.rest.errors import InvalidEntityId
from mirror.values import entity_id

_FORM = re.compile(
    r"-?[0-9]{1,19}"
    r"|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.[0-9]{1,12}"
    r"|(?:0x)?[0-9a-fA-F]{40}"
    r"|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.[0-9a-fA-F]{40}"
)
_NUM = re.compile(r"[0-9]{1,12}")
_HEX_DIGITS = 40


class NotAnEntityId(ValueError):
    """The text has none of the forms of an entity id."""


class EvmAddress(bytes):
    """An address that is not long-zero: only the entity table knows whose it is."""


def read_entity_id(text: str) -> int | EvmAddress:
    """The encoded id a text stands for; a long-zero address stands for its num.

    Errors: NotAnEntityId for another form; InvalidEntityId, a 400, for the right form with a part out of
    range or an EVM address of a foreign shard or realm.
    """
    if _FORM.fullmatch(text) is None:
        raise NotAnEntityId(text)
    system = (config.value("common.shard"), config.value("common.realm"))
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
    try:
        return entity_id.encode(int(shard), int(realm), int(last))
    except entity_id.InvalidEntityId:
        raise InvalidEntityId(f"{shard}.{realm}.{last}") from None
