"""What a node takes from a backup or a snapshot, whatever its writer names."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_django
from django.contrib.auth import get_user_model
from django.core.management import call_command

from contracts.backfills import blooms
from mirror.core.config.setting import OperatorError
from mirror.models import Backfill
from mirror.operations.backup import load as loading
from mirror.operations.backup.manifest import BACKUP, SNAPSHOT, DamagedBackup, Kind, content_digest
from mirror.upgrade import tables
from tests.ledger.ingest.load import settings
from tests.ledger.ingest.tables import empty_tables
from tests.mirror.operations.backup.test_backup import GOES_ON, backup, silent
from tests.mirror.operations.snapshot.test_snapshot import save
from tests.partitions import own_database

#: Columns and a row of an account that its writer would sign in with.
ACCOUNT = {
    "id": "66", "password": "pbkdf2_sha256$1$x$x", "last_login": "\\N", "is_superuser": "t",
    "username": "mallory", "first_name": "", "last_name": "", "email": "", "is_staff": "t",
    "is_active": "t", "date_joined": "2025-01-01 00:00:00+00",
}  # fmt: skip


@pytest.fixture
def database(ledger_tables: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """An empty database of a node that has an account."""
    with django_db_blocker.unblock(), settings(network="simulated"), own_database(partitioned=False):
        empty_tables()
        get_user_model().objects.all().delete()
        get_user_model().objects.create_superuser("ada", password=None)
        yield


def add_table(folder: Path, name: str, columns: dict[str, str]) -> None:
    """Add a table with one row to a folder, as a hostile writer does."""
    rows = gzip.compress("\t".join(columns.values()).encode() + b"\n")
    (folder / "more-00000.gz").write_bytes(rows)
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    content["tables"][name] = {"columns": [*columns], "rows": 1}
    digest = hashlib.sha256(rows).hexdigest()
    content["files"].append(
        {"name": "more-00000.gz", "table": name, "rows": 1, "bytes": len(rows), "sha256": digest}
    )
    path.write_text(json.dumps(content | {"sha256": content_digest(content)}))


def change(folder: Path, **sections: Any) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    for name, value in sections.items():
        content[name] = value(content[name]) if callable(value) else value
    path.write_text(json.dumps(content | {"sha256": content_digest(content)}))


def accounts() -> list[str]:
    return sorted(get_user_model().objects.values_list("username", flat=True))


def load(folder: Path, kind: Kind = SNAPSHOT, **options: Any) -> None:
    loading.restore(folder, options.pop("echo", silent), GOES_ON, jobs=1, kind=kind, **options)


def rows_of(table: str) -> dict[str, str]:
    return ACCOUNT if table == "auth_user" else {"id": "1"}


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("auth_user", SNAPSHOT),
        ("auth_user_user_permissions", SNAPSHOT),
        ("django_session", SNAPSHOT),
        ("django_session", BACKUP),
        ("django_migrations", SNAPSHOT),
        ("django_migrations", BACKUP),
        ("loader_state", SNAPSHOT),
        ("loader_state", BACKUP),
        ("archive_failure", SNAPSHOT),
        ("contract_call_filter", SNAPSHOT),
        ("pg_authid", SNAPSHOT),
        ("pg_authid", BACKUP),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else value,
)
def test_table_that_a_folder_may_not_have_is_named_before_anything_changes(
    table: str, kind: Kind, database: None, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    save(folder) if kind == SNAPSHOT else backup(folder)
    add_table(folder, table, rows_of(table))

    for act in (load, lambda folder, kind: loading.check(folder, silent, GOES_ON, jobs=1, kind=kind)):
        with pytest.raises(OperatorError, match=f"has the table {table}, which a {kind.name} may not have"):
            act(folder, kind)

    assert not tables.is_restoring()
    assert accounts() == ["ada"]


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        (
            {"tables": lambda old: old | {"entity": old["entity"] | {"columns": ["id", "xmin"]}}},
            "column xmin",
        ),
        ({"settings": {"web3.maxGas": "1"}}, "settings"),
        (
            {"demo": {"name": "demo-stream.tar.zst", "table": "", "rows": 0, "bytes": 1, "sha256": ""}},
            "a demo network",
        ),
    ],
    ids=["column", "settings", "demo"],
)
def test_other_parts_that_a_snapshot_may_not_have_are_named(
    sections: dict[str, Any], named: str, database: None, tmp_path: Path
) -> None:
    save(tmp_path)
    change(tmp_path, **sections)

    with pytest.raises(OperatorError, match=f"has .*{named}.*, which a snapshot may not have"):
        load(tmp_path)

    assert not tables.is_restoring()


def test_snapshot_with_wrong_rows_leaves_the_accounts_of_the_node(database: None, tmp_path: Path) -> None:
    save(tmp_path)
    # It is refused after the tables were made.
    content = gzip.compress(b"no row of this table\n")
    (tmp_path / "more-00000.gz").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    file = {"name": "more-00000.gz", "table": "entity", "rows": 1, "bytes": len(content), "sha256": digest}
    change(tmp_path, files=lambda files: [*files, file])

    with pytest.raises(
        DamagedBackup, match=r"more-00000\.gz of the snapshot has rows that the table can't hold"
    ):
        load(tmp_path)

    assert accounts() == ["ada"]
    with pytest.raises(OperatorError, match="or that was interrupted"):
        tables.check_current()


def test_statements_of_an_archive_are_not_run(database: None, tmp_path: Path) -> None:
    # A snapshot without any row has no archive.
    Backfill.objects.get_or_create(name=blooms.BLOOMS.name)
    save(tmp_path)
    contents = tmp_path / "dump" / "toc.dat"
    hostile = contents.read_bytes().replace(b"COPY public.", b"TABL public.")
    contents.write_bytes(hostile)
    changed = {"bytes": len(hostile), "sha256": hashlib.sha256(hostile).hexdigest()}
    change(tmp_path, contents=lambda file: file | changed)

    load(tmp_path)

    tables.check_current()


def test_file_that_expands_without_end_is_damage(database: None, tmp_path: Path) -> None:
    save(tmp_path)
    content = gzip.compress(bytes(300 << 20), 1)
    (tmp_path / "more-00000.gz").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    file = {"name": "more-00000.gz", "table": "entity", "rows": 1, "bytes": len(content), "sha256": digest}
    change(tmp_path, files=lambda files: [*files, file])

    with pytest.raises(DamagedBackup, match=r"more-00000\.gz of the snapshot expands to more than rows do"):
        load(tmp_path)


def test_restore_says_whom_it_lets_in(database: None, tmp_path: Path) -> None:
    get_user_model().objects.create_user("bob", is_staff=True)
    get_user_model().objects.create_user("carol", is_active=False)
    backup(tmp_path)
    get_user_model().objects.all().delete()
    lines: list[str] = []

    load(tmp_path, BACKUP, echo=lines.append)

    assert (
        "The backup has 3 accounts, which this node lets in with their passwords: 'ada' (superuser), "
        "'bob' (staff), 'carol' (inactive). --without-accounts leaves them out."
    ) in lines
    assert accounts() == ["ada", "bob", "carol"]


def test_account_that_a_backup_was_given_later_is_listed(database: None, tmp_path: Path) -> None:
    backup(tmp_path)
    add_table(tmp_path, "auth_user", ACCOUNT | {"username": r"mal\x6cory\033[2J"})
    lines: list[str] = []

    load(tmp_path, BACKUP, echo=lines.append)

    assert r"'mallory\x1b[2J' (superuser)" in "".join(lines)


def test_backup_without_its_accounts_leaves_those_of_the_node(
    database: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    get_user_model().objects.create_superuser("mallory", password=None)
    backup(tmp_path)
    get_user_model().objects.get(username="mallory").delete()

    call_command("restore", tmp_path, without_accounts=True)

    assert "No account of another node is restored." in capsys.readouterr().out
    assert accounts() == ["ada"]
    tables.check_current()
