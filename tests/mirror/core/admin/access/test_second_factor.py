"""The second factor: who needs it, how it is added, used and removed."""

import re
import time
from base64 import b32decode
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from mirror.core.admin.access import second_factor
from mirror.core.config.setting import OperatorError

pytestmark = pytest.mark.django_db

PAGE = "/admin/second-factor/"


@pytest.fixture(autouse=True)
def _own_counts(settings: Any, tmp_path) -> None:
    caches = settings.CACHES
    settings.CACHES = caches | {"logins": caches["logins"] | {"LOCATION": tmp_path / "logins"}}


@pytest.fixture
def ada() -> User:
    return get_user_model().objects.create_superuser("ada", password="secret")


@pytest.fixture
def device(ada: User) -> TOTPDevice:
    return second_factor.new_device(ada, confirmed=True)


def code(device: TOTPDevice, ahead: int = 0) -> str:
    """Return the code of now, or of so many steps later: each counts once, and the next one already does."""
    totp = TOTP(device.bin_key)
    totp.time = time.time() + ahead * device.step
    return f"{totp.token():06}"


def sign_in(browser: Client, **given: str) -> int:
    return browser.post("/admin/login/", {"username": "ada", "password": "secret", **given}).status_code


def is_in(browser: Client) -> bool:
    return browser.get("/admin/auth/user/").status_code == 200


def test_an_account_with_a_second_factor_needs_its_code(device: TOTPDevice):
    browser = Client()

    page = browser.post("/admin/login/", {"username": "ada", "password": "secret"})
    assert "Enter the code that your authenticator shows." in page.content.decode()
    assert not is_in(browser)
    assert sign_in(browser, code=code(device)) == 302
    assert is_in(browser)


def test_an_account_without_one_signs_in_with_its_password(ada: User):
    browser = Client()

    assert (sign_in(browser), is_in(browser)) == (302, True)


def test_a_code_counts_once(device: TOTPDevice):
    used = code(device)

    assert sign_in(Client(), code=used) == 302
    assert sign_in(Client(), code=used) == 200


def test_a_code_of_another_account_is_wrong(device: TOTPDevice):
    bob = get_user_model().objects.create_superuser("bob", password="secret")
    other = second_factor.new_device(bob, confirmed=True)

    assert sign_in(Client(), code=code(other)) == 200


def test_after_a_wrong_code_even_the_right_one_is_refused_for_a_while(device: TOTPDevice):
    wrong = f"{(int(code(device)) + 500_000) % 1_000_000:06}"
    for _ in range(3):
        assert sign_in(Client(REMOTE_ADDR="192.0.2.7"), code=wrong) == 200
        TOTPDevice.objects.update(throttling_failure_timestamp="2024-01-01T00:00:00Z")
    assert sign_in(Client(), code=wrong) == 200

    assert sign_in(Client(), code=code(device)) == 200


def test_wrong_codes_count_as_failures_of_the_client(device: TOTPDevice, caplog: pytest.LogCaptureFixture):
    answers = [sign_in(Client(), code="x") for _ in range(5)]

    assert answers == [200, 200, 200, 200, 429]
    assert sum("login_failed" in str(record.msg) for record in caplog.records) == 5


def test_without_a_password_no_code_is_checked(device: TOTPDevice):
    sign_in(Client(), password="wrong", code="000000")

    device.refresh_from_db()
    assert device.throttling_failure_count == 0


def test_sessions_without_the_code_end_when_a_second_factor_is_added(ada: User):
    earlier, browser = Client(), Client()
    assert [sign_in(earlier), sign_in(browser)] == [302, 302]

    page = browser.get(PAGE).content.decode()
    shown = TOTPDevice.objects.get()
    key = re.search(r"<code>([A-Z2-7]+)</code>", page)
    assert key and b32decode(key[1]) == shown.bin_key
    assert "data:image/svg+xml" in page
    assert browser.post(PAGE, {"code": "000000x"}).status_code == 200
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    assert browser.post(PAGE, {"code": code(shown)}).status_code == 302

    assert (is_in(browser), is_in(earlier)) == (True, False)
    assert sign_in(Client()) == 200
    assert sign_in(Client(), code=code(shown, ahead=1)) == 302


def test_a_key_that_is_only_shown_does_not_count(ada: User):
    browser = Client()
    sign_in(browser)
    browser.get(PAGE)
    first = TOTPDevice.objects.get()
    browser.get(PAGE)

    assert TOTPDevice.objects.get().key != first.key
    assert (sign_in(Client()), is_in(browser)) == (302, True)


def test_a_stored_key_is_never_shown_again(device: TOTPDevice):
    browser = Client()
    sign_in(browser, code=code(device))
    page = browser.get(PAGE).content.decode()

    assert second_factor.key_text(device) not in page
    assert browser.get("/admin/otp_totp/totpdevice/").status_code == 404


def test_a_second_factor_is_removed_by_a_code_of_it(device: TOTPDevice):
    browser = Client()
    sign_in(browser, code=code(device))

    assert browser.post(PAGE, {"code": code(device, ahead=1)}).status_code == 302

    assert (TOTPDevice.objects.filter(confirmed=True).count(), sign_in(Client())) == (0, 302)


def test_where_it_is_required_nothing_else_is_shown_before_there_is_one(settings_of, ada: User):
    settings_of({"web.adminSecondFactor": "required"})
    browser = Client()
    assert sign_in(browser) == 302

    for path in ("/admin/", "/admin/auth/user/", "/admin/ledger/transaction/", "/admin/password_change/"):
        assert browser.get(path).headers["location"] == PAGE
    assert browser.post("/admin/auth/user/add/", {"username": "eve"}).headers["location"] == PAGE
    assert browser.get(PAGE).status_code == 200
    browser.post(PAGE, {"code": code(TOTPDevice.objects.get())})
    assert is_in(browser)
    assert browser.post("/admin/logout/").status_code == 200


def test_where_it_is_off_no_code_is_needed(settings_of, device: TOTPDevice):
    settings_of({"web.adminSecondFactor": "off"})
    browser = Client()

    assert "second factor" not in browser.get("/admin/login/").content.decode()
    assert (sign_in(browser), is_in(browser)) == (302, True)
    assert "SVC_MIRROR_WEB_ADMINSECONDFACTOR is off" in browser.get(PAGE).content.decode()


def test_the_command_makes_a_second_factor_and_removes_it(ada: User, capsys: pytest.CaptureFixture[str]):
    call_command("second-factor", user="ada")
    device = TOTPDevice.objects.get()
    assert capsys.readouterr().out == (
        f"The new second factor of ada is the key {second_factor.key_text(device)}, "
        f"by address {device.config_url}\n"
    )
    assert sign_in(Client(), code=code(device)) == 302

    call_command("second-factor", user="ada", remove=True)
    call_command("second-factor", user="ada", remove=True)
    assert capsys.readouterr().out == "ada has no second factor any more.\nada has no second factor.\n"
    assert sign_in(Client()) == 302


def test_the_command_names_an_unknown_account():
    with pytest.raises(OperatorError, match="no account eve"):
        call_command("second-factor", user="eve")
