"""Answers from tables divided by month against the same from whole tables, request by request.

    python -m tests.benchmarks.partitions URLS postgresql://...whole postgresql://...divided [--rounds 40]

URLS is a file with a name and a path on each line. Both databases have the same rows; one is that of a node
with SVC_MIRROR_DB_PARTITIONS=true. A process for each answers in turn, without HTTP and without the response
cache, so that whatever else the machine does meets both alike. Printed are the fastest answers in ms, their
quotient, and whether the answers are the same; the exit code is 1 if one is slower by more than the target.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TARGET = 1.3
_WARM_UP = 5


def _answer() -> None:
    """Answer the paths of standard input, each with the seconds that it took and the answer."""
    from django.core.wsgi import get_wsgi_application

    from mirror.core import config

    config.overridden({"rest.cache.response.enabled": False})
    application = get_wsgi_application()
    for line in sys.stdin:
        path, _, query = line.strip().partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "wsgi.input": io.BytesIO(),
            "wsgi.url_scheme": "http",
        }
        began = time.perf_counter()
        response = application(environ, _start_response)
        body = b"".join(response).decode()
        seconds = time.perf_counter() - began
        response.close()
        print(json.dumps([seconds, body]), flush=True)


def _start_response(status: str, headers: Any, error: Any = None, /) -> Callable[[bytes], object]:
    return lambda data: None


class _Worker:
    def __init__(self, database: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "--answer"],
            env=os.environ | {"DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "mirror.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def get(self, path: str) -> tuple[float, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(path + "\n")
        self._process.stdin.flush()
        seconds, *answer = json.loads(self._process.stdout.readline())
        return seconds, answer

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def compare(paths: dict[str, str], databases: list[str], rounds: int) -> bool:
    """Print the comparison; return whether every quotient reaches the target."""
    workers = [_Worker(database) for database in databases]
    good = True
    print(f"{'request':28}{'whole':>9}{'divided':>9}{'quotient':>9}")
    for name, path in paths.items():
        seconds: list[list[float]] = [[], []]
        answers: list[Any] = [None, None]
        for number in range(_WARM_UP + rounds):
            for place, worker in enumerate(workers):
                took, answers[place] = worker.get(path)
                if number >= _WARM_UP:
                    seconds[place].append(took * 1000)
        whole, divided = map(min, seconds)
        same = "" if answers[0] == answers[1] else "  other answer"
        slow = "  slow" if divided / whole > _TARGET else ""
        good = good and not (same or slow)
        print(f"{name:28}{whole:9.2f}{divided:9.2f}{divided / whole:9.2f}{same}{slow}", flush=True)
    for worker in workers:
        worker.close()
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("urls", type=Path)
    parser.add_argument("whole")
    parser.add_argument("divided")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    lines = [line.split() for line in given.urls.read_text().splitlines() if line[:1] not in ("", "#")]
    sys.exit(not compare(dict(line[:2] for line in lines), [given.whole, given.divided], given.rounds))


if __name__ == "__main__":
    if sys.argv[1:] == ["--answer"]:
        _answer()
    else:
        main()
