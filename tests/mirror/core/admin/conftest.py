from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

import mirror.node.admin.urls  # noqa: F401  Registers the tables, which a node does with the first request.


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Any) -> None:
    """A hash of a password takes a third of a second by design."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _own_data_folder(settings: Any, tmp_path: Path) -> None:
    """Processes that share a data folder check few passwords at a time, and tests run in several."""
    settings.DATA_DIR = tmp_path


@pytest.fixture
def pages(db: None) -> Client:
    """A browser in which an administrator is signed in."""
    client = Client()
    # Without a password, whose hash takes longer than the test.
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client
