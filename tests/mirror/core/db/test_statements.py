import pytest

from mirror.core.db import statements

pytestmark = pytest.mark.django_db


def test_statement_without_values_is_executed_as_it_stands() -> None:
    assert statements.value("select 5 % 3") == 2
    assert statements.column("select 'a%s'") == ["a%s"]
    assert statements.value("select 5 %% %s", [3]) == 2
