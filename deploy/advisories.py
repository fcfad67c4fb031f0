"""Print which pinned packages have known vulnerabilities, by advisories that are on this machine.

    .venv/bin/python deploy/advisories.py all.zip [LOCK ...]

The advisories are records of OSV: the export for PyPI (its file all.zip), a folder of JSON files, or a file
with one record per line. LOCK defaults to the requirements files of this project. Nothing is fetched. Exit
codes: 0 no vulnerability, 1 at least one, 2 wrong arguments.
"""

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.txt", "requirements-dev.txt")

Record = Mapping[str, Any]


class Finding(NamedTuple):
    package: str
    version: str
    advisory: str
    summary: str
    # The first versions without it; empty if none is known.
    fixed: tuple[str, ...]

    @property
    def line(self) -> str:
        cure = f"fixed in {' or '.join(self.fixed)}" if self.fixed else "no version is known without it"
        return f"{self.package} {self.version}: {self.advisory}: {self.summary} ({cure})"


def records(source: Path) -> Iterator[Record]:
    """Yield the advisories of a zip file, a folder, or a file with a record a line."""
    if source.is_dir():
        texts: Iterator[str | bytes] = (path.read_bytes() for path in sorted(source.rglob("*.json")))
    elif zipfile.is_zipfile(source):
        archive = zipfile.ZipFile(source)
        texts = (archive.read(name) for name in archive.namelist() if name.endswith(".json"))
    else:
        texts = (line for line in source.read_text().splitlines() if line.strip())
    yield from map(json.loads, texts)


def pins(locks: Sequence[Path]) -> dict[str, set[str]]:
    """Return the versions of each package in the locks, by its normalized name (PEP 503)."""
    found: dict[str, set[str]] = {}
    for lock in locks:
        for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock.read_text(), re.MULTILINE):
            found.setdefault(_normalized(name), set()).add(version)
    return found


def findings(pinned: Mapping[str, set[str]], advisories: Iterator[Record]) -> Iterator[Finding]:
    """Yield the pinned versions that an advisory affects; withdrawn advisories are skipped."""
    for record in advisories:
        if record.get("withdrawn"):
            continue
        for affected in record.get("affected", ()):
            package = affected.get("package", {})
            name = _normalized(package.get("name", ""))
            if package.get("ecosystem") != "PyPI":
                continue
            for version in sorted(pinned.get(name, ())):
                if is_affected(version, affected):
                    yield Finding(name, version, record["id"], _summary(record), _fixed(version, affected))


def is_affected(version: str, affected: Record) -> bool:
    """Return whether a version is one of an entry of `affected`, as the schema of OSV evaluates it."""
    if version in affected.get("versions", ()):
        return True
    wanted = Version(version)
    return any(_is_within(wanted, events) for events in _events(affected))


def _is_within(wanted: Version, events: Sequence[tuple[Version, str]]) -> bool:
    is_inside = False
    for version, kind in events:
        if kind == "introduced" and wanted >= version:
            is_inside = True
        elif (kind == "fixed" and wanted >= version) or (kind == "last_affected" and wanted > version):
            is_inside = False
    return is_inside


def _events(affected: Record) -> Iterator[list[tuple[Version, str]]]:
    """Yield the events of each range of versions, in their order."""
    for bounds in affected.get("ranges", ()):
        if bounds.get("type") != "GIT":
            events = [(_version(text), kind) for event in bounds["events"] for kind, text in event.items()]
            yield sorted(events, key=lambda event: (event[0], event[1] != "introduced"))


def _fixed(version: str, affected: Record) -> tuple[str, ...]:
    fixes = (each for events in _events(affected) for each, kind in events if kind == "fixed")
    later = {each for each in fixes if each > Version(version)}
    return tuple(map(str, sorted(later)[:1]))


def _version(text: str) -> Version:
    """Return a version. An invalid one (PEP 440) sorts before all others, so that no finding is missed."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0.dev0")


def _summary(record: Record) -> str:
    details = str(record.get("details", "")).strip()
    return record.get("summary") or details.partition("\n")[0]


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    source, *locks = map(Path, arguments)
    locks = locks or [ROOT / name for name in LOCKS]
    for path in (source, *locks):
        if not path.exists():
            print(f"There is no {path}.", file=sys.stderr)
            return 2
    pinned = pins(locks)
    found = sorted(set(findings(pinned, records(source))))
    for finding in found:
        print(finding.line)
    print(f"{len(pinned)} packages, {len(found) or 'no'} known vulnerabilities.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
