"""The answers that clients have not read: a limit for those of a web server process.

Granian has an answer in memory until its client has read it, and does not report when that is. But the kernel
shows the connections with bytes that are not sent yet. Granian begins no other answer of a connection before
almost all of the last one is sent, so each of them has about one answer that waits.
"""

import threading
from collections import Counter, defaultdict
from heapq import nlargest

from mirror.core import logs
from mirror.web.requests.connections import Connection, connections

log = logs.logger("mirror.web")


class UnreadAnswers:
    """Answers that may be unread: beyond `most` bytes, connections are closed until half of that is left.

    First come those of the client with the most bytes, and of these the ones by which nothing was sent for
    longest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        # Client -> the sizes of its answers; those that are read are removed once there are too many bytes.
        self._sizes: defaultdict[str, list[int]] = defaultdict(list)
        self._total = 0

    def add(self, client: str, size: int) -> None:
        """Note an answer that granian is about to get."""
        with self._lock:
            if self._total + size > self._most:
                self._limit()
            self._sizes[client].append(size)
            self._total += size

    def _limit(self) -> None:
        unsent: defaultdict[str, list[Connection]] = defaultdict(list)
        for each in connections():
            if each.unsent_bytes:
                unsent[each.client].append(each)
        closed = Counter[str]()
        sizes = {client: nlargest(len(unsent[client]), self._sizes[client]) for client in unsent}
        while sum(map(sum, sizes.values())) > self._most // 2:
            client = max(sizes, key=lambda each: sum(sizes[each]))
            unsent[client].sort(key=lambda each: each.sent, reverse=True)
            for _ in range((len(unsent[client]) + 1) // 2):
                closed[client] += unsent[client].pop().close()
            sizes[client] = sizes[client][: len(unsent[client])]
        self._sizes = defaultdict(list, sizes)
        self._total = sum(map(sum, sizes.values()))
        for client, number in closed.items():
            log.warning("answers_unread", client=client, connections_closed=number)
