"""Signing in: guessing passwords is slow, logged, and hinders nobody else."""

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http.response import HttpResponseBase
from django.test import Client
from django.utils import timezone

from mirror.core.admin.access import login
from mirror.core.admin.access.login import _exclusive
from tests.logs import events
from tests.waiting import wait_until

ELSEWHERE = "192.0.2.7"


@pytest.fixture(autouse=True)
def _counts(db: None, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    caches = settings.CACHES
    settings.CACHES = caches | {"logins": caches["logins"] | {"LOCATION": tmp_path / "logins"}}
    # The usual one takes a good part of a second for each password.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    get_user_model().objects.create_superuser("ada", password="secret")


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before answers, which no test waits for."""
    noted: list[float] = []
    monkeypatch.setattr(login, "_pause", noted.append)
    return noted


def sign_in(password: str, name: str = "ada", address: str = "127.0.0.1") -> HttpResponseBase:
    form = {"username": name, "password": password, "next": "/admin/"}
    answer: HttpResponseBase = Client(REMOTE_ADDR=address).post("/admin/login/", form)
    return answer


def statuses(count: int, **given: str) -> list[int]:
    return [sign_in("wrong", **given).status_code for _ in range(count)]


def test_after_five_failures_even_the_right_password_is_refused_in_plain_words():
    assert statuses(5) == [200, 200, 200, 200, 429]

    refused = sign_in("secret")

    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "60"
    assert refused.headers["content-type"] == "text/plain; charset=utf-8"
    assert b"".join(refused) == b"Too many failed attempts. Try again in a minute."


def test_failures_from_elsewhere_do_not_keep_the_operator_out():
    statuses(6, address=ELSEWHERE)

    assert sign_in("secret", address=ELSEWHERE).status_code == 429
    assert sign_in("secret").status_code == 302


def test_the_addresses_of_a_network_are_one_client():
    answers = [sign_in("wrong", address=f"2001:db8:1:2::{number}").status_code for number in range(5)]

    assert answers[-1] == 429
    assert sign_in("secret", address="2001:db8:1:2:ffff::1").status_code == 429
    assert sign_in("secret", address="2001:db8:1:3::1").status_code == 302


def test_a_name_that_completes_an_address_does_not_keep_the_operator_out():
    statuses(5, name="ada1", address="0.0.0.1")

    assert sign_in("secret", address="10.0.0.1").status_code == 302


def test_a_browser_in_which_the_name_has_signed_in_is_not_refused_with_its_address():
    browser = Client()
    form = {"username": "ada", "password": "secret"}
    browser.post("/admin/login/", form)
    cookie = browser.cookies["ledger_mirror_browser"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/admin")
    statuses(5)

    assert sign_in("secret").status_code == 429
    assert browser.post("/admin/login/", form).status_code == 302


def test_a_known_browser_may_not_guess_more_often_nor_the_passwords_of_others():
    browser = Client()
    get_user_model().objects.create_superuser("bob", password="secret")
    browser.post("/admin/login/", {"username": "bob", "password": "secret"})

    def guess(name: str) -> list[int]:
        form = {"username": name, "password": "wrong"}
        return [browser.post("/admin/login/", form).status_code for _ in range(5)]

    assert guess("bob") == [200, 200, 200, 200, 429]
    assert guess("ada") == [200, 200, 200, 200, 429]
    assert sign_in("secret", name="ada").status_code == 429


def test_behind_a_trusted_proxy_failures_of_one_client_do_not_keep_others_out(settings_of):
    def status(password: str, client: str) -> int:
        form = {"username": "ada", "password": password, "next": "/admin/"}
        proxy = Client(REMOTE_ADDR="10.1.2.3", HTTP_X_FORWARDED_FOR=client)
        return proxy.post("/admin/login/", form).status_code

    settings_of({"web.trustedProxies": ("10.0.0.0/8",)})
    # What the client itself has sent comes first, and changes nothing.
    assert [status("wrong", f"198.51.100.{number}, {ELSEWHERE}") for number in range(5)][-1] == 429

    assert status("secret", ELSEWHERE) == 429
    assert status("secret", "198.51.100.9") == 302


def test_an_address_is_refused_after_ten_failures_with_different_names():
    answers = [sign_in("wrong", name=f"name{number}").status_code for number in range(11)]

    assert answers == [200] * 9 + [429] * 2
    assert sign_in("secret").status_code == 429


def test_signing_in_forgets_earlier_failures():
    statuses(4)
    assert sign_in("secret").status_code == 302

    assert statuses(4) == [200] * 4


def test_refused_attempts_do_not_make_the_wait_longer(settings: Any):
    settings.AXES_COOLOFF_TIME = timedelta(seconds=2)
    statuses(5)

    wait_until(lambda: sign_in("secret").status_code == 302)


def test_each_attempt_is_logged_with_name_and_address(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "mirror.admin")
    sign_in("secret", address=ELSEWHERE)
    statuses(6, name="a\nb")

    failure = {"event": "login_failed", "name": "a\nb", "client": "127.0.0.1"}
    assert events(caplog) == [
        {"event": "login_succeeded", "name": "ada", "client": ELSEWHERE},
        *[failure | {"refused_s": 0}] * 4,
        failure | {"refused_s": 60},
    ]


def test_a_name_that_no_account_can_have_fails_like_any_other():
    assert sign_in("wrong", name="x" * 10_000).status_code == 200
    assert sign_in("wrong", name="").status_code == 200


def test_while_a_password_is_hashed_clients_of_the_same_kind_are_refused_without_a_failure():
    browser, form = Client(), {"username": "ada", "password": "secret"}
    browser.post("/admin/login/", form)
    statuses(1, address=ELSEWHERE)

    with _exclusive("new") as alone:
        assert alone
        refused = sign_in("secret")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert statuses(6) == [429] * 6
    assert sign_in("secret").status_code == 302
    with _exclusive("failed"):
        assert sign_in("secret", address=ELSEWHERE).status_code == 429
        assert sign_in("secret").status_code == 302
    with _exclusive("new"), _exclusive("failed"):
        assert browser.post("/admin/login/", form).status_code == 302
    statuses(5)
    with _exclusive("failed"), _exclusive("new"), _exclusive("known"):
        # Refused clients, and forms of people who are signed in, wait for nobody.
        assert sign_in("secret").headers["retry-after"] == "60"
        assert browser.post("/admin/auth/user/add/", {}).status_code == 200
        assert browser.post("/admin/logout/").status_code == 200


def test_a_form_that_breaks_off_is_a_bad_request():
    class Broken:
        def read(self, *size: int) -> bytes:
            raise OSError

        readline = read

    given: dict[str, Any] = {"wsgi.input": Broken()}
    answer = Client().post("/admin/login/", {"username": "ada"}, **given)

    assert answer.status_code == 400


def test_the_answer_to_a_failure_has_to_wait_and_others_do_not(pauses: list[float]):
    sign_in("wrong")
    assert pauses == [login.PAUSE_SECONDS]
    sign_in("secret")
    Client().get("/admin/login/")
    assert len(pauses) == 1


def test_signing_in_clears_sessions_that_have_ended():
    now = timezone.now()
    for key, seconds in (("ended", -1), ("open", 3600)):
        expires = now + timedelta(seconds=seconds)
        Session.objects.create(session_key=key, session_data="", expire_date=expires)

    sign_in("secret")

    keys = set(Session.objects.values_list("session_key", flat=True))
    assert (len(keys), "open" in keys, "ended" in keys) == (2, True, False)


def test_a_session_has_a_key_of_its_own_and_ends_after_twelve_hours_or_with_the_password():
    planted = SessionStore()
    planted["next"] = "/"
    planted.create()
    browser = Client()
    browser.cookies["ledger_mirror_session"] = str(planted.session_key)
    browser.post("/admin/login/", {"username": "ada", "password": "secret"})
    cookie = browser.cookies["ledger_mirror_session"]

    assert cookie.value != planted.session_key
    assert (cookie["max-age"], cookie["httponly"], cookie["path"]) == (12 * 3600, True, "/admin")
    assert browser.get("/admin/auth/user/").status_code == 200
    ada = get_user_model().objects.get(username="ada")
    ada.set_password("another")
    ada.save()
    assert browser.get("/admin/auth/user/").status_code == 302
