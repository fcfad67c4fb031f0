"""The judgement about the node, for every kind of node and of trouble."""

from collections.abc import Callable

import pytest

from mirror.models import LoaderState
from mirror.node.health import checks
from network.models import AddressBook
from tests.build import SECOND, START, Build
from tests.mirror.node.health.test_status import PROBLEM, loader, lock, now

__all__ = ["lock", "now"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def book(db: None) -> None:
    AddressBook.objects.create(start_consensus_timestamp=1, file_id=102, node_count=0, file_data=b"")


def _block(seconds_ago: int) -> None:
    Build().block(7, end=START - seconds_ago * SECOND)


def _reasons() -> tuple[str, ...]:
    judged = checks.check_database()
    assert judged.database
    assert judged.ready == (not judged.reasons)
    return judged.reasons


def test_node_without_an_address_book_is_not_ready():
    assert _reasons() == ("The network's address book is not loaded yet.",)


@pytest.mark.usefixtures("book")
def test_node_that_follows_nothing_is_ready_at_any_age():
    assert _reasons() == ()
    _block(86_400)
    assert _reasons() == ()
    loader("failed", following=False, problem=PROBLEM)
    assert _reasons() == ()
    assert checks.check_database().lag_seconds == 86_400


@pytest.mark.usefixtures("book")
def test_stopped_demo_network_is_not_followed(settings_of: Callable[..., None]):
    _block(86_400)
    loader("stopped")
    assert _reasons() == ()

    settings_of({"network": "testnet"})
    assert _reasons() == ("The last block is 1 day old, and health.maxLag allows 5 minutes.",)


@pytest.mark.usefixtures("book", "lock")
def test_demo_network_that_waits_for_the_clock_is_not_ready():
    _block(-86_400)
    loader("loading", source="the live demo network")

    (reason,) = _reasons()
    assert reason.startswith("The demo network waits for 1 day: its last block is that much later than now")


@pytest.mark.usefixtures("book", "lock")
def test_following_node_is_ready_up_to_the_greatest_lag(settings_of: Callable[..., None]):
    loader("loading")
    assert _reasons() == ("No block is loaded yet.",)
    _block(300)
    assert _reasons() == ()

    settings_of({"health.maxLag": 240.0})
    assert _reasons() == ("The last block is 5 minutes old, and health.maxLag allows 4 minutes.",)
    settings_of({"health.maxLag": 0.0})
    assert _reasons() == ()


@pytest.mark.usefixtures("book", "lock")
@pytest.mark.parametrize("activity", ["stuck", "failed"])
def test_stuck_node_is_not_ready_and_says_why(activity: str):
    loader(activity, problem=PROBLEM)
    _block(1)

    (reason,) = _reasons()

    assert f"{PROBLEM['cause']}. {PROBLEM['cure']}" in reason


@pytest.mark.usefixtures("book")
def test_node_whose_loader_was_killed_is_not_ready():
    _block(1)
    loader("loading", seconds_ago=60)

    (reason,) = _reasons()

    assert reason.startswith("Not loading: the loader (process 77 on ada) ended without a word")
    LoaderState.objects.update(activity="stopped")
    assert _reasons() == ()
