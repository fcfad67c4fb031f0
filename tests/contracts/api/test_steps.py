"""Storage of which few slots belong to a page: it is read some steps at a time, and a late page continues."""

import pytest

from contracts.queries import contract_state, hooks
from mirror.core.db.reading import budget
from tests.build import START
from tests.contracts.api import test_hook_storage as storage
from tests.contracts.api.rows import AT, CONTRACT, seconds, state_change
from tests.contracts.api.test_contract_state import stripped
from tests.waiting import PATIENCE_SECONDS

BUDGET = 1e-9
SLOTS = range(1, 21)
SHOWN = [2, 3, 11, 12, 13, 19]
STATE = f"/api/v1/contracts/{CONTRACT}/state?timestamp={seconds(AT)}"
STORAGE = "/api/v1/accounts/1001/hooks/7/storage?"
STORAGE_THEN = f"{STORAGE}timestamp={seconds(START + 9)}"


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(contract_state, "STEPS", 4)
    monkeypatch.setattr(hooks, "STEPS", 4)
    monkeypatch.setattr(budget, "_SHARE", PATIENCE_SECONDS / BUDGET)


@pytest.fixture
def _rows(build):
    for number in SLOTS:
        state_change(stripped(number), at=AT if number in SHOWN else AT + 1, value_written=b"\1")
        storage.slot(number, deleted=number not in SHOWN)
        storage.change(number, b"\1", at=9 if number in SHOWN else 10)


def pages(api, url, name):
    while url:
        answer = api.get(url)
        assert answer.status == 200, answer
        yield [int(row["slot" if name == "state" else "key"], 16) for row in answer.json()[name]]
        url = answer.json()["links"]["next"]


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [2, 25])
@pytest.mark.parametrize(
    ("url", "name"),
    [(STATE, "state"), (STORAGE, "storage"), (STORAGE_THEN, "storage")],
    ids=["state", "storage", "storage at a time"],
)
class TestSteps:
    def test_a_page_is_full_however_many_slots_it_passes_over(
        self, api, monkeypatch, url, name, limit, order
    ):
        # Five statements of four steps are more than a request may usually make.
        monkeypatch.setattr("tests.contract.budgets.check", lambda *_: None)
        found = list(pages(api, f"{url}&limit={limit}&order={order}", name))
        shown = SHOWN if order == "asc" else SHOWN[::-1]
        assert [page for page in found if page] == [
            shown[start : start + limit] for start in range(0, len(shown), limit)
        ]

    def test_a_late_page_is_short_and_continues(self, api, settings_of, url, name, limit, order):
        settings_of({"rest.query.timeBudget": BUDGET})
        found = list(pages(api, f"{url}&limit={limit}&order={order}", name))
        assert [slot for page in found for slot in page] == (SHOWN if order == "asc" else SHOWN[::-1])
        # One statement for each page, and some pages have nothing to show.
        assert [] in found[:-1]
        assert len(found) >= len(SLOTS) // 4
