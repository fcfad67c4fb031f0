"""`manage.py password`: the lost password of the admin."""

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from mirror.core.config.setting import OperatorError

pytestmark = pytest.mark.django_db


def test_new_password_ends_the_sessions_of_the_old_one(settings, tmp_path, capsys):
    settings.DATA_DIR = tmp_path
    get_user_model().objects.create_superuser("admin", password="lost")
    before = Client()
    before.force_login(get_user_model().objects.get(username="admin"))
    assert before.get("/admin/").status_code == 200

    call_command("password")

    assert "admin-password" in capsys.readouterr().out
    file = tmp_path / "admin-password"
    assert file.stat().st_mode & 0o777 == 0o600
    admin = get_user_model().objects.get(username="admin")
    assert (admin.check_password("lost"), admin.check_password(file.read_text().strip())) == (False, True)
    assert before.get("/admin/").status_code == 302


def test_removed_admin_account_is_made_again(settings, tmp_path):
    settings.DATA_DIR = tmp_path

    call_command("password")

    user = get_user_model().objects.get(username="admin")
    assert (user.is_staff, user.is_superuser, user.is_active) == (True, True, True)


def test_printed_password_is_in_no_file(settings, tmp_path, capsys):
    settings.DATA_DIR = tmp_path
    get_user_model().objects.create_user("ada", is_staff=True)

    call_command("password", user="ada", print=True)

    password = capsys.readouterr().out.split(" is ")[1].split(". ")[0]
    assert get_user_model().objects.get(username="ada").check_password(password)
    assert list(tmp_path.iterdir()) == []


def test_password_of_another_account_is_not_written_to_the_file(settings, tmp_path, capsys):
    settings.DATA_DIR = tmp_path
    get_user_model().objects.create_user("ada", is_staff=True)
    call_command("password")
    file = tmp_path / "admin-password"
    kept = file.read_text()
    capsys.readouterr()

    call_command("password", user="ada")

    assert file.read_text() == kept
    password = capsys.readouterr().out.split(" is ")[1].split(". ")[0]
    assert get_user_model().objects.get(username="ada").check_password(password)


def test_unknown_account_is_named(settings, tmp_path):
    settings.DATA_DIR = tmp_path

    with pytest.raises(OperatorError, match="no account eve"):
        call_command("password", user="eve")
