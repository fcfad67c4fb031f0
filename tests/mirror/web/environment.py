"""What granian passes with a request."""

from typing import Any


def environment(path: str, query: str = "", method: str = "GET") -> dict[str, Any]:
    return {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REMOTE_ADDR": "192.0.2.7",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
    }
