"""The order in which calls get processes: clients take turns, and leave one process to others.

A client may use all processes while no other client has called for a minute. The pool holds its lock during
each call of a method.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping

from cachetools import TTLCache

from mirror.core.rest.limits.clients import Client
from web3sim.processes.starter import WorkerProcess

_RECENT_SECONDS, _MAX_RECENT = 60.0, 1000


class WaitingCall:
    """A call without a process; `ready` is notified when there may be one."""

    def __init__(self, client: Client, lock: threading.Lock) -> None:
        self.client, self.ready = client, threading.Condition(lock)


class Queue:
    """The calls that wait for one of `size` processes; `busy` maps the processes in use to their clients."""

    def __init__(
        self,
        size: int,
        max_waiting: int,
        busy: Mapping[WorkerProcess, Client],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size, self._max_waiting, self._busy, self._clock = size, max_waiting, busy, clock
        self._waiting: list[WaitingCall] = []
        # Client -> when it last got a process, or 0; for clients that have called in the last minute.
        self._recent: TTLCache[int, float] = TTLCache(_MAX_RECENT, _RECENT_SECONDS, clock)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, call: WaitingCall) -> None:
        self._waiting.append(call)
        key = call.client.key
        # Setting the entry again restarts its minute.
        self._recent[key] = self._recent.get(key, 0.0)

    def remove(self, call: WaitingCall, *, is_served: bool) -> None:
        self._waiting.remove(call)
        if is_served:
            self._recent[call.client.key] = self._clock()

    def next(self) -> WaitingCall | None:
        """Return the call that gets the next process; None if no client may have one more."""
        return next((call for call in self._ordered() if not self._is_at_limit(call.client)), None)

    def is_beyond(self, call: WaitingCall) -> bool:
        """Return whether at least `max_waiting` calls precede a call that only long calls delay."""
        if self._ordered().index(call) < self._max_waiting:
            return False
        if self._is_at_limit(call.client):
            return all(worker.is_long for worker, client in self._busy.items() if client == call.client)
        return len(self._busy) >= self._size and all(worker.is_long for worker in self._busy)

    def surplus(self, call: WaitingCall) -> WorkerProcess | None:
        """Return the process to end for a call: the latest one of a client with long calls in all of them."""
        clients = set(self._busy.values())
        if len(self._busy) < max(self._size, 2) or len(clients) > 1 or call.client in clients:
            return None
        if any(client.is_exempt for client in clients) or not all(worker.is_long for worker in self._busy):
            return None
        return max(self._busy, key=lambda worker: worker.began)

    def _ordered(self) -> list[WaitingCall]:
        """Return the calls by how many of their client run or wait before them, then by its last turn."""
        numbers = Counter(client.key for client in self._busy.values())
        order = []
        for arrival, call in enumerate(self._waiting):
            key = call.client.key
            order.append((numbers[key], self._recent.get(key, 0.0), arrival))
            numbers[key] += 1
        return [self._waiting[arrival] for _, _, arrival in sorted(order)]

    def _is_at_limit(self, client: Client) -> bool:
        """Return whether a client has as many processes as it may have."""
        is_alone = client.is_exempt or not any(key != client.key for key in self._recent)
        limit = self._size if is_alone else max(self._size - 1, 1)
        return sum(other == client for other in self._busy.values()) >= limit
