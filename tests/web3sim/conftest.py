from collections.abc import Iterator

import pytest

from web3sim import buckets
from web3sim.buckets import SharedBuckets
from web3sim.state import cache


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Tests store other rows under the same ids."""
    cache.forget()
    yield
    cache.forget()


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> SharedBuckets:
    """Full buckets for which no time passes; all requests use them."""
    made = SharedBuckets(None, lambda: 1.0)
    monkeypatch.setattr(buckets, "of_process", lambda: made)
    return made
