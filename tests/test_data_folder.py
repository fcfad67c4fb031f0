"""The data folder of the tests' own processes."""

from pathlib import Path

from django.conf import settings
from django.core.cache import caches

from tests.node import manage


def test_tests_use_no_data_folder_of_the_checkout() -> None:
    assert settings.DATA_DIR.is_dir()
    assert not settings.DATA_DIR.is_relative_to(settings.BASE_DIR)
    assert Path(caches["logins"]._dir) == settings.DATA_DIR / "logins"  # type: ignore[attr-defined]


def test_commands_of_tests_use_the_same_data_folder() -> None:
    assert f"DATA_DIR = {settings.DATA_DIR!r}  ###\n" in manage("diffsettings").stdout
