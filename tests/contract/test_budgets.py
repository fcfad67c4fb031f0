from mirror.urls import ROUTES
from tests.contract.budgets import BUDGETS


def test_every_endpoint_has_a_budget_and_nothing_else_has():
    assert list(BUDGETS) == sorted(ROUTES.views)
