import time

import pytest
from django.db import connection

from mirror.core.db.reading.sql import fetch_one
from web3sim.engine.interface import DeadlinePassed
from web3sim.state.database import DatabaseUnavailable, Reading


def test_nothing_is_read_after_the_deadline(db):
    reading = Reading(time.monotonic() - 1)
    with pytest.raises(DeadlinePassed):
        reading.fetch("select 1")
    assert Reading(time.monotonic() + 1000).fetch_one("select 1") == (1,)
    assert Reading().fetch_one("select 1 where false") is None


def test_statements_have_a_time_of_their_own(db, settings_of):
    settings_of({"web3.db.statementTimeout": 4.5, "rest.db.statementTimeout": 7.0})
    shown = "select current_setting('statement_timeout')"
    assert [Reading().fetch_one(shown), fetch_one(shown), Reading().fetch_one(shown)] == [
        *(("4500ms",), ("7s",), ("4500ms",))
    ]


def test_a_statement_that_takes_too_long_ends_as_unavailable(ledger_tables, settings_of):
    settings_of({"web3.db.statementTimeout": 0.01})
    with pytest.raises(DatabaseUnavailable, match="statement timeout"):
        Reading().fetch("select pg_sleep(600)")
    assert connection.connection is not None
    settings_of({"web3.db.statementTimeout": 60.0})
    assert Reading().fetch_one("select 1") == (1,)
