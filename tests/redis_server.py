"""A Redis server of the tests' own, and a proxy between it and its client that fails on demand."""

import shutil
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until


@contextmanager
def running(folder: Path) -> Iterator[Path]:
    """Yield the socket of a server without persistence; skip the test where neither program is installed."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("neither redis-server nor valkey-server is installed")
    path = folder / "redis.sock"
    server = subprocess.Popen(
        [
            *(program, "--port", "0", "--unixsocket", str(path)),
            *("--save", "", "--appendonly", "no", "--dir", str(folder)),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: path.exists() or server.poll() is not None)
        assert server.poll() is None, "Redis did not start."
        yield path
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


class Proxy:
    """A proxy that forwards to the server unless it has a `fault`.

    `silent` never answers, `cut` ends the connection in the middle of an answer, `garbage` answers in no
    protocol, `number`, `other` and `broken` answer with something else than was asked for.
    """

    def __init__(self, server: Path) -> None:
        self.server, self.fault, self.address = server, "", ""
        self.asked = 0

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Yield the address for clients."""
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    proxy._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False

        with Server(("127.0.0.1", 0), Handler) as listener:
            thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            yield f"redis://127.0.0.1:{listener.server_address[1]}/0"
            listener.shutdown()
            thread.join()

    def _serve(self, client: socket.socket) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self.server))
            while request := client.recv(1 << 20):
                self.asked += 1
                server.sendall(request)
                answer = server.recv(1 << 20)
                match self.fault:
                    case "":
                        client.sendall(answer)
                    case "silent":
                        pass
                    case "cut":
                        client.sendall(b"$1000\r\n\x00LM1")
                        return
                    case "garbage":
                        client.sendall(b"<html>\xff\x00</html>\r\n" * 100)
                    case "number":
                        client.sendall(b":1\r\n")
                    case "other":
                        client.sendall(b"$5\r\nhello\r\n")
                    case "broken":
                        client.sendall(b"$14\r\n\x00LM1\x00\x00\x00\x02[]body\r\n")
