"""The log: a line for each event, with its time, level, name and keys, as text or as JSON.

A module takes its logger from here and names what happened: `log.warning("database_away", reason=...)`.
`configuring` decides where lines go and how they look, in every process; docs/logs.md says what each event
means. A test compares that page with the code.
"""

from collections.abc import Callable
from contextvars import ContextVar

from mirror.core.imports import import_without

# It would load rich for tracebacks that are not used here: 3 MB in each process.
import_without("structlog", "rich")
import structlog  # noqa: E402
from structlog.stdlib import BoundLogger, LoggerFactory, ProcessorFormatter, filter_by_level  # noqa: E402

#: Prints a line for the operator.
Echo = Callable[[str], None]
#: The id of the request that this thread works on, which every line has that it writes.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)

structlog.configure(
    processors=[filter_by_level, ProcessorFormatter.wrap_for_formatter],
    wrapper_class=BoundLogger,
    logger_factory=LoggerFactory(),
    cache_logger_on_first_use=True,
)


def logger(name: str) -> BoundLogger:
    """Return the logger of a subject, by which an operator chooses its level."""
    log: BoundLogger = structlog.get_logger(name)
    return log
