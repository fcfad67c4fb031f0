from collections.abc import Callable
from typing import Any

import pytest

from tests.web3sim.engine.world import BLOCK, CONTRACT, ENGINES, SENDER, World
from web3sim.engine.interface import AccountRecord, CallRequest, CallResult, SystemContracts


@pytest.fixture
def world() -> World:
    """Somebody rich, and nothing else."""
    return World({SENDER: AccountRecord(balance=10**18)})


@pytest.fixture(params=list(ENGINES))
def run(request: pytest.FixtureRequest, world: World) -> Callable[..., CallResult]:
    """Sends a message on `world` with each engine: to CONTRACT with 1,000,000 gas, unless told otherwise."""

    def send(*, system: SystemContracts | None = None, **given) -> CallResult:
        asked: dict[str, Any] = {"sender": SENDER, "to": CONTRACT, "data": b"", "gas": 1_000_000} | given
        return ENGINES[request.param].execute(CallRequest(**asked), BLOCK, world, system)

    return send
