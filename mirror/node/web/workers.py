"""Granian's server, which also reports the deaths of its workers and pauses before it starts new ones."""

import os
import socket
import time
from typing import Any

from granian._granian import ListenerSpec, SocketHolder
from granian.server.mp import MPServer

from mirror import logs
from mirror.node.web import stalled_clients
from mirror.processes import deaths
from mirror.processes.pauses import Pauses

log = logs.logger("mirror.web")


class Server(MPServer):
    """Granian's server. Left to itself, it ends when a worker dies twice within seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pauses: dict[int, Pauses] = {}

    def _respawn_workers(self, workers: list[int], *args: Any, **options: Any) -> None:
        pause = 0.0
        for number in workers:
            worker = self.wrks[number]
            process = f"web worker {number + 1} (process {worker.inner.pid})"
            why = deaths.reason(worker.inner.exitcode)
            pauses = self._pauses.setdefault(number, Pauses())
            pause = max(pause, pauses.after(time.monotonic() - worker.birth))
            deaths.record(process, why)
            log.error("process_died", process=process, reason=why, pause_s=round(pause))
        # The other workers serve meanwhile. A request to stop ends the pause.
        deadline = time.monotonic() + pause
        while not self.interrupt_signal and (left := deadline - time.monotonic()) > 0:
            self.main_loop_interrupt.wait(min(left, 0.2))
            time.sleep(0.05)
        if self.interrupt_signal:
            self.main_loop_interrupt.set()
            return
        super()._respawn_workers(workers, *args, **options)
        self.respawned_wrks.clear()


def work(
    number: int,
    process_name: str | None,
    application: Any,
    sockets: tuple[tuple[ListenerSpec, SocketHolder | None], Any],
    *options: Any,
) -> None:
    """Run a worker as granian does, on a socket that limits how long a client may take nothing."""
    (address, _), shared = sockets
    bound = address.build()
    with socket.socket(fileno=os.dup(bound.get_fd())) as listening:
        stalled_clients.limit_answers(listening)
    MPServer._spawn_wsgi_worker(number, process_name, application, ((None, bound), shared), *options)
