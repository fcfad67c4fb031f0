"""Signing in to the admin, with limits on guessing passwords and on hashing them.

A name may fail a few times a minute from a client, and a client somewhat more often with different names. An
IPv4 address is a client, and the /64 of an IPv6 address; so is a browser in which that name has signed in
before, wherever it is. The answer to a failed or refused attempt comes after a pause, of a few threads at a
time.

A hash takes a processor for a good part of a second, so the node computes one at a time for each of three
kinds of clients: browsers that are known, clients that have not failed lately, and others. However often
others fail, they don't take the places of the first two, so the operator can't be locked out.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axes.handlers.cache import AxesCacheHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_client_cache_keys
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core import signing
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.filebased import FileBasedCache
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase

from mirror.core import logs
from mirror.core.config import reverse_proxies
from mirror.core.processes.files import try_lock

log = logs.logger("mirror.admin")
# axes logs the same failures in more lines, without names.
logging.getLogger("axes").setLevel(logging.ERROR)

# A client may fail this many times as often with different names as with one.
_NAMES_PER_CLIENT = 2
# No account has a longer name.
_MAX_CHARACTERS = 150
PAUSE_SECONDS = 2.0
# As many threads of a process wait at a time.
_pauses = threading.BoundedSemaphore(8)
_pause = time.sleep
_WAIT_SECONDS = int(settings.AXES_COOLOFF_TIME.total_seconds())
# Of a browser in which somebody has signed in: the name, signed.
_BROWSER_COOKIE, _BROWSER_SECONDS = "ledger_mirror_browser", 90 * 86_400


# COUNTS


class LoginFiles(FileBasedCache):
    """The files of the counts. Django makes their folder at every start, this cache with the first file."""

    def __init__(self, folder: Path, parameters: dict[str, Any]) -> None:
        BaseCache.__init__(self, parameters)
        self._dir = str(folder)


class LoginCounts(AxesCacheHandler):  # type: ignore[misc]
    """Counts failures by name and client, and by client alone; refused attempts are not counted."""

    def __init__(self) -> None: ...

    @property
    def cache(self) -> BaseCache:
        return caches[settings.AXES_CACHE]

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        by_name, by_client = (
            int(self.cache.get(key, 0)) for key in get_client_cache_keys(request, credentials)
        )
        return max(by_name, by_client // _NAMES_PER_CLIENT)

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
            client=_address(request),
            refused_s=_WAIT_SECONDS if request.axes_locked_out else 0,
        )

    def user_logged_in(self, sender: Any, request: Any, user: Any, **others: Any) -> None:
        super().user_logged_in(sender, request, user, **others)
        # Only signing in makes sessions, so there are never many.
        request.session.clear_expired()
        log.info("login_succeeded", name=user.get_username(), client=_address(request))


def login_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    return str((credentials or {}).get("username") or "")[:_MAX_CHARACTERS]


def counted_client(request: HttpRequest) -> str:
    """Return what failures are counted by: a known browser, or the network of the client's address.

    django-axes joins it to a name, so it begins with what is not in it: the name `1` from 0.0.0.1 is not the
    client 10.0.0.1.
    """
    return f"|{_known_browser(request) or reverse_proxies.network(_address(request))}"


def _address(request: HttpRequest) -> str:
    """Return the client's address: a header could name any, unless a trusted proxy sends it."""
    return reverse_proxies.client(request.META)


def _known_browser(request: HttpRequest) -> str:
    """Return the cookie of a browser in which the name of the form has signed in; empty for others.

    It is for one name, so that people who may sign in can't guess the passwords of others by it.
    """
    cookie = request.COOKIES.get(_BROWSER_COOKIE, "")
    try:
        name = signing.loads(cookie, salt=_BROWSER_COOKIE, max_age=_BROWSER_SECONDS)
    except signing.BadSignature:
        return ""
    return cookie if name == request.POST.get("username") else ""


# PASSWORDS


class PlaceIsTaken(Exception):
    """The password of another client of the same kind is being checked."""


class PasswordBackend(ModelBackend):
    """Checks a password. Errors: PlaceIsTaken."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **others: Any,
    ) -> Any:
        if request is None:
            return super().authenticate(request, username, password, **others)
        with _exclusive(_kind(request, {"username": username})) as is_free:
            if not is_free:
                raise PlaceIsTaken
            return super().authenticate(request, username, password, **others)


def _kind(request: HttpRequest, credentials: dict[str, Any]) -> str:
    if _known_browser(request):
        return "known"
    return "failed" if AxesProxyHandler.get_failures(request, credentials) else "new"


@contextmanager
def _exclusive(kind: str) -> Iterator[bool]:
    """Yield whether no other thread of the node is inside this block for the same kind of clients."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(settings.DATA_DIR / f"login-{kind}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor):
        yield try_lock(descriptor)


# ANSWERS


class LoginMiddleware:
    """Answers refused attempts to sign in, and has a browser in which somebody signs in be known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method != "POST" or not request.path_info.startswith("/admin"):
            return self.get_response(request)
        try:
            _ = request.POST
        except UnreadablePostError:
            return _respond(400, "The form did not arrive.")
        if request.path_info != settings.LOGIN_URL:
            return self.get_response(request)
        # A refused client costs no page.
        if not AxesProxyHandler.is_allowed(request, {"username": request.POST.get("username")}):
            return _paused(_refuse_client())
        response = self.get_response(request)
        if response.status_code == 302:
            _mark_browser(response, request.user.get_username())
            return response
        if getattr(request, "axes_locked_out", False):
            response = _refuse_client()
        return _paused(response)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, PlaceIsTaken):
            return _respond(429, "Try again in a moment.", retry=1)
        return None


def _paused(response: HttpResponseBase) -> HttpResponseBase:
    if _pauses.acquire(blocking=False):
        _pause(PAUSE_SECONDS)
        _pauses.release()
    return response


def _refuse_client() -> HttpResponse:
    return _respond(429, "Too many failed attempts. Try again in a minute.", retry=_WAIT_SECONDS)


def _mark_browser(response: HttpResponseBase, name: str) -> None:
    response.set_cookie(
        _BROWSER_COOKIE,
        signing.dumps(name, salt=_BROWSER_COOKIE),
        max_age=_BROWSER_SECONDS,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _respond(status: int, text: str, *, retry: int = 0) -> HttpResponse:
    headers = {"Retry-After": str(retry)} if retry else {}
    headers["Cache-Control"] = "no-store"
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8", headers=headers)
