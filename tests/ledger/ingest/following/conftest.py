from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ledger.ingest.following import follower
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.ingest.following.block_nodes import publish
from tests.ledger.ingest.following.network import Network
from tests.waiting import PATIENCE_SECONDS

Settings = Callable[..., None]


@pytest.fixture(autouse=True)
def _without_pauses(settings_of: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of({"importer.downloader.record.frequency": 0.02})
    monkeypatch.setattr(follower, "MAX_PAUSE", 0.1)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    (tmp_path / "bucket").mkdir()
    return Network(tmp_path / "bucket")


@pytest.fixture
def server(settings_of: Settings) -> Iterator[BlockNodeServer]:
    with BlockNodeServer() as running:
        publish(running)
        settings_of(
            {
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.autoDiscoveryEnabled": False,
                "importer.block.nodes": (f"127.0.0.1:{running.port}",),
                "importer.block.stream.responseTimeout": PATIENCE_SECONDS,
                "importer.downloader.timeout": PATIENCE_SECONDS,
            }
        )
        yield running
