"""The manifest of a backup or a snapshot: what is read is what was written, and nothing else is taken."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirror.core.config.setting import OperatorError
from mirror.core.values.timestamp import NANOS_PER_DAY
from mirror.operations.backup import manifest as manifests
from mirror.operations.backup.manifest import (
    BACKUP,
    SNAPSHOT,
    BackupFile,
    BackupTable,
    Block,
    DamagedBackup,
    Manifest,
    content_digest,
)

CONTENT = b"the rows of a table"
DIGEST = "b6bbd25c1c2d2db3efbd8e7e0bd6c1ee8b5b9c0a9b5bd7dd4dd0ca93e5a01b34"
FILE = BackupFile("dump/17.dat.gz", "entity", 3, len(CONTENT), DIGEST)
MANIFEST = Manifest(
    network="testnet",
    release="1.2.3",
    made="2025-01-01T00:00:00Z",
    postgresql="15.1",
    block=Block(7, 1_735_765_200_000_000_000, "ab" * 48),
    database_bytes=1_000,
    migrations=[("ledger", "0001_initial")],
    tables={"entity": BackupTable(["id", "memo"], 3)},
    files=[FILE],
    settings={"network": "testnet"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dump").mkdir()
    (tmp_path / FILE.name).write_bytes(CONTENT)
    MANIFEST.write(tmp_path)
    return tmp_path


def change(folder: Path, **changes: Any) -> None:
    """Change sections of the manifest, and its checksum with them, as a hostile writer does."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    content |= {name: of(content[name]) if callable(of) else of for name, of in changes.items()}
    path.write_text(json.dumps(content | {"sha256": content_digest(content)}))


def test_manifest_that_is_read_is_the_written_one(folder: Path) -> None:
    assert Manifest.read(folder) == MANIFEST


def test_manifest_of_a_snapshot_has_its_times(folder: Path) -> None:
    snapshot = replace(MANIFEST, kind="snapshot", times=(5, 6), entities=["0.0.98"], settings={})
    snapshot.write(folder)

    assert Manifest.read(folder, SNAPSHOT) == snapshot


def test_folder_without_a_manifest_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="There is no complete backup in"):
        Manifest.read(tmp_path)


def test_manifest_that_is_no_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").symlink_to("/dev/zero")

    with pytest.raises(OperatorError, match="There is no complete backup in"):
        Manifest.read(tmp_path)


def test_changed_manifest_is_damage(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"rows": 3', '"rows": 2', 1))

    with pytest.raises(DamagedBackup, match=r"manifest\.json is damaged"):
        Manifest.read(folder)


def test_manifest_of_a_later_format_names_its_release(folder: Path) -> None:
    change(folder, format=3, release="9.0.0")

    with pytest.raises(OperatorError, match=r"made by a newer release \(9\.0\.0\)"):
        Manifest.read(folder)


def test_manifest_of_the_first_format_names_the_release_that_reads_it(folder: Path) -> None:
    change(folder, format=1)

    with pytest.raises(OperatorError, match=r"load it with release 1\.0\.0, and start this one on the same"):
        Manifest.read(folder)


def test_backup_that_is_called_a_snapshot_has_a_caution(folder: Path) -> None:
    with pytest.raises(OperatorError, match="has a backup: .*restore it only if it is yours, as it also has"):
        Manifest.read(folder, SNAPSHOT)


def test_folder_of_another_kind_is_refused(folder: Path) -> None:
    change(folder, kind="snapshot")

    with pytest.raises(OperatorError, match=r"has a snapshot: `manage\.py snapshot load .*` takes it\.$"):
        Manifest.read(folder, BACKUP)


def file_with(**values: object) -> Callable[[Any], Any]:
    return lambda files: [files[0] | values]


def table_with(**values: object) -> Callable[[Any], Any]:
    return lambda tables: {"entity": tables["entity"] | values}


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("a path", {"files": file_with(name="../letter")}),
    ("a path out of the archive", {"files": file_with(name="dump/../letter")}),
    ("an absolute path", {"files": file_with(name="/etc/passwd")}),
    ("a file of an unknown table", {"files": file_with(table="nowhere")}),
    ("a negative size", {"files": file_with(bytes=-1)}),
    ("a size as text", {"files": file_with(bytes="1")}),
    ("rows that are no number", {"files": file_with(rows=True)}),
    ("an unknown key of a file", {"files": file_with(command="rm")}),
    ("a path as a demo", {"demo": {"name": "/tmp/x", "table": "", "rows": 0, "bytes": 0, "sha256": ""}}),
    ("SQL as a table", {"tables": lambda tables: tables | {'entity" cascade': tables["entity"]}}),
    ("SQL as a column", {"tables": table_with(columns=['id") --'])}),
    ("a column twice", {"tables": table_with(columns=["id", "id"])}),
    ("a column that is no text", {"tables": table_with(columns=[1])}),
    ("control characters", {"release": "1\x1b[2J"}),
    ("a network that is no text", {"network": None}),
    ("a database without a size", {"database_bytes": None}),
    ("times of two hundred years", {"times": [0, 200 * 365 * NANOS_PER_DAY]}),
    ("times the other way round", {"times": [5, 4]}),
    ("settings as a list", {"settings": [1]}),
    ("an unknown section", {"commands": ["rm"]}),
    ("an unknown kind", {"kind": "letter"}),
]


@pytest.mark.parametrize(("name", "changes"), HOSTILE, ids=[name for name, _ in HOSTILE])
def test_manifest_that_no_node_writes_is_damage(name: str, changes: dict[str, Any], folder: Path) -> None:
    change(folder, **changes)

    with pytest.raises(DamagedBackup, match=r"manifest\.json is damaged"):
        Manifest.read(folder)


def test_deeply_nested_manifest_is_damage(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"a":' * 200_000)

    with pytest.raises(DamagedBackup, match=r"manifest\.json is damaged"):
        Manifest.read(folder)


def test_huge_manifest_is_damage_and_not_read(folder: Path) -> None:
    # Without taking room on the disk.
    os.truncate(folder / "manifest.json", manifests._MAX_BYTES + 1)

    with pytest.raises(DamagedBackup, match=r"manifest\.json is damaged"):
        Manifest.read(folder)


def test_settings_are_printed_without_control_characters(folder: Path) -> None:
    change(folder, settings={"network": "test\x1b[31mnet"})

    assert Manifest.read(folder).settings == {"network": "test?[31mnet"}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(CONTENT[:-1]), "has 18 bytes, not 19"),
        (lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), "is a link to another file"),
        (lambda path: (path.parent.rename(path.parents[1] / "x"), path.parent.symlink_to("x")), "is a link"),
    ],
    ids=["missing", "cut short", "a link", "a link to the archive"],
)
def test_file_that_is_not_the_written_one_is_named(damage: Any, message: str, folder: Path) -> None:
    MANIFEST.check_sizes(folder)
    damage(folder / FILE.name)

    with pytest.raises(DamagedBackup, match=rf"{FILE.name} of the backup {message}"):
        MANIFEST.check_sizes(folder)


def test_file_with_other_content_is_damaged(folder: Path) -> None:
    with pytest.raises(DamagedBackup, match=rf"{FILE.name} of the backup is damaged"):
        MANIFEST.check_content(folder, FILE)
