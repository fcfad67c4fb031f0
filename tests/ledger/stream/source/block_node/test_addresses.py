"""The addresses of registered block nodes: public ones, and those of a network that a setting names."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from ipaddress import ip_address
from typing import Any

import pytest

from ledger.stream.source.block_node.addresses import SETTING, is_public
from ledger.stream.source.block_node.answers import Available
from ledger.stream.source.block_node.assembly import BlockNodeFailure, Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.block.blocks import BlockStream
from tests.linux import linux_only
from tests.waiting import PATIENCE_SECONDS


def client(host: str, port: int, *, registered: bool = True) -> BlockNodeClient:
    endpoint = Endpoint(host, port)
    return BlockNodeClient(BlockNode(endpoint, endpoint, registered=registered), Limits())


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700::1111", "2002:808:808::1", "64:ff9b::808:808"])
def test_public_addresses(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.1.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "fec0::1", "ff0e::1"),
        # IPv6 forms of IPv4 addresses.
        *("::ffff:127.0.0.1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
    ],
)
def test_addresses_that_are_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A service of this machine, which no block node is."""
    with socket.create_server(("127.0.0.1", 0)) as service:
        service.settimeout(0)
        yield service


# Forms of one address; a name is looked up.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
def test_registered_node_leads_to_no_service_of_this_machine(
    host: str, listening: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(client(host, listening.getsockname()[1])) as using:
        for _ in range(2):
            failure = using.poll(PATIENCE_SECONDS).answer().failure
            assert failure.startswith("its address ")
            assert failure.endswith(
                " is not public, and SVC_MIRROR_IMPORTER_BLOCK_ALLOWEDNETWORKS does not name it"
            )
        with pytest.raises(BlockNodeFailure, match="can't be reached: its address .* is not public"):
            using.subscribe(7, seconds_per_block=PATIENCE_SECONDS)

    with pytest.raises(BlockingIOError):
        listening.accept()
    assert caplog.text.count("block_node_refused") == 1


def test_registered_node_in_a_network_of_the_setting_is_used(settings_of: Any) -> None:
    settings_of({SETTING: ("127.0.0.0/8", "::1")})
    stream = BlockStream(first_block=7)
    stream.happen("cryptoTransfer")
    with BlockNodeServer() as server, closing(client("localhost", server.port)) as using:
        server.publish(7, stream.block().content)

        assert using.poll(PATIENCE_SECONDS).answer().available == Available(7, 7)
        with closing(using.subscribe(7, 7, seconds_per_block=PATIENCE_SECONDS)) as subscription:
            block = subscription.next(PATIENCE_SECONDS)
    assert block and block.number == 7


def test_node_of_the_settings_may_be_anywhere() -> None:
    with BlockNodeServer() as server, closing(client("localhost", server.port, registered=False)) as using:
        assert using.poll(PATIENCE_SECONDS).answer().failure == ""


@linux_only
def test_checked_address_is_connected_to(
    listening: socket.socket, settings_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server answers with a harmless address when the name is checked, and with another one later."""
    settings_of({SETTING: ("127.0.0.2",)})
    port = listening.getsockname()[1]
    answers = iter(["127.0.0.2"])
    look_up = socket.getaddrinfo

    def rebinding(host: str, *more: Any, **named: Any) -> Any:
        return look_up(next(answers, "127.0.0.1"), *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with socket.create_server(("127.0.0.2", port)) as harmless:
        harmless.settimeout(PATIENCE_SECONDS)
        with closing(client("localhost", port)) as using:
            pending = using.poll(PATIENCE_SECONDS)
            harmless.accept()[0].close()
            pending.answer()
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_slow_name_server_does_not_hold_up_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        answers.wait(PATIENCE_SECONDS)
        raise OSError("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with closing(client("slow.example.com", 40840)) as using:
        pending = using.poll(0.05)
        assert not pending.is_done_within(0.01)
        assert pending.answer().failure == "its name was not looked up in time"
        answers.set()
