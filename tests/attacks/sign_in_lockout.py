"""From eight addresses, forms of the sign-in page are sent, so that the operator can't sign in.

Each address has sixteen connections, in the suite four. They send wrong passwords, under the operator's name
and under others, forms without the token that belongs to them, and unfinished ones. The operator has the
right password, has never signed in here, and tries again after each refusal.
"""

import http.client
import http.cookiejar
import itertools
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing, suppress

from tests.attacks.attack import Outcome, Target

_PATH, _NAME = "/admin/login/", "admin"
_ADDRESSES = [f"127.0.0.{number}" for number in range(66, 74)]
_CONNECTIONS, _IN_SUITE, _LONG_SECONDS = 16, 4, 10
_RETRY_SECONDS = 1.0
# Each attacker's first password may be checked before the operator's. Other refusals than those of the limits
# are not counted, as any machine may be slow, but end sometime.
_MOST_REFUSALS, _MOST_ATTEMPTS = 40, 60
_FORM_HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


def attack(target: Target) -> Outcome:
    password = (target.node.folder / "admin-password").read_text().strip()
    port, stopping = target.node.port, threading.Event()
    connections = _CONNECTIONS if target.seconds >= _LONG_SECONDS else _IN_SUITE
    attackers = [
        threading.Thread(target=_guess, args=(port, address, stopping))
        for address in _ADDRESSES
        for _ in range(connections)
    ]
    for attacker in attackers:
        attacker.start()
    try:
        time.sleep(target.seconds / 2)
        began, refusals, is_in = time.monotonic(), 0, False
        for _ in range(_MOST_ATTEMPTS):
            status = _sign_in(port, password)
            is_in, refusals = status == 200, refusals + (status == 429)
            if is_in or refusals == _MOST_REFUSALS:
                break
            time.sleep(_RETRY_SECONDS)
        seconds = time.monotonic() - began
    finally:
        stopping.set()
        for attacker in attackers:
            attacker.join()
    effect = f"signed in after {seconds:.1f} s" if is_in else f"not signed in for {seconds:.0f} s"
    return Outcome(not is_in, f"the operator has {effect}, refused {refusals} times")


def _guess(port: int, address: str, stopping: threading.Event) -> None:
    cookie = ""
    for count in itertools.count():
        number = count % 4
        if stopping.is_set():
            return
        # A refused or broken connection is tried again.
        with suppress(OSError, http.client.HTTPException), closing(_connect(port, address)) as client:
            if not cookie:
                client.request("GET", _PATH)
                page = client.getresponse()
                page.read()
                # A busy node gives none.
                cookie = page.headers.get("Set-Cookie", "").partition(";")[0]
            form = {"username": _NAME if number else f"{_NAME}{count}", "password": "wrong"}
            if number != 2:
                form["csrfmiddlewaretoken"] = cookie.partition("=")[2]
            headers = _FORM_HEADERS | {"Cookie": cookie}
            if number == 3:
                headers |= {"Content-Length": "1000"}
            client.request("POST", _PATH, urllib.parse.urlencode(form), headers)
            if number != 3:
                client.getresponse().read()


def _connect(port: int, address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(address, 0))


def _sign_in(port: int, password: str) -> int:
    """Return the status that the operator gets, with a new browser; 200 if it shows the admin, else not."""
    cookies = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    url = f"http://127.0.0.1:{port}{_PATH}"
    try:
        with browser.open(url, timeout=30) as page:
            page.read()
        token = next(str(cookie.value) for cookie in cookies if "csrf" in cookie.name)
        form = {"username": _NAME, "password": password, "csrfmiddlewaretoken": token, "next": "/admin/"}
        with browser.open(url, urllib.parse.urlencode(form).encode(), timeout=30) as page:
            return 200 if page.url.endswith("/admin/") else 0
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, http.client.HTTPException):
        return 0
