from typing import NotRequired, TypedDict

import pytest

from mirror.core.rest.answers.records import Record
from mirror.core.values.json_types import EntityId, Hex, Int64, KeyJson, Timestamp, TimestampRangeJson

SECOND = 1_000_000_000


class ThingJson(TypedDict):
    account: EntityId | None
    amount: Int64
    created: NotRequired[Timestamp | None]
    data: Hex
    key: KeyJson | None
    names: list[str]
    timestamp: TimestampRangeJson


ROW = (1001, 5, 0, b"\x07", None, ["one"], SECOND, None)


def test_members_are_columns_of_their_names():
    assert Record(ThingJson).columns == (
        "account, amount, created, data, key, names, lower(timestamp_range), upper(timestamp_range)"
    )


def test_columns_are_of_a_table_unless_sql_is_given():
    record = Record(ThingJson, of="t", account="e.id", timestamp="start, until")
    assert record.columns == "e.id, t.amount, t.created, t.data, t.key, t.names, start, until"


@pytest.mark.parametrize(("spring", "zero"), [(False, "0.000000000"), (True, "0.0")])
def test_types_say_how_values_are_written(spring, zero):
    assert list(Record(ThingJson, spring=spring).json(ROW).items()) == [
        ("account", "0.0.1001"),
        ("amount", 5),
        ("created", zero),
        ("data", "0x07"),
        ("key", None),
        ("names", ["one"]),
        ("timestamp", {"from": "1.000000000", "to": None}),
    ]


def test_a_function_replaces_how_a_type_is_written():
    record = Record(ThingJson, written={"amount": str, "timestamp": lambda ends: ends})
    assert record.columns.endswith(", names, timestamp")
    members = dict(record.json((*ROW[:6], "ever")))
    assert (members["amount"], members["timestamp"]) == ("5", "ever")


def test_names_of_no_member_are_an_error():
    with pytest.raises(TypeError, match=r"ThingJson has no acount, ammount\."):
        Record(ThingJson, written={"ammount": str, "data": str}, acount="id")
