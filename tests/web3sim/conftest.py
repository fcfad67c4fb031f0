from collections.abc import Iterator

import pytest

from web3sim.state import cache


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Tests store other rows under the same ids."""
    cache.forget()
    yield
    cache.forget()
