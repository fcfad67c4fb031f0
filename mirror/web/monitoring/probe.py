"""Asking the web server of this node whether it is ready, as whatever watches the node does."""

import http.client
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mirror.web import server

_SECONDS = 2.0


@dataclass(frozen=True)
class ProbeResult:
    """The answer at /health/readiness: none if no server listens there or answers in time."""

    url: str
    answers: bool
    ready: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        if not self.answers:
            return f"none answers at {self.url}: `manage.py up` or `manage.py serve` starts one"
        return f"answers at {self.url}" if self.ready else f"answers at {self.url}, but is not ready"

    @property
    def json(self) -> dict[str, Any]:
        return {"url": self.url, "answers": self.answers, "ready": self.ready, "reasons": list(self.reasons)}


def probe() -> ProbeResult:
    url = server.url()
    client = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_SECONDS)
    try:
        client.request("GET", "/health/readiness")
        response = client.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException):
        return ProbeResult(url, answers=False)
    finally:
        client.close()
    return ProbeResult(url, answers=True, ready=response.status == 200, reasons=_reasons(body))


def _reasons(body: bytes) -> tuple[str, ...]:
    with suppress(ValueError, TypeError, AttributeError):
        return tuple(str(reason) for reason in json.loads(body).get("reasons", ()))
    return ()
