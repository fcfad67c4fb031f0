"""Backfill history with processes killed repeatedly: equality with an ordered load, and speed next to it.

    python -m tests.benchmarks.backfill STREAM FOLDER --jobs 2 --kills 20

STREAM is what `manage.py demo --out STREAM` has made. FOLDER is made anew. One node there loads all in order,
by one process and by one more for each job; another loads the last quarter and is then backfilled, while the
command, one of its readers or PostgreSQL is killed at random moments.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path

import psycopg

from mirror.node.postgres import server as embedded
from mirror.node.postgres.installation import server_paths
from tests.node import ROOT, children

# When something was loaded is the only thing that may differ.
_NOT_COMPARED = ["load_start", "load_end"]
_TABLES = """
    select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not relispartition and relname !~ '^(auth|django|axes)_' and relname <> all(%s)
    order by relname"""
# These tell about the node and not about the ledger.
_OF_THE_NODE = ["backfill", "loader_state", "node_minute", "stored_network"]
_PROCESSES = "SVC_MIRROR_IMPORTER_PARSER_PROCESSES"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("stream", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--every", type=float, default=8.0, help="a kill after at most so many seconds")
    parser.add_argument("--only-kills", action="store_true", help="measure no speed")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    options.folder.chmod(0o755)
    for name in ("ordered", "again", "head", "undisturbed"):
        (options.folder / name).mkdir(mode=0o755)
    stream, folder = options.stream.resolve(), options.folder
    one = timed(folder / "ordered", "ingest", stream, **{_PROCESSES: "1"})
    print(f"an ordered load by one process: {one:.1f} s", flush=True)
    expected = digests(folder / "ordered")
    backfill = ("backfill", "genesis", "head", stream, "--jobs", str(options.jobs))
    newest = last_quarter(stream, folder / "newest")
    if not options.only_kills:
        several = timed(folder / "again", "ingest", stream, **{_PROCESSES: str(options.jobs)})
        print(f"an ordered load with {options.jobs} readers: {several:.1f} s", flush=True)
        shutil.rmtree(folder / "again")
        timed(folder / "undisturbed", "ingest", newest)
        took = timed(folder / "undisturbed", *backfill)
        print(
            f"a backfill with {options.jobs} jobs: {took:.1f} s, {one / took:.2f} times as fast", flush=True
        )
        compare(expected, digests(folder / "undisturbed"))
        shutil.rmtree(folder / "undisturbed")

    if options.kills:
        timed(folder / "head", "ingest", newest)
        began = time.monotonic()
        struck = strike(folder / "head", backfill, options.kills, options.every)
        print(f"a backfill with {struck}: {time.monotonic() - began:.1f} s", flush=True)
        compare(expected, digests(folder / "head"))


def timed(data: Path, *command: str | Path, **variables: str) -> float:
    began = time.monotonic()
    subprocess.run(arguments(*command), cwd=ROOT, env=environment(data, **variables), check=True, stdout=-3)
    return time.monotonic() - began


def strike(data: Path, command: tuple[str | Path, ...], kills: int, every: float) -> str:
    """Run a command until it succeeds, and kill what works for it; return in words what was killed."""
    choose, killed = random.Random(), dict.fromkeys(("command", "reader", "PostgreSQL"), 0)
    while True:
        process = subprocess.Popen(
            arguments(*command), cwd=ROOT, env=environment(data), stdout=subprocess.DEVNULL
        )
        while process.poll() is None and sum(killed.values()) < kills:
            with suppress(subprocess.TimeoutExpired):
                process.wait(choose.uniform(1, every))
                break
            what = choose.choice(sorted(killed))
            victims = {"reader": reader(process.pid), "PostgreSQL": postmaster(data)}
            # One that has ended meanwhile is not counted.
            with suppress(ProcessLookupError):
                if victim := victims.get(what, process.pid):
                    os.kill(victim, signal.SIGKILL)
                    killed[what] += 1
        process.wait()
        if process.returncode == 0:
            return ", ".join(f"{number} kills of {what}" for what, number in killed.items())


def reader(command: int) -> int | None:
    return next(iter(children(command)), None)


def postmaster(data: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int((server_paths(data).data / "postmaster.pid").read_text().splitlines()[0])
    return None


def digests(data: Path) -> dict[str, str]:
    """Return the number of rows of each table, and a sum over their contents."""
    found = {}
    with (
        embedded.in_use(data, lambda sentence: None),
        psycopg.connect(
            dbname="mirror_node", user="mirror_node", host=str(server_paths(data).socket)
        ) as session,
    ):
        for (table,) in session.execute(_TABLES, [_OF_THE_NODE]).fetchall():
            row = session.execute(
                f"select count(*), sum(hashtextextended((to_jsonb(t) - %s::text[])::text, 0)::numeric) "
                f'from "{table}" t',
                [_NOT_COMPARED],
            ).fetchone()
            found[table] = json.dumps(row, default=str)
    return found


def compare(expected: dict[str, str], found: dict[str, str]) -> None:
    different = [table for table in expected if expected[table] != found.get(table)]
    print(f"{len(expected) - len(different)} of {len(expected)} tables are equal", flush=True)
    for table in different:
        print(f"  {table}: {expected[table]} in order, {found.get(table)} backfilled")


def last_quarter(stream: Path, folder: Path) -> Path:
    """Return a folder with the files of the last quarter of the stream, to which a network may be adding."""
    nodes = sorted((stream / "recordstreams").iterdir())
    names = sorted({path.name.partition("Z")[0] for path in nodes[0].iterdir() if path.is_file()})
    first = names[len(names) * 3 // 4]
    for node in nodes:
        for path in node.rglob("*"):
            if path.is_file() and path.name >= first:
                target = folder / path.relative_to(stream)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.hardlink_to(path)
    return folder


def arguments(*command: str | Path) -> list[str]:
    return [sys.executable, "manage.py", *map(str, command)]


def environment(data: Path, **variables: str) -> dict[str, str]:
    others = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"}
    return others | {"SVC_MIRROR_DATA": str(data), "SVC_MIRROR_NETWORK": "simulated"} | variables


if __name__ == "__main__":
    main()
