"""Backfills run on the simulated network, and leave nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror.operations.history import plan
from tests.composing import Composer
from tests.ledger.ingest.load import settings


@pytest.fixture(autouse=True)
def _of_the_simulated_network() -> Iterator[None]:
    # The database is there already, as one of DATABASE_URL is.
    with settings(network="simulated", db__url="postgresql:///of_the_tests"):
        yield
        plan.discard()


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocks without signatures."""
    folder = tmp_path_factory.mktemp("composed")
    composer = Composer()
    for _ in range(6):
        composer.crypto_create(1001 + composer.block_number, initial_balance=1000)
        composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
        composer.block().write(folder)
    return folder
