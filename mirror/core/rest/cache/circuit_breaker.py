"""Circuit breaker: a service that failed is not called for a while."""

import threading
import time
from collections.abc import Callable

from mirror.core import logs

log = logs.logger("mirror.rest")

_PAUSE_SECONDS = 5.0


class Circuit:
    """Decides whether to call a service. After a failure it stays open for `pause` seconds.

    Then one request tries the service, while the others still skip it. The log reports the first failure, and
    the recovery.
    """

    def __init__(
        self, service: str, pause: float = _PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._service, self._pause, self._clock = service, pause, clock
        self._open_until: float | None = None
        self._lock = threading.Lock()

    def closed(self) -> bool:
        """Return whether to call the service; `record_success` or `record_failure` has to follow."""
        if self._open_until is None:
            return True
        with self._lock:
            now = self._clock()
            if self._open_until is None or now < self._open_until:
                return self._open_until is None
            self._open_until = now + self._pause
            return True

    def record_success(self) -> None:
        if self._open_until is None:
            return
        with self._lock:
            if self._open_until is not None:
                self._open_until = None
                log.warning("service_back", service=self._service)

    def record_failure(self, error: Exception) -> None:
        with self._lock:
            first = self._open_until is None
            self._open_until = self._clock() + self._pause
        if first:
            reason = f"{type(error).__name__}: {error}"[:200]
            log.warning("service_failed", service=self._service, reason=reason, pause_s=self._pause)
