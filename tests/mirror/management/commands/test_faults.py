"""What can go wrong around a command, and the one sentence that says so: never a traceback."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

Done = subprocess.CompletedProcess[str]


def manage(*arguments: str | Path, **variables: str) -> Done:
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=settings.BASE_DIR,
        env={name: text for name, text in os.environ.items() if name != "DATABASE_URL"} | variables,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def database(_test_database: None, django_db_blocker: Any) -> Iterator[Callable[[str], str]]:
    """Makes a database by the given options of `create database`, and gives its URL."""
    name = f"test_fault_{os.getpid()}"
    own = connection.settings_dict

    def made(options: str = "") -> str:
        with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
            cursor.execute(f"drop database if exists {name} with (force)")
            cursor.execute(f"create database {name} {options}")
        words = {"host": own["HOST"], "port": own["PORT"], "user": own["USER"], "password": own["PASSWORD"]}
        return " ".join([f"dbname={name}", *(f"{key}={word}" for key, word in words.items() if word)])

    yield made
    with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
        cursor.execute(f"drop database if exists {name} with (force)")


def test_the_check_before_a_deployment_has_nothing_to_say(data_folder: Path) -> None:
    checked = manage("check", "--deploy", "--fail-level", "INFO", SVC_MIRROR_DATA=str(data_folder))

    assert checked.returncode == 0
    assert "no issues" in checked.stdout + checked.stderr


def test_a_database_of_another_encoding_is_refused(database: Callable[[str], str], tmp_path: Path) -> None:
    url = database("encoding 'SQL_ASCII' template template0 locale_provider libc locale 'C'")

    done = manage("ingest", "--follow", tmp_path, DATABASE_URL=url)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("DATABASE_URL names a database that keeps text as SQL_ASCII, which can't ")
    assert done.stderr.count("\n") == 1
