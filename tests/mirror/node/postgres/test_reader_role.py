"""The role of the web server reads everything, and writes nothing but what the web server keeps."""

import re

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.test import Client
from psycopg import errors

from mirror.core.config.database import parse_url
from mirror.core.config.setting import InvalidSetting, OperatorError
from mirror.node.postgres import reader_role
from mirror.node.postgres.cluster import READER
from tests.reading import as_reader, make_reader
from web3sim.models import ContractCallFilter

pytestmark = pytest.mark.django_db

WRITTEN = {
    *("auth_group", "auth_group_permissions", "auth_permission", "auth_user", "auth_user_groups"),
    *("auth_user_user_permissions", "contract_call_filter", "django_admin_log", "django_session"),
    *("node_minute", "otp_totp_totpdevice"),
}
TABLES = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}


def _is_refused(statement: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except ProgrammingError as error:
        assert isinstance(error.__cause__, errors.InsufficientPrivilege), error
        return True
    return False


def test_reader_writes_only_tables_of_the_web_server():
    assert set(reader_role.written_tables()) == WRITTEN
    with as_reader():
        assert not [table for table in TABLES if _is_refused(f"select from {table} limit 1")]
        for change in ("insert into {} default values", "delete from {}", "truncate {}"):
            refused = {table for table in TABLES - WRITTEN if _is_refused(change.format(table))}
            assert refused == TABLES - WRITTEN
        assert not [table for table in WRITTEN if _is_refused(f"delete from {table} where false")]
        assert _is_refused("create table another (number int)")
        assert _is_refused("alter table entity add another int")
        assert _is_refused(f"alter role {READER} superuser")


def test_it_reads_tables_and_months_that_are_made_later():
    make_reader()
    with connection.cursor() as cursor:
        cursor.execute("create table another (number int)")
        cursor.execute("create table of_months (at bigint) partition by range (at)")
        cursor.execute("create table of_months_p1 partition of of_months for values from (0) to (9)")
    with as_reader():
        for table in ("another", "of_months", "of_months_p1"):
            assert not _is_refused(f"select from {table}")
            assert _is_refused(f"insert into {table} values (1)")


def test_people_sign_in_and_out_of_the_admin_with_it(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    # A hash of the usual kind takes longer than all the rest.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    get_user_model().objects.create_superuser("ada", password="a long secret")
    with as_reader():
        browser = Client()
        form = {"username": "ada", "password": "a long secret", "next": "/admin/"}
        assert browser.post("/admin/login/", form).status_code == 302
        assert browser.get("/admin/").status_code == 200
        assert browser.post("/admin/logout/").status_code in (200, 302)
        assert browser.get("/admin/").status_code == 302
        get_user_model().objects.create_user("bob")


def test_reader_can_add_accounts_and_call_filters(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("ada"))
    secret = "a long secret 7"
    person = {"username": "bob", "usable_password": "true", "password1": secret, "password2": secret}
    call_filter = {"name": "too much", "action": "REJECT", "rate": "100"}
    with as_reader():
        assert browser.post("/admin/auth/user/add/", person).status_code == 302
        assert browser.post("/admin/web3sim/contractcallfilter/add/", call_filter).status_code == 302
        assert get_user_model().objects.filter(username="bob").exists()
        assert ContractCallFilter.objects.get().name == "too much"
        assert {str(each.object_repr) for each in LogEntry.objects.all()} == {"bob", "too much"}


def test_command_says_which_setting_uses_the_role(capsys):
    call_command("grant")

    assert capsys.readouterr().out == (
        f"{READER} may read every table. SVC_MIRROR_DB_READER={READER} has the web server use it.\n"
    )


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("postgresql://owner:old@db1/mirror", "db1/mirror"),
        ("postgresql://owner:old@[::1]:5433/mirror", "[::1]:5433/mirror"),
        (
            "postgresql://owner:old@db1:5432,db2:5433/mirror?target_session_attrs=read-write&sslmode=require",
            "db1:5432,db2:5433/mirror?sslmode=require&target_session_attrs=read-write",
        ),
        ("host=db1,db2 port=6000 user=owner dbname=mirror", "db1:6000,db2:6000/mirror"),
        ("postgresql:///mirror?host=/run/postgresql&port=5433", "/mirror?host=%2Frun%2Fpostgresql&port=5433"),
    ],
)
def test_printed_address_has_every_host_and_option_of_the_database(url, printed, settings_of, capsys):
    settings_of({"db.url": url})
    call_command("grant")

    setting = capsys.readouterr().out.rpartition("SVC_MIRROR_DB_READER=")[2].strip()
    assert re.sub(f"postgresql://{READER}:[^@]+@", "", setting) == printed
    settings_of({"db.reader": setting})
    changes, owner = reader_role.configured(), parse_url(url, "DATABASE_URL")
    assert changes is not None and changes["HOST"] == owner["HOST"]
    assert changes["OPTIONS"] == owner["OPTIONS"]


@pytest.mark.parametrize(
    ("role", "sentence"),
    [
        ("postgres", "The role postgres is a superuser, so it can't be kept from writing: name another one."),
        (
            "drop table",
            "drop table is no name of a role such as mirror_reader: lower case, digits, underscores.",
        ),
    ],
)
def test_role_that_could_write_anyhow_is_refused(role, sentence):
    with pytest.raises(OperatorError) as raised:
        reader_role.grant(role)
    assert str(raised.value) == sentence


def test_role_of_the_owner_is_not_made_a_reader():
    owner = connection.settings_dict["USER"]

    with pytest.raises(OperatorError, match=f"^The role {owner} owns the tables, so it can't be"):
        reader_role.grant(owner)


def test_owner_is_no_reader(settings_of):
    owner = connection.settings_dict["USER"]
    settings_of({"db.reader": owner})

    with pytest.raises(
        OperatorError, match=f"The role {owner} of SVC_MIRROR_DB_READER may write to the tables"
    ):
        reader_role.check()


def test_role_that_does_not_exist_is_an_error_in_words(settings_of):
    settings_of({"db.reader": "nobody_at_all"})

    with pytest.raises(OperatorError) as raised:
        reader_role.check()
    assert str(raised.value).startswith("The role of SVC_MIRROR_DB_READER can't be used: ")
    assert str(raised.value).endswith(
        "`manage.py grant` makes a role that can (the role of SVC_MIRROR_DB_READER)."
    )


def test_setting_may_be_an_address(settings_of):
    settings_of({"db.reader": "postgresql://reads:secret@db.example:6000/mirror?sslmode=require"})
    changes = reader_role.configured()

    assert changes == {
        "NAME": "mirror", "USER": "reads", "PASSWORD": "secret", "HOST": "db.example", "PORT": "6000",
        "OPTIONS": {"sslmode": "require"},
    }  # fmt: skip


def test_setting_that_is_neither_is_an_error_in_words(settings_of):
    settings_of({"db.reader": "http://db.example"})

    with pytest.raises(InvalidSetting, match="SVC_MIRROR_DB_READER is neither the name of a role"):
        reader_role.configured()
