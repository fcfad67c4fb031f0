"""The check of the lock against advisories: which pinned versions they are about."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LOCK = """\
django==5.2.19 \\
    --hash=sha256:00
my-package==2.0rc1 ; python_full_version < '3.12' \\
    --hash=sha256:00
"""


def record(name: str, *events: dict[str, str], **fields: Any) -> dict[str, Any]:
    affected = {
        "package": {"ecosystem": fields.pop("ecosystem", "PyPI"), "name": name},
        "ranges": [{"type": "ECOSYSTEM", "events": list(events)}],
        "versions": fields.pop("versions", []),
    }
    return {"id": "PYSEC-1", "summary": "It is unsafe", "affected": [affected], **fields}


def run(folder: Path, *records: dict[str, Any]) -> tuple[int, list[str]]:
    lock, advisories = folder / "lock.txt", folder / "advisories.jsonl"
    lock.write_text(LOCK)
    advisories.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return check(advisories, lock)


def check(*arguments: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "deploy/advisories.py", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


FROM_THE_FIRST = {"introduced": "0"}
AFFECTED = {
    "before the fix": record("Django", FROM_THE_FIRST, {"fixed": "5.2.20"}),
    "last affected version": record("django", FROM_THE_FIRST, {"last_affected": "5.2.19"}),
    "second range of a list": record(
        "django", FROM_THE_FIRST, {"fixed": "4.2.1"}, {"introduced": "5.0"}, {"fixed": "5.2.20"}
    ),
    "events in no order": record("django", {"fixed": "5.2.20"}, {"introduced": "5.2"}),
    "named version": record("django", versions=["5.2.18", "5.2.19"]),
    "normalized name, candidate of a release": record("My_Package", {"introduced": "1.9"}, {"fixed": "2.0"}),
}
UNAFFECTED = {
    "at the fix": record("django", FROM_THE_FIRST, {"fixed": "5.2.19"}),
    # As a text, 5.2.9 comes after 5.2.19.
    "fixed before, by numbers": record("django", FROM_THE_FIRST, {"fixed": "5.2.9"}),
    "after the last affected version": record("django", FROM_THE_FIRST, {"last_affected": "5.2.18"}),
    "introduced later": record("django", {"introduced": "5.3"}),
    "withdrawn": record("django", FROM_THE_FIRST, withdrawn="2026-01-01T00:00:00Z"),
    "of another ecosystem": record("django", FROM_THE_FIRST, ecosystem="npm"),
    "another package": record("django-extra", FROM_THE_FIRST),
}


@pytest.mark.parametrize("advisory", AFFECTED.values(), ids=AFFECTED)
def test_affected_version_is_found(tmp_path: Path, advisory: dict[str, Any]) -> None:
    code, (line, summary) = run(tmp_path, advisory)

    assert code == 1
    assert ": PYSEC-1: It is unsafe (" in line
    assert summary == "2 packages, 1 known vulnerabilities."


@pytest.mark.parametrize("advisory", UNAFFECTED.values(), ids=UNAFFECTED)
def test_version_that_is_not_affected_is_not_found(tmp_path: Path, advisory: dict[str, Any]) -> None:
    assert run(tmp_path, advisory) == (0, ["2 packages, no known vulnerabilities."])


def test_line_names_package_advisory_and_cure(tmp_path: Path) -> None:
    without_cure = record("django", FROM_THE_FIRST, id="PYSEC-2")
    _, lines = run(tmp_path, AFFECTED["second range of a list"], without_cure)

    assert lines[:2] == [
        "django 5.2.19: PYSEC-1: It is unsafe (fixed in 5.2.20)",
        "django 5.2.19: PYSEC-2: It is unsafe (no version is known without it)",
    ]


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_export_and_folder_are_read(tmp_path: Path, kind: str) -> None:
    lock, text = tmp_path / "lock.txt", json.dumps(AFFECTED["before the fix"])
    lock.write_text(LOCK)
    source = tmp_path / "advisories"
    if kind == "zip":
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr("PYSEC-1.json", text)
    else:
        source.mkdir()
        (source / "PYSEC-1.json").write_text(text)

    assert check(source, lock)[0] == 1


def test_locks_of_the_project_are_read_by_default(tmp_path: Path) -> None:
    advisories = tmp_path / "advisories.jsonl"
    advisories.write_text(json.dumps(record("ruff", FROM_THE_FIRST)))

    code, lines = check(advisories)

    assert (code, lines[0].partition(" ")[0]) == (1, "ruff")


def test_missing_file_is_wrong_use(tmp_path: Path) -> None:
    assert check(tmp_path / "missing.zip") == (2, [])
