"""The ports of SDKs, in front of a web server of Python that answers each request with its path."""

import asyncio
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mirror.core.config.setting import InvalidSetting, OperatorError, Setting
from mirror.web import sdk_ports
from tests.waiting import PATIENCE_SECONDS, wait_until

LARGE = b"x" * 3_000_000


class Echo(BaseHTTPRequestHandler):
    """Answers with the path and the body; `/stream` with pieces until the client has gone away."""

    protocol_version = "HTTP/1.1"
    gone = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/stream":
            self._stream()
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = self.path.encode() + body
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def _stream(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(LARGE)
        except OSError:
            self.gone.set()
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def ports(settings_of: Callable[..., None]) -> Iterator[list[int]]:
    """Pass on to the server what comes to two ports; yield these."""
    Echo.gone.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        chosen = [free_port(), free_port()]
        settings_of(
            {"web.port": web.server_port, "web.sdkPorts": tuple(map(str, [*chosen, web.server_port]))}
        )
        loop = asyncio.new_event_loop()
        passing = loop.create_task(sdk_ports._serve())
        thread = threading.Thread(target=_run, args=(loop, passing))
        thread.start()
        wait_until(lambda: all(map(_listens, chosen)))
        yield chosen
        loop.call_soon_threadsafe(passing.cancel)
        thread.join()
        web.shutdown()


def _run(loop: asyncio.AbstractEventLoop, passing: "asyncio.Task[None]") -> None:
    loop.run_until_complete(asyncio.wait([passing]))
    loop.close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def client_of(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)


def ask(client: http.client.HTTPConnection, path: str, body: bytes | None = None) -> bytes:
    client.request("GET" if body is None else "POST", path, body)
    return client.getresponse().read()


def test_each_port_passes_requests_and_answers_on(ports: list[int]) -> None:
    for port in ports:
        client = client_of(port)
        # By one connection, as SDKs ask.
        assert ask(client, "/api/v1/blocks?limit=1") == b"/api/v1/blocks?limit=1"
        assert ask(client, "/api/v1/contracts/call", LARGE) == b"/api/v1/contracts/call" + LARGE
        client.close()


def test_a_client_that_goes_away_is_gone_for_the_web_server_too(ports: list[int]) -> None:
    with socket.create_connection(("127.0.0.1", ports[0])) as client:
        client.sendall(b"GET /stream HTTP/1.1\r\n\r\n")
        assert client.recv(1)
    assert Echo.gone.wait(PATIENCE_SECONDS)


def test_while_the_web_server_does_not_answer_connections_are_closed(
    ports: list[int], settings_of: Callable[..., None]
) -> None:
    settings_of({"web.port": free_port()})
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(client_of(ports[0]), "/")
    assert _listens(ports[0])


def test_a_taken_port_is_named_in_one_sentence(settings_of: Callable[..., None]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings_of({"web.sdkPorts": (str(free_port()), str(port))})
        with pytest.raises(OperatorError) as error:
            sdk_ports.check_ports()
        assert str(error.value) == (
            f"Port {port} of 127.0.0.1 is taken by another program: stop that one, or start without "
            "--sdk-ports, or leave that one out (SVC_MIRROR_WEB_SDKPORTS)."
        )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"profile": "production"}, "SVC_MIRROR_PROFILE=production"),
        ({"web.host": "0.0.0.0"}, "SVC_MIRROR_WEB_HOST=0.0.0.0"),
        ({"web.host": "::"}, "SVC_MIRROR_WEB_HOST=::"),
    ],
)
def test_a_node_for_others_is_refused_as_all_of_them_would_seem_to_be_this_machine(
    settings_of: Callable[..., None], changes: dict[str, str], reason: str
) -> None:
    settings_of({"web.sdkPorts": (str(free_port()),)} | changes)
    with pytest.raises(OperatorError) as error:
        sdk_ports.check_ports()
    assert str(error.value) == (
        f"--sdk-ports is for programs on this machine, and {reason} is for others: all of them would seem to "
        "be this machine, for /metrics, for limits and for failed sign-ins, so leave --sdk-ports out."
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_a_node_for_this_machine_alone_may_answer_there(settings_of: Callable[..., None], host: str) -> None:
    settings_of({"web.sdkPorts": (str(free_port()),), "web.host": host})
    sdk_ports.check_ports()


@pytest.mark.parametrize("text", ["0", "65536", "5551,http", "-1"])
def test_a_port_that_is_none_is_refused(text: str) -> None:
    setting = Setting("web.sdkPorts", ("5551",), "", unit="ports")
    assert setting.read("5551, 8545") == ("5551", "8545")
    with pytest.raises(InvalidSetting, match="is not a list of ports from 1 to 65535"):
        setting.read(text)
