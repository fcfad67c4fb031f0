"""A node seen from outside while faults strike it: /health/readiness, /metrics and `manage.py status`.

Each is requested repeatedly, in its own thread, so that a fault and its end have a time for each.
"""

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Self

from tests.node import LiveNode

_PATIENCE_SECONDS = 10.0
_DEATHS = re.compile(r"^mirror_deaths_last_hour\{.*\} (\S+)$", re.M)


class Probe(NamedTuple):
    """The answer to a question of that time: whether the node is ready, and the deaths of its processes."""

    at: float
    ready: bool
    #: The number of deaths, or the time of the last one: it grows with each.
    deaths: float


class Announced(NamedTuple):
    """What a fault looked like to one of them, in seconds after its beginning; None if it was not seen."""

    name: str
    death: float | None
    first_no: float | None
    ready_again: float


class Probes:
    """Watches a node while the block runs."""

    def __init__(self, node: LiveNode) -> None:
        self._node = node
        self._ended = threading.Event()
        self.seen: dict[str, list[Probe]] = {}
        watches: dict[str, tuple[Callable[[], tuple[bool, float]], float]] = {
            "health": (self._health, 0.1),
            "metrics": (self._metrics, 0.1),
            "status": (self._status, 0.3),
        }
        self._threads = []
        for name, (look, pause) in watches.items():
            self.seen[name] = []
            self._threads.append(threading.Thread(target=self._watch, args=(name, look, pause), daemon=True))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def all_ready(self) -> bool:
        """Return whether each of them saw the node ready the last time it looked."""
        return all(seen and seen[-1].ready for seen in self.seen.values())

    def ready_since(self, at: float) -> bool:
        """Return whether each of them has looked since then, and saw the node ready."""
        return self.all_ready() and all(seen[-1].at > at for seen in self.seen.values())

    def reports(self, began: float) -> list[Announced]:
        return [self._told(name, seen, began) for name, seen in self.seen.items()]

    def _told(self, name: str, seen: list[Probe], began: float) -> Announced:
        before = max((each.deaths for each in seen if each.at < began), default=0)
        after = [each for each in seen if each.at >= began]
        death = next((each.at - began for each in after if each.deaths > before), None)
        no = [number for number, each in enumerate(after) if not each.ready]
        first_no = after[no[0]].at - began if no else None
        return Announced(name, death, first_no, after[no[-1] + 1].at - began if no else 0.0)

    def _watch(self, name: str, look: Callable[[], tuple[bool, float]], pause: float) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            self.seen[name].append(Probe(began, *look()))
            self._ended.wait(pause)

    def _health(self) -> tuple[bool, float]:
        status, _ = self._get("/health/readiness")
        return status == 200, 0

    def _metrics(self) -> tuple[bool, float]:
        status, text = self._get("/metrics")
        deaths = sum(round(float(count)) for count in _DEATHS.findall(text))
        return status == 200 and "\nmirror_ready 1.0\n" in text, deaths

    def _status(self) -> tuple[bool, float]:
        done = self._node.run("status", "--json")
        with suppress(ValueError, KeyError):
            facts = json.loads(done.stdout)
            ready = facts["ready"] and facts["web_server"]["ready"]
            return ready, max((death["at"] for death in facts["deaths"]), default=0)
        return False, 0

    def _get(self, path: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self._node.port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=_PATIENCE_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""
