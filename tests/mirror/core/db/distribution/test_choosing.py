"""The choice between the two forms of a query."""

from collections.abc import Callable

import pytest

from mirror.core.db.distribution import choose, distributable


@distributable
def rows(limit: int, *, order: str = "asc") -> str:
    """Return rows."""
    return f"one statement: {limit} {order}"


@rows.distributed
def _keys_first(limit: int, *, order: str = "asc") -> str:
    return f"keys first: {limit} {order}"


@distributable
def only_one_form() -> str:
    return "one statement"


@pytest.mark.parametrize(("distributed", "form"), [(False, "one statement"), (True, "keys first")])
def test_the_form_follows_the_setting(settings_of: Callable[..., None], distributed: bool, form: str) -> None:
    settings_of({"db.distributed": distributed})

    assert rows(2, order="desc") == f"{form}: 2 desc"
    assert choose("one statement", distributed="keys first") == form
    assert only_one_form() == "one statement"
    assert rows.__doc__ == "Return rows."
