"""A primary and two replicas while everything happens to them: no request fails.

    manage.py demo --out STREAM --blocks 200
    python -m tests.benchmarks.replicas STREAM [--reads 100000] [--port 9510] [--programs FOLDER]

loads the first half of the stream into a PostgreSQL of its own (`--programs`: Debian's, version 15), makes
two replicas of it without hot_standby_feedback, and sends requests to a web server that reads from them.
Meanwhile the rest is loaded, further blocks come every few milliseconds, rows are updated and vacuumed,
replicas restart and are killed, and in the end the primary is killed and a replica promoted. It counts the
answers that failed, and those older than an answer that had come before."""

import argparse
import http.client
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.benchmarks.scale.databases import ROOT

_PROGRAMS = Path("/usr/lib/postgresql/15/bin")
_CLIENTS, _SHARE_OF_CALLS = 6, 20
_LINES = 40
_PAUSE_SECONDS, _VACUUM_SECONDS = 0.005, 0.1
# A replica that has to replay something gives a reader so long before it cancels its statement.
_CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
shared_buffers = 128MB
hot_standby_feedback = off
max_standby_streaming_delay = 0
wal_keep_size = 1GB
fsync = off
"""
_BLOCK = """
    insert into record_file (index, consensus_start, consensus_end, name, hash, prev_hash, file_hash, count,
        load_start, load_end, digest_algorithm, version)
    select index + 1, consensus_end + 1, consensus_end + 2000000000, (index + 1)::text || '.rcd', hash, hash,
        hash, 0, 0, 0, 0, 6
    from record_file order by consensus_end desc limit 1"""
_TOUCH = "update entity set balance = balance + 1 where id %% 7 = %s"
_URLS = (
    "/api/v1/blocks?limit=1",
    "/api/v1/transactions?limit=5",
    "/api/v1/accounts?limit=100",
    "/api/v1/accounts/0.0.1001",
    "/api/v1/network/supply",
    "/api/v1/balances?limit=50",
)
# balanceOf(an account) of a token of the demo network.
_CALL = json.dumps({"data": f"0x70a08231{1001:064x}", "to": f"0x{1075:040x}"}).encode()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stream", type=Path)
    parser.add_argument("--reads", type=int, default=100_000)
    parser.add_argument("--port", type=int, default=9510)
    parser.add_argument("--programs", type=Path, default=_PROGRAMS)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-replicas-"))
    folder.chmod(0o755)
    try:
        sys.exit(0 if measure(options.stream, folder, options) else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Cluster:
    """The servers: 0 is the primary, until another one is promoted."""

    def __init__(self, folder: Path, programs: Path, port: int) -> None:
        self._folder, self._programs, self._port = folder, programs, port
        shutil.chown(folder, "postgres")
        self._account = pwd.getpwnam("postgres")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            user=self._account.pw_uid,
            group=self._account.pw_gid,
            extra_groups=[],
        )

    def data(self, number: int) -> str:
        return str(self._folder / f"postgres-{number}")

    def make(self) -> None:
        self._run("initdb", "-D", self.data(0), "-A", "trust", "-U", "mirror", "-E", "UTF8", "--locale=C")
        with Path(self.data(0), "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION)
        self.start(0)
        with psycopg.connect(self.url(0, "postgres"), autocommit=True) as connection:
            connection.execute("create database mirror")

    def copy(self, number: int) -> None:
        """Make a replica, which follows whichever server is the primary."""
        hosts = ",".join(["127.0.0.1"] * 3)
        ports = ",".join(str(self._port + each) for each in range(3))
        self._run("pg_basebackup", "-d", self.url(0, "postgres"), "-D", self.data(number), "-R", "-c", "fast")
        with Path(self.data(number), "postgresql.auto.conf").open("a") as file:
            where = f"host={hosts} port={ports} user=mirror target_session_attrs=read-write"
            file.write(f"primary_conninfo = '{where}'\n")
        self.start(number)

    def start(self, number: int) -> None:
        options = f"-p {self._port + number}"
        self._run(
            "pg_ctl", "-D", self.data(number), "-l", f"{self.data(number)}.log", "-w", "-o", options, "start"
        )

    def stop(self, number: int, mode: str) -> None:
        self._run("pg_ctl", "-D", self.data(number), "-w", "-m", mode, "stop")

    def promote_farthest(self) -> int:
        """Promote the replica that has replayed most; return its number."""
        reached = {}
        for number in (1, 2):
            with psycopg.connect(self.url(number)) as connection:
                row = connection.execute("select pg_last_wal_receive_lsn() - '0/0'::pg_lsn").fetchone()
                reached[number] = row[0] if row else 0
        number = max(reached, key=lambda each: reached[each])
        self._run("pg_ctl", "-D", self.data(number), "-w", "promote")
        return number

    def url(self, number: int, database: str = "mirror") -> str:
        return f"postgresql://mirror@127.0.0.1:{self._port + number}/{database}"

    @property
    def primary(self) -> str:
        """The address of whichever server is the primary."""
        hosts = ",".join(f"127.0.0.1:{self._port + number}" for number in range(3))
        return f"postgresql://mirror@{hosts}/mirror?target_session_attrs=read-write&connect_timeout=2"

    @property
    def replicas(self) -> str:
        return ",".join(f"127.0.0.1:{self._port + number}" for number in (1, 2))


class Reads:
    """What clients have seen, counted."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self.count = self.newest = self.newest_header = 0
        self.statuses: Counter[int] = Counter()
        self.problems: list[str] = []
        self.back = 0
        self.phase = "begin"
        self.by_phase: Counter[tuple[str, int]] = Counter()
        self.began = time.monotonic()

    @property
    def share(self) -> float:
        return self.count / self._most

    def go_on(self) -> bool:
        with self._lock:
            self.count += 1
            return self.count <= self._most

    def note(self, status: int, before: int, block: int | None) -> None:
        """Note an answer: what had been seen before the request, what it shows, and the client's header."""
        with self._lock:
            self.statuses[status] += 1
            self.by_phase[self.phase, status] += 1
            if status != 200 and len(self.problems) < 20:
                self.problems.append(f"{status} at {time.monotonic() - self.began:.1f} s, while {self.phase}")
            if block is not None:
                self.back += block < before
                self.newest = max(self.newest, block)


def _client(port: int, number: int, reads: Reads) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    lease = number
    while reads.go_on():
        lease += 1
        is_call = lease % _SHARE_OF_CALLS == 0
        url = "/api/v1/contracts/call" if is_call else _URLS[lease % len(_URLS) if lease % 2 else 0]
        before, block = reads.newest, None
        try:
            if is_call:
                connection.request("POST", url, _CALL, {"Content-Type": "application/json"})
            else:
                connection.request("GET", url)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            reads.note(0, before, None)
            reads.problems.append(repr(error))
            continue
        if answer.status == 200 and url == _URLS[0]:
            block = json.loads(body)["blocks"][0]["number"]
        reads.note(answer.status, before, block)


def _write(cluster: Cluster, ending: threading.Event) -> None:
    """Add blocks, update rows and vacuum them, on whichever server is the primary."""
    number, vacuumed = 0, time.monotonic()
    while not ending.is_set():
        try:
            with psycopg.connect(cluster.primary, autocommit=True) as connection:
                while not ending.wait(_PAUSE_SECONDS):
                    number += 1
                    connection.execute(_BLOCK)
                    connection.execute(_TOUCH, (number % 7,))
                    if time.monotonic() - vacuumed > _VACUUM_SECONDS:
                        connection.execute("vacuum (freeze) entity")
                        vacuumed = time.monotonic()
        except psycopg.Error:
            time.sleep(0.2)


def measure(stream: Path, folder: Path, options: argparse.Namespace) -> bool:
    """Print how requests fare; return whether none failed."""
    cluster = Cluster(folder, options.programs, options.port)
    port = options.port - 10
    node = os.environ | {
        "SVC_MIRROR_NETWORK": "simulated",
        "SVC_MIRROR_DATA": str(folder / "data"),
        "DATABASE_URL": cluster.primary,
        "PORT": str(port),
        "SVC_MIRROR_REST_RATELIMIT_REQUESTSPERSECOND": "0",
        # A cached answer may be as old as its max-age.
        "SVC_MIRROR_REST_CACHE_RESPONSE_ENABLED": "false",
        "SVC_MIRROR_WEB3_THROTTLE_REQUESTSPERSECOND": "100000",
        # A busy machine is no failure.
        "SVC_MIRROR_WEB3_REQUESTTIMEOUT": "5m",
        "SVC_MIRROR_WEB3_DB_STATEMENTTIMEOUT": "1m",
        "SVC_MIRROR_REST_QUERY_TIMEBUDGET": "1m",
        "SVC_MIRROR_REST_DB_STATEMENTTIMEOUT": "1m",
    }
    manage = [sys.executable, "manage.py"]
    first, rest = _halves(stream, folder)
    running: set[int] = set()
    try:
        cluster.make()
        running.add(0)
        subprocess.run([*manage, "migrate", "-v", "0"], cwd=ROOT, env=node, check=True)
        subprocess.run([*manage, "ingest", first], cwd=ROOT, env=node, check=True, stdout=subprocess.DEVNULL)
        for number in (1, 2):
            cluster.copy(number)
            running.add(number)
        serving = node | {"SVC_MIRROR_DB_READ": cluster.replicas}
        with _running([*manage, "serve"], serving, folder / "serve.log"):
            _wait_for(lambda: _answers(port))
            return _asked(cluster, port, options.reads, [*manage, "ingest", str(rest)], node, running, folder)
    finally:
        for number in running:
            with suppress(subprocess.CalledProcessError):
                cluster.stop(number, "immediate")


def _asked(
    cluster: Cluster,
    port: int,
    most: int,
    load: list[str],
    node: dict[str, str],
    running: set[int],
    folder: Path,
) -> bool:
    reads, ending = Reads(most), threading.Event()
    clients = [threading.Thread(target=_client, args=(port, number, reads)) for number in range(_CLIENTS)]
    for client in clients:
        client.start()

    def phase(name: str, share: float) -> None:
        """Go on for so large a part of all reads."""
        reads.phase = name
        print(f"{time.monotonic() - reads.began:6.1f} s  {name}", flush=True)
        until = reads.share + share
        while reads.share < until and any(client.is_alive() for client in clients):
            time.sleep(0.02)

    phase("nothing happens", 0.05)
    loading = subprocess.Popen(load, cwd=ROOT, env=node, stdout=subprocess.DEVNULL)
    phase("blocks are loaded", 0.2)
    writer = threading.Thread(target=_write, args=(cluster, ending))
    writer.start()
    phase("rows are updated and vacuumed", 0.2)
    cluster.stop(1, "fast")
    phase("one replica is stopped", 0.05)
    cluster.start(1)
    phase("it is back", 0.05)
    cluster.stop(2, "immediate")
    phase("the other one is killed", 0.05)
    cluster.stop(1, "fast")
    phase("both are down", 0.05)
    cluster.start(1)
    cluster.start(2)
    phase("both are back", 0.1)
    cluster.stop(0, "immediate")
    running.discard(0)
    phase("the primary is killed", 0.05)
    number = cluster.promote_farthest()
    phase(f"replica {number} is promoted", 1.0)
    loading.terminate()
    loading.wait()
    for client in clients:
        client.join()
    ending.set()
    writer.join()
    seconds = time.monotonic() - reads.began
    print(f"{most:,} reads in {seconds:.0f} s ({most / seconds:,.0f} a second): {dict(reads.statuses)}")
    print(f"{reads.back} were older than an answer before.")
    for problem in reads.problems:
        print(f"  {problem}")
    log = (folder / "serve.log").read_text()
    print(
        "\n".join(
            line for line in log.splitlines() if "replica" in line or "lost" in line or "error" in line
        )[-4000:]
    )
    with suppress(OSError):
        print(_conflicts(port))
    return most == reads.statuses[200]


def _halves(stream: Path, folder: Path) -> tuple[str, str]:
    """Copy the first blocks of a stream into one folder, and the others into another; return both."""
    paths = sorted((stream / "recordstreams").rglob("*.rcd*"), key=lambda path: path.name)
    middle = paths[len(paths) // 2].name[: len("2025-01-01T21_00_02.000000000Z")]
    for path in paths:
        half = folder / ("first" if path.name < middle else "rest")
        place = half / path.relative_to(stream)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    shutil.copy(stream / "addressbook.bin", folder / "first")
    return str(folder / "first"), str(folder / "rest")


def _conflicts(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return "\n".join(line for line in lines if line.startswith("mirror_replica"))


@contextmanager
def _running(command: list[str], environment: dict[str, str], output: Path) -> Iterator[None]:
    with output.open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", _URLS[0])
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _wait_for(happened: Callable[[], bool]) -> None:
    while not happened():
        time.sleep(0.2)


if __name__ == "__main__":
    main()
