from collections.abc import Callable, Iterator

import pytest

from mirror.core.rest.limits import redis_buckets
from mirror.core.rest.limits.buckets import SharedBuckets
from tests import cluster
from web3sim.state import cache
from web3sim.state.cache import Caches, ExpiringCache


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests store other rows under the same ids. What a test has read does not expire before its end."""
    by_name = {"by_access": False, "clock": _stopped}
    monkeypatch.setattr(ExpiringCache.__init__, "__kwdefaults__", by_name)
    monkeypatch.setattr(Caches.__init__, "__defaults__", (_stopped,))
    cache.reset()
    yield
    cache.reset()


def _stopped() -> float:
    return 1.0


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> SharedBuckets:
    """Full buckets for which no time passes; all requests use them."""
    made = SharedBuckets(None, _stopped)
    monkeypatch.setattr(redis_buckets, "process_buckets", lambda: made)
    return made


@pytest.fixture(params=["single", "distributed"])
def each_form(request: pytest.FixtureRequest, settings_of: Callable[..., None]) -> None:
    """Run a test with the statements for one machine, and with those for several: both answer the same.

    Those for distributed tables are SQL that a single machine understands, too.
    """
    if cluster.URL and request.param == "single":
        pytest.skip("the tables are distributed")
    settings_of({"db.distributed": request.param == "distributed"})
