"""The shard and realm of composed messages: the simulated network itself knows entities by their number."""

from typing import Any

_IDS = frozenset({"AccountID", "ContractID", "FileID", "ScheduleID", "TokenID", "TopicID"})
_SHARD, _REALM = "shardNum", "realmNum"


def place(message: Any, shard: int, realm: int) -> None:
    """Put the ids in a message that have neither shard nor realm into these.

    An id of number 0 names no entity, and stays.
    """
    if not shard and not realm:
        return
    fields = message.ListFields()
    if message.DESCRIPTOR.name in _IDS:
        set_fields = {field.name for field, value in fields if value}
        if set_fields and not set_fields & {_SHARD, _REALM}:
            message.shardNum, message.realmNum = shard, realm
        return
    for field, value in fields:
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                place(each, shard, realm)
