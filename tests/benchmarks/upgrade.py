"""Upgrade a node of an older release while it answers and loads: failed requests, wrong answers, times.

    python -m tests.benchmarks.upgrade FOLDER --generator generate_dataset.py --urls urls.txt --old CHECKOUT

FOLDER is the data folder of a node. If it has no database yet, one with the older release's tables is made,
and filled by the generator (of shared/bench). Its Ethereum transactions get real RLP, and tinybars. CHECKOUT
is the older release's code: its web server answers until that of this release does, which is started before
the tables are changed and waits for them. While rows are changed, blocks of a simulated network are loaded.

A demo that the older release has made (FOLDER/demo-stream) is upgraded as it is, and verified in the end.
"""

import itertools
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
OLD_STATE = (("ledger", "0002"), ("contracts", "0001"), ("network", "0001"), ("mirror", "0003"))
CLIENTS = 2
PHASE_SECONDS = 30
_TRANSACTION_INDEX = re.compile(rb'"(transaction_index|transactionIndex)": ?(null|\d+)')


class Exact(NamedTuple):
    """An Ethereum transaction: its hash, and its value and highest price in weibars."""

    hash: str
    amount: int
    max_fee: int


@dataclass
class Observations:
    """Latencies by phase, failures, and the different answers of the new server to each request."""

    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: Counter[str] = field(default_factory=Counter)
    answers: dict[str, list[tuple[str, bytes]]] = field(default_factory=lambda: defaultdict(list))


class Clients:
    """Clients that ask one request after the other, of the old server until the new one answers."""

    def __init__(self, urls: dict[str, str], old: int, new: int) -> None:
        self.seen = Observations()
        self.phase = "before"
        self.server = f"http://127.0.0.1:{old}"
        self._new = f"http://127.0.0.1:{new}"
        self._urls = urls
        self._over = threading.Event()
        self.exact: list[Exact] = []
        self.wrong: list[str] = []
        self.checked = 0
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _check_exact(self, number: int) -> None:
        """Ask for an Ethereum transaction in weibars; both amounts are known."""
        exact = self.exact[number % len(self.exact)]
        status, body = get(f"{self._new}/api/v1/contracts/results/{exact.hash}?hbar=false")
        answer = json.loads(body) if status == 200 else {}
        found = answer.get("amount"), answer.get("max_fee_per_gas")
        self.checked += 1
        if found != (exact.amount, hex(exact.max_fee)):
            self.wrong.append(f"{self.phase}: {exact}: {status} {found}")

    def change_server(self) -> None:
        self.server = self._new

    def _ask(self, number: int) -> None:
        names = list(self._urls)
        for name in itertools.cycle(names[number::CLIENTS] + names[: number * 7]):
            if self._over.is_set():
                return
            phase, server = self.phase, self.server
            if server == self._new and self.exact:
                self._check_exact(random.randrange(len(self.exact)))
            began = time.monotonic()
            status, body = get(server + self._urls[name])
            self.seen.milliseconds[phase].append((time.monotonic() - began) * 1000)
            if status != 200:
                which = "new" if server == self._new else "old"
                self.seen.failures[f"{phase}, {which} server: {name}: {status} {body[:160]!r}"] += 1
            elif server == self._new:
                answers = self.seen.answers[name]
                plain = _TRANSACTION_INDEX.sub(b"", body)
                if not answers or answers[-1][1] != plain:
                    answers.append((phase, plain))


def get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError as error:
        return 0, str(error).encode()


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--generator", type=Path)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--urls", type=Path, required=True)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--ports", type=int, nargs=2, default=(0, 0))
    options = parser.parse_args()
    options.demo = options.folder / "demo-stream"
    network = "demo" if options.demo.exists() else "simulated"
    environment = os.environ | {"SVC_MIRROR_DATA": str(options.folder), "SVC_MIRROR_NETWORK": network}
    environment.pop("DATABASE_URL", None)
    os.environ.update(environment)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    import django

    django.setup()
    from mirror.node.postgres.place import place
    from mirror.node.start import database

    is_new = not place(options.folder).data.exists()
    urls = dict(
        line.split(None, 1) for line in options.urls.read_text().splitlines() if line and line[0] != "#"
    )
    with database.ready(print) as server:
        if is_new:
            make_old(options)
        assert server is not None
        exact = [] if options.demo.exists() else make_exact()
        upgrade(options, {name: url.strip() for name, url in urls.items()}, environment, exact)


def make_old(options: Any) -> None:
    """Make the older release's tables and fill them."""
    from django.core.management import call_command
    from django.db import connection

    for app, migration in OLD_STATE:
        call_command("migrate", app, migration, verbosity=0)
    for app in ("tokens", "web3sim"):
        call_command("migrate", app, verbosity=0)
    given = connection.get_connection_params()
    dsn = f"postgresql://{given.get('user', '')}@/{given['dbname']}?host={given['host']}"
    subprocess.run([sys.executable, options.generator, "--dsn", dsn, "--scale", options.scale], check=True)


def make_exact() -> list[Exact]:
    """Give every Ethereum transaction real RLP and the amounts that the older release stored for it.

    Return a sample of them.
    """
    import rlp
    from django.db import connection, transaction

    sample = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "create temporary table exact (at bigint, data bytea, value bytea, fee bytea) on commit drop"
        )
        cursor.execute("select consensus_timestamp, hash from ethereum_transaction order by 1")
        rows = cursor.fetchall()
        with cursor.copy("copy exact from stdin") as copy:
            for number, (at, hash) in enumerate(rows):
                amount, fee = number * 10**10 + number, (71 + number % 50) * 10**10 + 7
                access = [[b"\xbb" * 20, [b"\1" * 32]]]
                elements = [298, number, 1, fee, 100_000, b"\xaa" * 20, amount, b"", access, 1, b"r", b"s"]
                data = b"\2" + rlp.encode(elements)
                copy.write_row((at, data, tinybars(amount), tinybars(fee)))
                if number % 97 == 0:
                    sample.append(Exact(f"0x{bytes(hash).hex()}", amount, fee))
        cursor.execute(
            "update ethereum_transaction t set data = e.data, value = e.value, max_fee_per_gas = e.fee, "
            "type = 2 from exact e where e.at = t.consensus_timestamp"
        )
        cursor.execute(
            "update contract_result r set transaction_index = t.index from transaction t "
            "where t.consensus_timestamp = r.consensus_timestamp"
        )
    return sample


def tinybars(weibars: int) -> bytes:
    number = weibars // 10**10
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def upgrade(options: Any, urls: dict[str, str], environment: dict[str, str], exact: list[Exact]) -> None:
    old, new = options.ports if all(options.ports) else (free_port(), free_port())
    clients = Clients(urls, old, new)
    clients.exact = exact
    with (
        serving(options.old, old, environment) as old_server,
        serving(ROOT, new, environment, wait=False),
    ):
        clients.start()
        time.sleep(PHASE_SECONDS)
        clients.phase = "tables"
        began = time.monotonic()
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
        migrated = time.monotonic()
        wait_for(new)
        clients.change_server()
        changed = time.monotonic()
        old_server.terminate()
        clients.phase = "rows"
        loading = Loading()
        if not options.demo.exists():
            loading.start()
        rows_began = time.monotonic()
        subprocess.run([sys.executable, "manage.py", "upgrade"], cwd=ROOT, env=environment, check=True)
        rows_ended = time.monotonic()
        if not options.demo.exists():
            loading.stop()
        clients.phase = "after"
        time.sleep(PHASE_SECONDS)
        clients.stop()
    print(
        f"\ntables {migrated - began:.1f} s, new server after {changed - migrated:.1f} s, "
        f"rows {rows_ended - rows_began:.0f} s, {loading.blocks} blocks loaded meanwhile"
    )
    report(clients.seen)
    print(f"{clients.checked} answers in weibars were checked, {len(clients.wrong)} were wrong")
    for wrong in clients.wrong[:10]:
        print(f"  {wrong}")
    if options.demo.exists():
        subprocess.run([sys.executable, "manage.py", "verify", options.demo], cwd=ROOT, env=environment)


def report(seen: Observations) -> None:
    print("| phase | requests | p50 ms | p99 ms | longest ms |\n|---|---|---|---|---|")
    for phase, all_of_it in seen.milliseconds.items():
        times = sorted(all_of_it)
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"| {phase} | {len(times)} | {p50:.1f} | {p99:.1f} | {times[-1]:.0f} |")
    print(f"failed requests: {sum(seen.failures.values())}")
    for failure, count in seen.failures.most_common():
        print(f"  {count} x {failure}")
    changing = {name: found for name, found in seen.answers.items() if len(found) > 1}
    print(
        f"{len(seen.answers) - len(changing)} requests had one answer throughout; "
        f"these had several (the newest rows of a list change while blocks are loaded):"
    )
    for name, found in changing.items():
        print(f"  {name}: {len(found)}, e.g. {difference(found[0][1], found[-1][1])}")


def difference(first: bytes, last: bytes) -> str:
    """Return where two answers begin to differ."""
    at = next((i for i, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, at - 40)
    return json.dumps([first[start : at + 40].decode(), last[start : at + 40].decode()])


class Loading(threading.Thread):
    """A loader of the blocks of a simulated network, one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = 0
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        from django.db import connections

        from ledger.ingest.pipeline import LoadOptions, Pipeline
        from ledger.stream.source.local import find_record_files
        from mirror.demo.keys.nodes import nodes
        from mirror.demo.publish.history import History

        with TemporaryDirectory() as folder:
            for _, block in History(blocks=10_000, tps=10, seed=1, start=time.time_ns()).play(nodes()):
                if self._over.is_set():
                    break
                block.write(Path(folder))
                Pipeline(options=LoadOptions(allow_gap=True)).run(find_record_files([Path(folder)]))
                shutil.rmtree(folder)
                Path(folder).mkdir()
                self.blocks += 1
                self._over.wait(0.3)
        connections.close_all()


# SERVERS


@contextmanager
def serving(
    code: Path, port: int, environment: dict[str, str], *, wait: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    own = code / ".venv/bin/python"
    process = subprocess.Popen(
        [own if own.exists() else sys.executable, "manage.py", "serve"],
        cwd=code,
        env=environment | {"PORT": str(port)},
    )
    try:
        if wait:
            wait_for(port)
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int) -> None:
    while get(f"http://127.0.0.1:{port}/api/v1/blocks?limit=1")[0] != 200:
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
