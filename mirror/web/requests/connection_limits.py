"""The connections that a client, and a web server process, may have: beyond that, idle ones are closed."""

import time
from collections import Counter

from mirror.core import config, logs
from mirror.core.config import reverse_proxies
from mirror.web.requests.connections import Connection, connections, pause
from mirror.web.requests.rate_limits import client_key

log = logs.logger("mirror.web")

_CHECK_SECONDS = 0.5
# Part of the connections of a process from which on idle ones are closed.
_NEARLY_ALL = 7 / 8


class ConnectionLimits:
    """The limits of a process that takes up to `most` connections.

    A client has at most half of them. Those of a trusted proxy are of many clients.
    """

    def __init__(self, most: int) -> None:
        self._most = int(most * _NEARLY_ALL)
        self._of_client = min(config.value("web.maxConnectionsPerClient"), most // 2)
        self._proxies: tuple[str, ...] = config.value(reverse_proxies.SETTING)

    def check(self) -> float:
        """Close those beyond the limits: first idle ones, the longest idle first; a repeated check."""
        began = time.monotonic()
        opened = sorted(connections(), key=_order)
        keys = {client: client_key(client) for client in {each.client for each in opened}}
        remaining, of_client = len(opened), Counter(keys[each.client] for each in opened)
        closed = Counter[str]()
        for each in opened:
            client = keys[each.client]
            is_too_many = of_client[client] > self._of_client and not self._is_proxy(each.client)
            if is_too_many or (remaining > self._most and each.is_idle):
                closed[each.client] += each.close()
                of_client[client] -= 1
                remaining -= 1
        for name, number in closed.items():
            log.warning("too_many_connections", client=name, connections_closed=number)
        return pause(_CHECK_SECONDS, began)

    def _is_proxy(self, client: str) -> bool:
        return bool(self._proxies) and reverse_proxies.is_within(client, self._proxies)


def _order(connection: Connection) -> tuple[bool, float]:
    return not connection.is_idle, max(connection.sent, connection.received)
