"""The inventory that `manage.py status` prints below its sentence."""

from collections import defaultdict
from collections.abc import Callable

import pytest
from django.db import connection

from mirror.models import LoaderState
from mirror.node.health import inventory, status
from tests.build import START, Build, insert
from tests.mirror.node.health.test_status import PROBLEM, loader

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def now(settings_of: Callable[..., None]) -> None:
    settings_of({"clock.now": START / 10**9})
    LoaderState.objects.all().delete()


def said() -> dict[str, list[str]]:
    found = defaultdict(list)
    now = status.read()
    for heading, text in inventory.read(now).lines(now):
        found[heading].append(text)
    return found


def test_empty_node_has_no_address_book() -> None:
    lines = said()

    assert lines["Ready"] == ["no: The network's address book is not loaded yet."]
    assert lines["Address book"] == ["none yet"]
    assert lines["Network"] == ["demo"]
    assert lines["Database"][0].startswith("PostgreSQL ")
    assert " free at " in lines["Disk"][0]
    assert lines["Versions"][0].startswith("Ledger Mirror 1.")


def test_rows_are_estimated(build: Build) -> None:
    build.block(7)
    for _ in range(3):
        build.transaction()
    with connection.cursor() as cursor:
        cursor.execute("analyze transaction")

    assert said()["Rows"][0].startswith("about 3 transactions")


def test_nodes_that_signed_and_did_not_sign_are_listed_with_accounts(build: Build) -> None:
    insert(
        "address_book",
        start_consensus_timestamp=START - 86_400 * 10**9,
        file_id=102,
        node_count=2,
        file_data=b"",
    )
    for node in (0, 1):
        insert(
            "address_book_entry",
            consensus_timestamp=START - 86_400 * 10**9,
            node_id=node,
            node_account_id=node + 3,
        )
    loader("stuck", problem=PROBLEM)

    lines = said()

    assert lines["Signed by"] == ["node 1 (0.0.4): 1 of the 2 nodes needed"]
    assert lines["Not signed by"] == ["node 0 (0.0.3): no signature file"]
    assert lines["Address book"] == ["2 nodes, 1 day old; no stakes, so each node counts alike"]


def test_loader_that_was_killed_does_nothing_any_more(build: Build) -> None:
    build.block(7)
    loader("waiting", seconds_ago=600)

    (line,) = said()["Loader"]

    assert line.startswith(
        "ended without a word while it was waiting for the next file; process 77 on ada had worked for "
    )
