from django.db import connection

from mirror.urls import VIEWS
from tests.contract.budgets import BUDGETS


def test_every_endpoint_has_a_budget_and_nothing_else_has():
    assert list(BUDGETS) == sorted(VIEWS)


def test_statements_are_counted_whatever_was_asked_before(api):
    connection.queries_log.extend([{"sql": "", "time": ""}] * connection.queries_limit)

    assert api.get("/api/v1/blocks").statements
