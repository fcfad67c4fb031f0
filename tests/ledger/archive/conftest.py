"""An archive, and a network that publishes files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.archive import archiver as keeping
from tests.ledger.ingest.following.network import Network

Settings = Callable[..., None]


@pytest.fixture
def archive(tmp_path: Path, settings_of: Settings) -> Path:
    """An archive of all kinds of files."""
    folder = tmp_path / "archive"
    settings_of(
        {
            "importer.archive.location": str(folder),
            "importer.downloader.record.writeFiles": True,
            "importer.downloader.record.writeSignatures": True,
            "importer.block.writeFiles": True,
            "importer.downloader.record.frequency": 0.02,
        }
    )
    return folder


@pytest.fixture
def network(tmp_path: Path) -> Network:
    network = Network(tmp_path / "source")
    network.happen(3)
    return network


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unavailable archive is written again at once."""
    monkeypatch.setattr(keeping, "_SECONDS_BEFORE_RETRY", 0)
