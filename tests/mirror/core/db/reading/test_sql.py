import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import Comparison, Where, compare, fetch, fetch_one

BEYOND = 1 << 63


@pytest.mark.parametrize(
    ("comparisons", "condition", "values"),
    [
        ([], "", ()),
        ([("eq", 1)], "where a = %s", (1,)),
        ([("eq", 1), ("eq", 2)], "where a = any(%s)", ([1, 2],)),
        ([("gt", 1), ("eq", 3), ("lte", 5)], "where a = %s and a > %s and a <= %s", (3, 1, 5)),
        ([("ne", 4), ("lt", 2), ("gte", 1)], "where a <> %s and a < %s and a >= %s", (4, 2, 1)),
        ([("eq", None)], "where false", ()),
        ([("eq", None), ("eq", 1)], "where a = %s", (1,)),
        ([("gt", None)], "where false", ()),
        ([("ne", None)], "where false", ()),
        ([("eq", BEYOND)], "where false", ()),
        ([("lt", BEYOND), ("lte", BEYOND), ("ne", BEYOND)], "", ()),
        ([("gte", BEYOND)], "where false", ()),
        ([("gte", -BEYOND - 1), ("gt", -BEYOND - 1)], "", ()),
        ([("lt", -BEYOND - 1)], "where false", ()),
    ],
)
def test_comparisons_become_conditions(comparisons, condition, values):
    where = compare("a", [Comparison(*comparison) for comparison in comparisons])
    assert (where.sql, where.values) == (condition, values)


def test_equalities_that_must_all_hold_stay_apart():
    where = compare("a", [Comparison("eq", 1), Comparison("eq", 2)], any_equal=False)
    assert (where.and_sql, where.values) == (" and a = %s and a = %s", (1, 2))


def test_conditions_add_up():
    assert (Where(("a = %s",), (1,)) + Where() + Where(("b",))) == Where(("a = %s", "b"), (1,))


def test_bounds_keep_the_narrowest_ends():
    bounds = Bounds.combine(
        Comparison(*comparison)
        for comparison in [("gt", 3), ("gte", 5), ("lt", 9), ("lte", 20), ("ne", 6), ("eq", 7), ("eq", 7)]
    )
    assert bounds == Bounds(5, 8, frozenset({7}), frozenset({6}))
    assert not bounds.empty
    assert bounds.where("a").sql == "where a = %s and a <> %s and a >= %s and a <= %s"
    assert bounds.where("a").values == (7, 6, 5, 8)


@pytest.mark.parametrize("comparisons", [[("gt", 5), ("lt", 6)], [("gte", 6), ("lte", 5)]])
def test_bounds_that_exclude_each_other_are_empty(comparisons):
    assert Bounds.combine(Comparison(*comparison) for comparison in comparisons).empty


def test_rows_come_back_exact(db):
    values = (BEYOND - 1, -BEYOND, b"\x00\xff", [1, 2], "text", True, None)
    assert fetch("select %s, %s, %s, %s, %s, %s, %s::int", values) == [values]
    assert fetch("select '{\"a\": [9007199254740993]}'::jsonb") == [({"a": [9007199254740993]},)]
    assert fetch_one("select 1 where false") is None
    assert fetch_one("select 1") == (1,)


def test_a_statement_is_prepared_once_for_all_sizes_of_numbers(db):
    for value in (1, 1 << 20, 1 << 40, -5):
        fetch("select %s + 1", (value,))
    ((count,),) = fetch("select count(*) from pg_prepared_statements where statement = 'select $1 + 1'")
    assert count == 1


def test_readers_have_their_own_session_settings(db, monkeypatch, settings_of):
    settings_of({"rest.db.statementTimeout": 20.0})
    # A fresh cursor, since what an earlier test set was rolled back with it.
    connections[DEFAULT_DB_ALIAS].ensure_connection()
    monkeypatch.setattr(connections[DEFAULT_DB_ALIAS].connection, "reading", None)
    names = ("statement_timeout", "jit", "plan_cache_mode")
    assert fetch("select " + ", ".join(f"current_setting('{name}')" for name in names)) == [
        ("20s", "off", "force_generic_plan")
    ]


def test_an_error_is_psycopgs_own(db):
    with pytest.raises(psycopg.errors.UndefinedTable):
        fetch("select * from nothing_of_that_name")


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_closed_by_the_server_is_replaced():
    (first,) = fetch_one("select pg_backend_pid()") or ()
    with psycopg.connect(**_address()) as other:
        other.execute("select pg_terminate_backend(%s)", (first,))
    (second,) = fetch_one("select pg_backend_pid()") or ()
    assert first != second


@pytest.mark.django_db(transaction=True)
def test_a_statement_whose_table_is_changed_between_two_requests_gives_the_new_columns():
    with psycopg.connect(**_address(), autocommit=True) as other:
        other.execute("create table changing (a int, b bytea)")
        other.execute("insert into changing values (1, '\\x01')")
        statement = "select * from changing where a = %s"
        try:
            for _ in range(3):
                assert fetch(statement, (1,)) == [(1, b"\1")]
            other.execute("alter table changing drop b")
            other.execute("alter table changing add b jsonb default '[2]', add c int")

            for _ in range(3):
                assert fetch(statement, (1,)) == [(1, [2], None)]
        finally:
            other.execute("drop table changing")


def _address():
    given = connection.get_connection_params()
    return {name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
