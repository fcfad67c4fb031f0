"""Granian's server on a socket of the supervisor; it reports deaths of workers before it starts new ones."""

import socket
import time
from multiprocessing.connection import wait
from typing import Any

from granian._granian import SocketHolder
from granian.server.mp import MPServer

from mirror.core import logs
from mirror.core.processes import exits
from mirror.core.processes.backoff import Backoff

log = logs.logger("mirror.web")


class Server(MPServer):
    """Granian's server. Left to itself, it ends when a worker dies twice within seconds."""

    def __init__(self, application: str, *, listening: socket.socket, **options: Any) -> None:
        super().__init__(application, **options)
        self._listening = listening
        self._pauses: dict[int, Backoff] = {}

    def _init_shared_socket(self) -> None:
        holder: Any = SocketHolder
        # Granian declares them as what they are before this.
        self._sfd = self._listening.fileno()  # type: ignore[assignment]
        self._shd = holder(self._sfd, False, self.backlog)
        self._sso = None

    def _stop_workers(self) -> None:
        """Let workers finish their answers, and end those whose clients send or take nothing."""
        deadline = time.monotonic() + (self.workers_kill_timeout or 0)
        for worker in self.wrks:
            worker.interrupt_by_parent = True
            worker.inner.terminate()
        for worker in self.wrks:
            # `is_alive` is still true while Granian's own thread collects the exit status.
            if not wait([worker.inner.sentinel], max(deadline - time.monotonic(), 0.001)):
                log.warning("worker_killed", process=worker.inner.pid, seconds=self.workers_kill_timeout)
                worker.inner.kill()
            worker.inner.join()

    def _respawn_workers(self, workers: list[int], *args: Any, **options: Any) -> None:
        pause = 0.0
        for number in workers:
            worker = self.wrks[number]
            process = f"web worker {number + 1} (process {worker.inner.pid})"
            pauses = self._pauses.setdefault(number, Backoff())
            pause = max(pause, pauses.after(time.monotonic() - worker.birth))
            exits.record(process, exits.reason(worker.inner.exitcode), pause)
        # The other workers serve meanwhile. A request to stop ends the pause.
        deadline = time.monotonic() + pause
        while not self.interrupt_signal and (remaining := deadline - time.monotonic()) > 0:
            self.main_loop_interrupt.wait(min(remaining, 0.2))
            time.sleep(0.05)
        if self.interrupt_signal:
            self.main_loop_interrupt.set()
            return
        super()._respawn_workers(workers, *args, **options)
        self.respawned_wrks.clear()
