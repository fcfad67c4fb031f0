"""The statements of a request are noted, and PostgreSQL says how it runs them."""

import psycopg
import pytest
from django.db import connection

from mirror.core.db.reading import plans, statements
from mirror.core.db.reading.sql import Values, fetch
from mirror.core.db.reading.statements import Statement

pytestmark = pytest.mark.django_db(transaction=True)


def test_statements_are_noted_with_their_values_and_rows() -> None:
    statements.begin()
    fetch("select n from generate_series(1, %s) n", [3])
    fetch("select %(name)s::text", {"name": "a"})
    with pytest.raises(psycopg.errors.DivisionByZero):
        fetch("select 1 / %s", [0])

    noted = [Statement(*each) for each in statements.end()]

    assert [(each.text, each.values, each.rows) for each in noted] == [
        ("select n from generate_series(1, %s) n", [3], 3),
        ("select %(name)s::text", {"name": "a"}, 1),
        ("select 1 / %s", [0], None),
    ]
    assert all(each.seconds > 0 for each in noted)


def test_values_of_djangos_own_statements_may_be_secret_and_are_not_noted() -> None:
    statements.begin()
    with connection.cursor() as cursor:
        cursor.execute("select n from generate_series(1, %s) n", [2])

    assert [(text, values, rows) for text, values, _, rows in statements.end()] == [
        ("select n from generate_series(1, %s) n", None, 2)
    ]


def test_outside_of_a_request_nothing_is_noted() -> None:
    statements.begin()
    statements.end()
    fetch("select 1")

    assert statements.end() == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("select * from record_file where consensus_end = %s", [5]),
        (
            "select * from record_file where consensus_end = %(end)s and %(name)s <> ''",
            {"name": "a", "end": 5},
        ),
        ("select * from record_file where consensus_end = any(%s) limit 2", [[1, 2]]),
        ("select * from record_file where consensus_end = 5", ()),
    ],
    ids=["in order", "by name", "list", "none"],
)
def test_the_plan_is_that_of_any_values(text: str, values: Values) -> None:
    plan = plans.plan(text, values, seconds=10)

    assert "record_file" in plan and "consensus_end" in plan
    assert "(5)" not in plan if values else "5" in plan


def test_values_are_shown_as_sql_has_them() -> None:
    assert plans.literals([1, "it's", None, b"\x00\xff", [1, 2]]) == [
        "1",
        "'it''s'",
        "NULL",
        r"'\x00ff'::bytea",
        "'{1,2}'::int2[]",
    ]
    assert plans.literals({"at": 5}) == ["at = 5"]
