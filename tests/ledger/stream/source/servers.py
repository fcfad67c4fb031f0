"""Servers of a folder for tests: one that speaks as much of S3 as listing and reading need, one with plain
index pages; both can be made to fail.
"""

import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from tests.waiting import PATIENCE_SECONDS

BUCKET = "streams"
PAGE = 1000


class Fault(StrEnum):
    """The faults of a request."""

    REFUSED = "refused"
    CUT_OFF = "cut off"
    SLOW = "slow"  # slower than any client waits
    WRONG_BYTES = "wrong bytes"
    MISSING = "missing"
    OUT_OF_ORDER = "out of order"
    BUSY = "busy"


class S3Server:
    """Serves `folder` as the bucket BUCKET. `fault` is asked for each request what goes wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fault: Callable[[], Fault | None] = lambda: None
        self.faults: Counter[Fault] = Counter()
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.page = PAGE
        self._server = _Server(("127.0.0.1", 0), partial(_S3Handler, self))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._random = random.Random(5)

    def __enter__(self) -> "S3Server":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def listing(self, query: dict[str, str], fault: Fault | None) -> bytes:
        prefix, after = query.get("prefix", ""), query.get("start-after", "")
        after = max(after, query.get("continuation-token", ""))
        folder = self.folder / prefix
        paths = folder.rglob("*") if folder.is_dir() else ()
        keys = sorted(str(path.relative_to(self.folder)) for path in paths if path.is_file())
        keys = [key for key in keys if key > after]
        folders = set[str]()
        if query.get("delimiter"):
            below = [key for key in keys if "/" in key[len(prefix) :]]
            folders = {prefix + key[len(prefix) :].partition("/")[0] for key in below}
            keys = [key for key in keys if key not in below]
        page, more = keys[: self.page], len(keys) > self.page
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        if fault is Fault.OUT_OF_ORDER:
            self._random.shuffle(page)
        if fault is Fault.MISSING:
            page = [key for key in page if self._random.random() < 0.5]
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2025-01-01T00:00:00.000Z</LastModified>"
            f"<Size>{(self.folder / key).stat().st_size}</Size></Contents>"
            for key in page
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>'
            f"<Name>{BUCKET}</Name><IsTruncated>{str(more).lower()}</IsTruncated>{token}{contents}"
            + "".join(
                f"<CommonPrefixes><Prefix>{each}/</Prefix></CommonPrefixes>" for each in sorted(folders)
            )
            + "</ListBucketResult>"
        ).encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up when they have waited long enough."""


class _S3Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, s3: S3Server, *args: Any) -> None:
        self.s3 = s3
        super().__init__(*args)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.s3.requests.append((self.path, dict(self.headers)))
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        assert bucket == BUCKET
        fault = self.s3.fault()
        if fault is Fault.OUT_OF_ORDER and key:
            fault = None
        if fault:
            self.s3.faults[fault] += 1
        if fault is Fault.REFUSED:
            self._hang_up()
            return
        if fault is Fault.BUSY:
            self._answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault is Fault.SLOW:
            self._wait_for_hang_up()
            return
        if not key:
            self._answer(200, self.s3.listing(query, fault), fault)
            return
        path = self.s3.folder / key
        if fault is Fault.MISSING or not path.is_file():
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        self._answer(200, path.read_bytes(), fault)

    def do_PUT(self) -> None:
        path = self._asked_to_change()
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self._answer(200, b"")

    def do_DELETE(self) -> None:
        if path := self._asked_to_change():
            path.unlink(missing_ok=True)
            self._answer(204, b"")

    def do_POST(self) -> None:
        """Delete several files."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        keys = [unescape(key) for key in re.findall("<Key>(.*?)</Key>", body)]
        if self._asked_to_change() is None:
            return
        for key in keys:
            (self.s3.folder / key).unlink(missing_ok=True)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def _asked_to_change(self) -> Path | None:
        """Return the file of a request that changes something; None if it fails, as it has been told then."""
        fault = self.s3.fault()
        if fault:
            self.s3.faults[fault] += 1
            self._answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return None
        return self.s3.folder / unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]

    def _wait_for_hang_up(self) -> None:
        with suppress(OSError):
            self.connection.settimeout(PATIENCE_SECONDS)
            self.connection.recv(1)
        self.close_connection = True

    def _answer(self, status: int, body: bytes, fault: Fault | None = None) -> None:
        if fault is Fault.WRONG_BYTES and body:
            spoiled = bytearray(body)
            spoiled[len(body) // 2] ^= 0x41
            body = bytes(spoiled)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
        self.send_header("ETag", '"0"')
        self.end_headers()
        if fault is Fault.CUT_OFF:
            self.wfile.write(body[: len(body) // 2])
            self._hang_up()
            return
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """A plain web server of `folder` with index pages; its address."""
    server = _Server(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
