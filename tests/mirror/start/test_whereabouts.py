"""What `up` says of the admin's password: where the first one is, or how to make a new one."""

from pathlib import Path
from typing import Any

from mirror.node.admin import access
from mirror.start import up


def test_new_node_says_where_the_first_password_is(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    access.password_file(tmp_path).write_text("secret\n")

    said = up._startup_text(None, ends=False, sdk=False)

    assert f"user admin, its first password is in {tmp_path}/admin-password\n" in said


def test_restored_node_names_no_file_that_it_does_not_have(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path

    said = up._startup_text(None, ends=False, sdk=False)

    assert "admin-password" not in said
    assert "user admin with the password it has; manage.py password gives it a new one\n" in said
