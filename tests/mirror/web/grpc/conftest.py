"""A gRPC server on the tests' database, whose rows other threads see: they are committed."""

from collections.abc import Iterator

import pytest

from tests.grpc_client import Client
from tests.mirror.web.grpc.serving import Served, served


@pytest.fixture
def server(transactional_db: None) -> Iterator[Served]:
    with served() as server:
        yield server


@pytest.fixture
def client(server: Served) -> Iterator[Client]:
    client = Client(server.port)
    yield client
    client.channel.close()
