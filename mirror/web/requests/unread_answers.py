"""A limit on the memory that unread answers take in a web server process.

Granian holds an answer in memory until the client has read it, without reporting when. The kernel reports
which connections have unsent bytes. Granian starts the next answer of a connection only when the last one is
almost sent, so each such connection holds about one answer.
"""

import threading
from collections import Counter, defaultdict
from heapq import nlargest

from mirror.core import logs
from mirror.web.requests.connections import Connection, connections

log = logs.logger("mirror.web")


class UnreadAnswers:
    """Closes connections when unread answers exceed `most` bytes, until half of that is left.

    The client with the most bytes is first; of its connections, the one that has been stalled longest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        # Client -> sizes of its answers; answers that have been read are removed when the limit is reached.
        self._sizes: defaultdict[str, list[int]] = defaultdict(list)
        self._total = 0

    def add(self, client: str, size: int) -> None:
        """Count an answer that is about to be passed to granian."""
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
