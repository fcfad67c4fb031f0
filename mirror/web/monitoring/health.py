"""GET /health/liveness, /health/readiness and /health/lag, for whatever watches the node.

Alive: the process answers, without asking the database. Ready: as `mirror.node.health.checks` judges; it
answers within two seconds, whatever the database does. Shape: {"status":"ok"}, or {"status":"error"} with 503
and `reasons`, a list of sentences. Lag: the seconds from the last block to now, that block, and what is
loaded; 503 without any block. Reasons name hosts and files, so only clients of `metrics.allowed` get them.
"""

from collections.abc import Sequence
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from mirror.core.values import timestamp
from mirror.node.health import checks
from mirror.web.monitoring.metrics import is_allowed

_health_check = checks.HealthCheck()


@require_safe
def liveness(request: HttpRequest) -> HttpResponse:
    return _answer({"status": "ok"})


@require_safe
def readiness(request: HttpRequest) -> HttpResponse:
    now = _health_check.check()
    return _answer({"status": "ok"}) if now.ready else _error(request, now.reasons)


@require_safe
def lag(request: HttpRequest) -> HttpResponse:
    now = _health_check.check()
    if now.block is None:
        return _error(request, now.reasons or ("No block is loaded yet.",))
    return _answer(
        {
            "status": "ok",
            "seconds": round(now.lag_seconds or 0, 3),
            "block": {"number": now.block.number, "timestamp": timestamp.text(now.block.consensus_end)},
            "time": now.block.time,
            **_loaded(now),
        }
    )


def _loaded(now: checks.Health) -> dict[str, Any]:
    """Return what is loaded, if that is known: a gap is no reason not to be ready."""
    intervals = now.status.loaded.intervals if now.status else ()
    if not intervals:
        return {}
    return {"loaded": {"first_block": intervals[0].first_block, "gaps": len(intervals) - 1}}


def _error(request: HttpRequest, reasons: Sequence[str]) -> HttpResponse:
    details = {"reasons": reasons} if is_allowed(request) else {}
    return _answer({"status": "error", **details})


def _answer(content: dict[str, Any]) -> HttpResponse:
    return HttpResponse(
        orjson.dumps(content),
        status=200 if content["status"] == "ok" else 503,
        content_type="application/json; charset=utf-8",
        headers={"cache-control": "no-store"},
    )
