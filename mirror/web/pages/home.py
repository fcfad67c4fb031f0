"""GET /: what this node is and holds, for people.

It is public, so it shows only the public part of the status.
Source: the status of the node, the first and the last block, PostgreSQL's estimates of rows. The page asks
for itself again every two seconds, so that its script says nothing that is not said here. All clients of a
process get the same page for a second, so that the database does not notice how many look at it.
"""

from datetime import UTC, datetime
from threading import Lock
from typing import Any

from cachetools import TTLCache, cached
from django.db import Error as DatabaseError
from django.db import ProgrammingError, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from mirror.core import config, logs
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.node.health import facts, inventory, status
from mirror.web.pages import answer

log = logs.logger("mirror.web")

_CACHED_SECONDS = 1.0
# Index: the primary key (consensus_end).
_FIRST_BLOCK = "select index, consensus_end, name from record_file order by consensus_end limit 1"

# Later than the first block if old months were dropped. Index: the primary keys (consensus_timestamp).
_FIRST_TRANSACTION = "select min(consensus_timestamp) from transaction"

_AWAY = "The database is away. This page shows its data as soon as it answers again."
_NO_TABLES = (
    "The database has no tables yet, or old ones: `manage.py up` makes them, and so does `manage.py migrate`."
)
_FAILED = "The database could not say what it holds: the node's log says why."


_cache: TTLCache[str, tuple[int, str]] = TTLCache(1, _CACHED_SECONDS)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    status, text = _page()
    return answer.page(text, status=status)


@cached(_cache, lock=Lock())
def _page() -> tuple[int, str]:
    """Return the status of the answer, and its text."""
    status, context = _read()
    return status, answer.html("home.html", context | {"network": config.value("network")})


def _read() -> tuple[int, dict[str, Any]]:
    """Return the status of the answer, and what the page shows."""
    try:
        with transaction.atomic():
            milliseconds = round(config.value("rest.db.statementTimeout") * 1000)
            statements.row("select set_config('statement_timeout', %s, true)", [str(milliseconds)])
            now = status.read()
            first = _first_block()
            context = {
                "well": now.is_well,
                "sentence": now.public_sentence,
                "first": first,
                "kept_from": _first_time(first) if first else "",
                "last": now.block,
                "age": duration(now.lag_seconds or 0),
                "rows": [(name, f"{count:,}") for name, count in inventory.counts().items()],
            }
    except ProgrammingError:
        return 503, {"well": False, "sentence": status.code_html(_NO_TABLES)}
    except DatabaseError as error:
        if outage.is_outage(error):
            outage.report(error, request=True)
            return 503, {"well": False, "sentence": status.code_html(_AWAY)}
        log.error("unexpected_error", path="/", exc_info=True)
        return 503, {"well": False, "sentence": status.code_html(_FAILED)}
    return 200, context


def _first_time(first: facts.Block) -> str:
    """Return the time of the first transaction, if the first block is older."""
    began = statements.value(_FIRST_TRANSACTION)
    if began is None or began <= first.consensus_end:
        return ""
    return f"{datetime.fromtimestamp(began // NANOS_PER_SECOND, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _first_block() -> facts.Block | None:
    row = statements.row(_FIRST_BLOCK)
    return facts.Block(*row) if row else None
