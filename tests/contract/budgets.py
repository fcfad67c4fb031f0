"""How many SQL statements a request to each endpoint may make, whatever its parameters: budgets.json.

The `api` client holds every request of every test against it. Raise a number only on purpose.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from mirror.core.db.distribution import is_distributed

FILE = Path(__file__).with_name("budgets.json")

BUDGETS: dict[str, int] = json.loads(FILE.read_text())


def check(route: str, url: str, statements: Sequence[str]) -> None:
    if is_distributed():
        # The second forms of statements are several for one, and as many as a list has accounts or steps.
        return
    budget = BUDGETS.get(route)
    assert budget is not None, f"{FILE} says nothing of {route!r}: add how many statements it needs at most."
    assert len(statements) <= budget, (
        f"{url} makes {len(statements)} statements, and {FILE} allows {budget} for {route!r}:\n"
        + "\n".join(statements)
    )
