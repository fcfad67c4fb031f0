from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.ingest.following import follower as following
from tests.ledger.ingest.following.network import Network

Settings = Callable[..., None]


@pytest.fixture(autouse=True)
def _without_pauses(settings_of: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of({"importer.downloader.record.frequency": 0.02})
    monkeypatch.setattr(following, "LONGEST_PAUSE", 0.1)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    (tmp_path / "bucket").mkdir()
    return Network(tmp_path / "bucket")
