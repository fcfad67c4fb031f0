"""Records: how a row of the database becomes a JSON object.

    class RewardJson(TypedDict):
        account_id: EntityId | None
        amount: Int64
        timestamp: Timestamp | None

    REWARD = Record(RewardJson, timestamp="consensus_timestamp")
    rows = fetch(f"select {REWARD.columns} from staking_reward_transfer ...")
    rewards = [REWARD.json(row) for row in rows]

Each member of the type is a column of the same name, unless SQL is given for it, and its type says how the
value is written: an EntityId as shard.realm.num, Hex with 0x. A timestamp range takes two columns, its ends.
"""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Generic, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints

from mirror.core.values import alias, entity_id, hexadecimal, json_types, keys, timestamp

T = TypeVar("T")

_WRITTEN: dict[Any, Callable[[Any], Any]] = {
    json_types.Alias: alias.text,
    json_types.Base64: hexadecimal.base64_text,
    json_types.DecimalText: str,
    json_types.EntityId: entity_id.text,
    json_types.EvmAddress: hexadecimal.text,
    json_types.Hex: hexadecimal.text,
    json_types.KeyJson: keys.key_json,
    json_types.Timestamp: timestamp.text,
}
_WRITTEN_BY_SPRING = _WRITTEN | {json_types.Timestamp: timestamp.spring_text}


class Record(Generic[T]):
    """The columns of a kind of JSON object, and what their values become.

    `of` is the alias of the table whose columns the members are. `spring` endpoints write the time 0
    otherwise. `written` has functions for members that are written otherwise than their types say, and `sql`
    the columns of members that are called otherwise.

    Errors: TypeError for the name of no member.
    """

    #: The columns of a statement whose rows are turned into such objects.
    columns: str
    #: Returns the JSON object of a row of `columns`.
    json: Callable[[Sequence[Any]], T]

    def __init__(
        self,
        shape: type[T],
        *,
        of: str = "",
        spring: bool = False,
        written: Mapping[str, Callable[[Any], Any]] | None = None,
        **sql: str,
    ) -> None:
        hints = get_type_hints(shape, include_extras=True)
        if unknown := {*(written or ()), *sql} - hints.keys():
            raise TypeError(f"{shape.__name__} has no {', '.join(sorted(unknown))}.")
        table = f"{of}." if of else ""
        by_kind = _WRITTEN_BY_SPRING if spring else _WRITTEN
        functions: dict[str, Any] = {"ends": timestamp.spring_range_json if spring else timestamp.range_json}
        columns: list[str] = []
        values: list[str] = []
        members: list[str] = []
        for index, (name, hint) in enumerate(hints.items()):
            kind = _kind(hint)
            column, value, member = f"{table}{name}", f"value{index}", f"value{index}"
            if write := (written or {}).get(name) or by_kind.get(kind):
                functions[f"write{index}"], member = write, f"write{index}({value})"
            elif kind is json_types.TimestampRangeJson:
                column = f"lower({table}timestamp_range), upper({table}timestamp_range)"
                value = f"since{index}, until{index}"
                member = f"ends({value})"
            columns.append(sql.get(name, column))
            values.append(value)
            members.append(f"{name!r}: {member}")
        self.columns = ", ".join(columns)
        # Compiled, as the methods of a namedtuple are: a loop over the members takes three times as long.
        source = f"def json(row):\n    {', '.join(values)}, = row\n    return {{{', '.join(members)}}}\n"
        exec(source, functions)
        self.json = functions["json"]


def _kind(hint: Any) -> Any:
    """Return the type of a member, without null; a list of types has none of its own."""
    if get_origin(hint) is NotRequired:
        (hint,) = get_args(hint)
    if get_origin(hint) not in (Union, UnionType):
        return None if get_origin(hint) is list else hint
    return next(part for part in get_args(hint) if part is not NoneType)
