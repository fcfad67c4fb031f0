"""Where the lines of the log go, which of them, and how they look.

Django calls `configure` when it is set up, in every process of the node; processes that a fork makes have it
from their parent. Lines of libraries look like ours.
"""

import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import orjson
from structlog.processors import ExceptionRenderer
from structlog.stdlib import ProcessorFormatter
from structlog.typing import Processor

from mirror.core import config
from mirror.core.config.setting import InvalidSetting
from mirror.core.config.settings import SETTINGS
from mirror.core.logs import REQUEST_ID, logger, text
from mirror.core.logs.text import Event

log = logger("mirror")

LEVELS = ("debug", "info", "warning", "error", "critical")
# Django's words about answers: those that matter have a line of ours, the others are a client's mistakes.
_SILENCED = ("django.request", "django.security.DisallowedHost")
_STANDARD_ERROR = 2
_MASK = "***"
# A password in the address of a server, up to the last @: people forget to write %40 for one.
_PASSWORD = re.compile(r"(?<=://)([^\s:/@]*):([^\s/]+)(?=@)")
# One that stands in the query, or in the other form of an address: host=... password='...'
_PASSWORD_AS_PARAMETER = re.compile(r"password *= *('(?:\\.|[^'])*'|[^\s&']+)")
# Settings that may be the address of a server. The rest of it is no secret.
_ADDRESSES = frozenset({"db.url", "db.reader", "db.read", "rest.redis.uri"})
# A secret that is shorter may be a part of any word.
_MIN_SECRET = 4


def configure(_: object = None) -> None:
    """Begin to log as the settings say. Errors: InvalidSetting."""
    root = logging.getLogger()
    for each in [each for each in root.handlers if isinstance(each, Lines)]:
        root.removeHandler(each)
    root.addHandler(Lines(formatter(config.value("logging.format"), colours=sys.stderr.isatty())))
    root.setLevel(config.value("logging.level").upper())
    django = logging.getLogger("django")
    django.handlers.clear()
    django.setLevel(logging.NOTSET)
    for name in _SILENCED:
        logging.getLogger(name).disabled = True
    for name, level in levels(config.value("logging.levels")).items():
        logging.getLogger(name).setLevel(level.upper())
    # A test runner has its own.
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _thread_failed
    if config.value("logging.format") == "json":
        sys.excepthook = _process_failed


def levels(assignments: Iterable[str]) -> dict[str, str]:
    """Return logger -> level of assignments such as `mirror.web=debug`. Errors: InvalidSetting."""
    found = {}
    for assignment in assignments:
        name, _, level = (part.strip() for part in assignment.partition("="))
        if not name or level not in LEVELS:
            variable = config.lookup("logging.levels").variable
            raise InvalidSetting(
                f"{variable}: {assignment!r} is not a logger and its level, such as mirror.web=debug; levels "
                f"are {', '.join(LEVELS)}."
            )
        found[name] = level
    return found


class Lines(logging.Handler):
    """Writes each line to standard error at once, so that those of several processes don't mix."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        # The buffer of sys.stderr has a lock, which a fork may leave locked for ever. On a terminal, a
        # progress bar makes room for what is written by it.
        self._direct = not sys.stderr.isatty()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record) + "\n"
            if self._direct and sys.stderr is sys.__stderr__:
                os.write(_STANDARD_ERROR, line.encode(errors="backslashreplace"))
            else:
                sys.stderr.write(line)
        except Exception:
            # The pipe has no reader, or the disk is full: the node continues.
            return


def formatter(format: str, *, colours: bool = False) -> logging.Formatter:
    """Return what makes a line of a record; `format` is "text" or "json"."""
    render: Processor = _json if format == "json" else text.renderer(colours=colours)
    return ProcessorFormatter(processors=[ExceptionRenderer(), _Complete(_secrets()), render])


def _secrets() -> tuple[str, ...]:
    """Return the secrets of the settings; one that another is a part of comes first."""
    found: set[str] = set()
    for setting in SETTINGS:
        if setting.secret:
            text = str(config.value(setting.name) or "")
            found.update(_passwords(text) if setting.name in _ADDRESSES else (text,))
    return tuple(sorted((each for each in found if len(each) >= _MIN_SECRET), key=len, reverse=True))


def _passwords(address: str) -> Iterator[str]:
    """Yield the password of an address, as it is written and as it is meant.

    One that is also the name of the user or the database is left out: every line would lose that name.
    """
    names = {address.partition("?")[0].rpartition("/")[2]}
    written = {each.strip("'") for each in _PASSWORD_AS_PARAMETER.findall(address)}
    for user, password in _PASSWORD.findall(address):
        names.add(user)
        # PostgreSQL takes what follows a raw @ for the host, and names it in errors.
        written.update((password, password.partition("@")[2]))
    for each in written:
        yield from {each, unquote(each)} - names


class _Complete:
    """Adds what every line has, and takes out what no line may have."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def __call__(self, _: object, method: str, event: Event) -> Event:
        record: logging.LogRecord = event.pop("_record")
        del event["_from_structlog"]
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": "",
        }
        for key, value in event.items():
            line[key] = self._mask(value)
        if (request_id := REQUEST_ID.get()) is not None:
            line["request_id"] = request_id
        line["logger"] = record.name
        return line

    def _mask(self, value: Any) -> Any:
        """Return a value without secrets; what is neither a text nor has any stays as it is."""
        if isinstance(value, str):
            return self._mask_text(value)
        if isinstance(value, dict):
            return {name: self._mask(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._mask(each) for each in value]
        return self._mask_text(str(value)) if isinstance(value, BaseException) else value

    def _mask_text(self, value: str) -> str:
        for secret in self._secrets:
            value = value.replace(secret, _MASK)
        return _PASSWORD.sub(rf"\1:{_MASK}", value) if "://" in value else value


def _json(_: object, method: str, event: Event) -> str:
    try:
        return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # A text that is not Unicode, or a number of more than 64 bits.
        return json.dumps(event, default=str)


# UNCAUGHT EXCEPTIONS


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is None or issubclass(failed.exc_type, SystemExit):
        return
    thread = failed.thread.name if failed.thread else ""
    log.error("thread_failed", thread=thread, exc_info=failed.exc_value)


def _process_failed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("process_failed", exc_info=(kind, error, trace))
