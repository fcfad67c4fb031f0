"""A place for kept files, and a network that publishes some."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.archive import archiver as keeping
from tests.ledger.ingest.following.network import Network

Settings = Callable[..., None]


@pytest.fixture
def kept(tmp_path: Path, settings_of: Settings) -> Path:
    """The place, for everything."""
    folder = tmp_path / "kept"
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
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that is away is asked again at once."""
    monkeypatch.setattr(keeping, "_SECONDS_BEFORE_RETRY", 0)
