"""Who may see the admin, that it changes nothing, and that the API knows nothing of it."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger.models import CryptoTransfer, Entity, Transaction
from mirror.core.admin.addresses import key_text
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.site import MirrorAdminSite
from tests.build import Build
from tests.mirror.core.admin.rows import MODELS, model_name, row

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", [Entity, Transaction, CryptoTransfer], ids=model_name)
def test_nothing_can_be_added_changed_or_deleted(model, pages: Client):
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    key = key_text(row(model))

    answers = {path: pages.post(f"{base}{path}").status_code for path in ("", f"{key}/")}
    gone = {
        path: pages.post(f"{base}{path}").status_code
        for path in ("add/", f"{key}/change/", f"{key}/delete/", f"{key}/history/")
    }

    assert set(answers.values()) == {405}
    assert set(gone.values()) <= {404, 405}
    assert model._base_manager.all()[:2].count() == 1


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_refused(method: str, pages: Client):
    assert getattr(pages, method)("/admin/ledger/transaction/").status_code == 405


@pytest.mark.parametrize("path", ["/admin/", "/admin/ledger/transaction/", "/admin/ledger/entity/0.0.2/"])
def test_strangers_are_asked_to_sign_in(path: str):
    answer = Client().get(path)

    assert (answer.status_code, answer.headers["location"]) == (302, f"/admin/login/?next={path}")


def test_an_account_that_is_not_staff_is_asked_to_sign_in():
    client = Client()
    client.force_login(get_user_model().objects.create_user("eve"))

    assert client.get("/admin/ledger/transaction/").status_code == 302


def test_staff_without_any_permission_may_read_the_tables_but_not_the_users():
    client = Client()
    client.force_login(get_user_model().objects.create_user("bob", is_staff=True))

    assert client.get("/admin/ledger/transaction/").status_code == 200
    refused = client.get("/admin/auth/user/")
    assert refused.status_code == 403
    assert "Your account may not" in refused.content.decode()


@pytest.mark.parametrize("path", ["", "add/"])
def test_an_administrator_keeps_the_accounts(path: str, pages: Client):
    assert pages.get(f"/admin/auth/user/{path}").status_code == 200


def test_signing_in_needs_the_token_of_the_form():
    get_user_model().objects.create_superuser("ada", password="secret")
    client = Client(enforce_csrf_checks=True)
    login = {"username": "ada", "password": "secret", "next": "/admin/"}
    assert client.post("/admin/login/", login).status_code == 403

    client.get("/admin/login/")
    token = client.cookies["ledger_mirror_csrf"].value
    answer = client.post("/admin/login/", login | {"csrfmiddlewaretoken": token})

    assert (answer.status_code, answer.headers["location"]) == (302, "/admin/")
    for name in ("ledger_mirror_session", "ledger_mirror_csrf"):
        cookie = client.cookies[name]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/admin")


def test_whoever_opens_the_form_by_its_address_gets_to_the_overview():
    get_user_model().objects.create_superuser("ada", password="secret")
    answer = Client().post("/admin/login/", {"username": "ada", "password": "secret"})

    assert (answer.status_code, answer.headers["location"]) == (302, "/admin/")


def test_people_change_their_own_password():
    ada = get_user_model().objects.create_user("ada", password="secret", is_staff=True)
    client = Client()
    client.force_login(ada)
    assert client.get("/admin/password_change/").status_code == 200

    new = "a-longer-secret"
    form = {"old_password": "secret", "new_password1": new, "new_password2": new}
    answer = client.post("/admin/password_change/", form)

    assert (answer.status_code, answer.headers["location"]) == (302, "/admin/password_change/done/")
    assert client.get("/admin/password_change/done/").status_code == 200
    ada.refresh_from_db()
    assert ada.check_password(new)


def test_pages_run_only_scripts_of_the_node(pages: Client):
    answer = pages.get("/admin/")

    assert "script-src 'self' 'unsafe-eval';" in answer.headers["Content-Security-Policy"]
    page = answer.content.decode()
    assert set(re.findall(r"<script[^>]*>(.*?)</script>", page)) == {""}
    assert all(source.startswith("/static/") for source in re.findall(r'<script src="([^"]*)"', page))
    assert not re.search(r"\son(click|load|error|submit)=", page)


def test_pages_forbid_frames_sniffing_and_foreign_content(pages: Client):
    headers = pages.get("/admin/").headers

    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "no-store" in headers["Cache-Control"]


def test_a_request_to_the_api_has_no_session_and_none_of_these_headers(build: Build, pages: Client):
    build.transaction()
    with CaptureQueriesContext(connection) as queries:
        answer = pages.get("/api/v1/transactions")

    assert answer.status_code == 200
    assert not any("session" in query["sql"] or "auth_user" in query["sql"] for query in queries)
    assert not {"X-Frame-Options", "Content-Security-Policy", "Set-Cookie"} & set(answer.headers)


@pytest.mark.parametrize("path", ["/admin", "/admin/ledger/transaction", "/admin/ledger"])
def test_an_address_without_its_last_slash_is_completed(path: str, pages: Client):
    answer = pages.get(path)

    assert (answer.status_code, answer.headers["location"]) in ((301, f"{path}/"), (302, f"{path}/"))


def test_an_unknown_page_is_an_html_page(pages: Client):
    answer = pages.get("/admin/ledger/planet/")

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


def test_a_statement_that_takes_too_long_ends_in_a_page_that_says_what_to_do(
    settings_of, pages: Client, monkeypatch: pytest.MonkeyPatch
):
    settings_of({"rest.db.statementTimeout": 77.0})
    limits: list[str] = []

    def slow(request, *args, **kwargs):
        with connection.cursor() as cursor:
            cursor.execute("select current_setting('statement_timeout')")
            limits.append(cursor.fetchone()[0])
            # Less than any machine takes for the next, and more than for this one.
            cursor.execute("select set_config('statement_timeout', '20', true)")
            cursor.execute("select pg_sleep(600)")

    monkeypatch.setattr(ReadOnlyAdmin, "get_search_results", slow)
    answer = pages.get("/admin/ledger/transaction/")

    assert answer.status_code == 503
    assert limits == ["77s"]
    assert "more than 77 seconds" in answer.content.decode()


def test_composite_key_needs_read_only_pages():
    site = MirrorAdminSite()

    with pytest.raises(ImproperlyConfigured, match="composite primary key"):
        site.register(CryptoTransfer, admin.ModelAdmin)
    site.register([Transaction, CryptoTransfer], ReadOnlyAdmin)


def test_every_table_is_registered_as_read_only_and_djangos_checks_pass():
    assert all(isinstance(admin.site.get_model_admin(model), ReadOnlyAdmin) for model in MODELS)
    assert run_checks(tags=["admin"]) == []
