"""What granian passes with a request, and its object that takes the answer."""

import threading
from typing import Any

from tests.waiting import PATIENCE_SECONDS


class Protocol:
    """Granian's object that takes an answer."""

    def __init__(self) -> None:
        self._answered = threading.Event()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._answer = status, dict(headers), body
        self._answered.set()

    @property
    def has_answer(self) -> bool:
        return self._answered.is_set()

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Wait for the answer; return its status, headers and body."""
        assert self._answered.wait(PATIENCE_SECONDS)
        return self._answer


def environment(path: str, query: str = "", method: str = "GET") -> dict[str, Any]:
    return {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REMOTE_ADDR": "192.0.2.7",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
    }
