"""The state that a process remembers between calls, and clients that have seen newer blocks."""

from collections.abc import Iterator

import pytest

from mirror.core.db.replicas import block_requirement, shared_state
from mirror.core.db.replicas.reading import Reader
from mirror.core.db.replicas.servers import Server
from mirror.core.db.replicas.shared_state import Scoreboard
from web3sim.processes.worker import _Worker
from web3sim.state import cache
from web3sim.state.cache import Absent, caches


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    cache.reset()
    yield
    cache.reset()
    block_requirement.end()


def test_a_newer_block_of_another_process_clears_state_but_not_code(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Scoreboard(shared_state.create(0), 0)
    monkeypatch.setattr(block_requirement, "reader", Reader([Server(0, "primary", {}, True)], known))
    worker = _Worker(None)  # type: ignore[arg-type]
    kept = []
    for since, answered in ((3, 3), (3, 3), (2, 3), (3, 4), (4, 4)):
        known.record_answered(answered)
        worker._clear_older_state(since)
        kept.append(not isinstance(caches().entities.get("account"), Absent))
        caches().entities.put("account", since)
        caches().code.put(7, b"code")
    assert kept == [False, True, True, False, True]
    assert caches().code.get(7) == b"code"
