"""Signing in to the admin, with limits on guessing passwords and on hashing them.

A hash takes a processor for a good part of a second, so the whole node computes one at a time. A name may
fail a few times a minute from an address, and an address somewhat more often with different names. The answer
to a failed or refused attempt comes after a pause that occupies no thread. Other addresses are not affected,
so the operator can't be locked out.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axes.handlers.cache import AxesCacheHandler
from axes.helpers import get_client_cache_keys
from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.filebased import FileBasedCache
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase

from mirror.core import logs
from mirror.core.config import reverse_proxies
from mirror.core.processes.file_lock import try_lock

log = logs.logger("mirror.admin")
# axes logs the same failures in more lines, without names.
logging.getLogger("axes").setLevel(logging.ERROR)

# An address may fail this many times as often with different names as with one.
_NAMES_PER_ADDRESS = 2
# No account has a longer name.
_MAX_CHARACTERS = 150
_PAUSE_SECONDS = 2.0
_WAIT_SECONDS = int(settings.AXES_COOLOFF_TIME.total_seconds())


class LoginFiles(FileBasedCache):
    """The files of the counts. Django makes their folder at every start, this cache with the first file."""

    def __init__(self, folder: Path, parameters: dict[str, Any]) -> None:
        BaseCache.__init__(self, parameters)
        self._dir = str(folder)


class LoginCounts(AxesCacheHandler):  # type: ignore[misc]
    """Counts failures by name and address, and by address alone; refused attempts are not counted."""

    def __init__(self) -> None: ...

    @property
    def cache(self) -> BaseCache:
        return caches[settings.AXES_CACHE]

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        by_name, by_address = (
            int(self.cache.get(key, 0)) for key in get_client_cache_keys(request, credentials)
        )
        return max(by_name, by_address // _NAMES_PER_ADDRESS)

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Any = None, **others: Any
    ) -> None:
        if request is None or request.axes_locked_out:
            return
        super().user_login_failed(sender, credentials, request, **others)
        request.axes_locked_out = self.is_locked(request, credentials)
        log.warning(
            "login_failed",
            name=login_name(request, credentials)[:160],
            client=client_address(request),
            refused_s=_WAIT_SECONDS if request.axes_locked_out else 0,
        )


def login_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    return str((credentials or {}).get("username") or "")[:_MAX_CHARACTERS]


def client_address(request: HttpRequest) -> str:
    """Return the client's address: a header could name any, unless a trusted proxy sends it."""
    return reverse_proxies.client(request.META)


class LoginMiddleware:
    """Handles one form of the admin at a time: all of them are about accounts and passwords."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method != "POST" or not request.path_info.startswith("/admin"):
            return self.get_response(request)
        try:
            # Read before the lock is held, so that a slow sender blocks no other form.
            _ = request.POST
        except UnreadablePostError:
            return _respond(400, "The form did not arrive.")
        with _exclusive() as exclusive:
            response = (
                self.get_response(request) if exclusive else _respond(429, "Try again in a moment.", retry=1)
            )
        if getattr(request, "axes_locked_out", False):
            response = _respond(429, "Too many failed attempts. Try again in a minute.", retry=_WAIT_SECONDS)
        if response.status_code != 302 and (not exclusive or request.path_info == settings.LOGIN_URL):
            # See mirror.web.requests.gateway.
            response.pause = _PAUSE_SECONDS  # type: ignore[attr-defined]
        return response


@contextmanager
def _exclusive() -> Iterator[bool]:
    """Yield whether no other thread of the node is inside this block."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(settings.DATA_DIR / "login.lock", os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor):
        yield try_lock(descriptor)


def _respond(status: int, text: str, *, retry: int = 0) -> HttpResponse:
    headers = {"Retry-After": str(retry)} if retry else {}
    headers["Cache-Control"] = "no-store"
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8", headers=headers)
