"""Reconciliation with the balance files that the network publishes, in the background of a loader.

It has a thread, a connection and requests of its own, so loading does not wait for it.
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import psycopg
from django.db import connection

from ledger.ingest import IngestError
from ledger.ingest.balances.reconciliation import (
    Comparison,
    NotComparable,
    Outcome,
    compare_newest,
    is_comparable,
)
from ledger.ingest.following.configured_bucket import open_balance_download
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.balance_files import BalanceDownload
from mirror.core import config, logs
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.processes.background_thread import in_background

log = logs.logger(__name__)


_SETTING = "importer.balances.reconcile"
_MAX_PAUSE = 300.0
_CANCEL_SECONDS = 0.5
# A file may state millions of balances.
_WITHOUT_LIMIT = "set statement_timeout = 0"


class BalanceComparer:
    """Compares each new balance file; the pauses between attempts grow while there is none."""

    def __init__(self, download: BalanceDownload, echo: logs.Echo, stopping: threading.Event) -> None:
        self._download, self._echo, self._stopping = download, echo, stopping
        self._last_reason = ""
        self._session: psycopg.Connection[tuple[object, ...]] | None = None

    def run(self) -> None:
        first: float = config.value("importer.balances.frequency")
        pause = first
        while not self._stopping.wait(pause):
            try:
                compared = self.compare()
            except Exception:
                log.exception("comparing_balances_failed")
                compared = None
            pause = first if compared else max(first, min(pause * 2, _MAX_PAUSE))

    def compare(self) -> Comparison | None:
        """Compare the newest file, if there is one; say what differs, or, once, why it can't be compared."""
        try:
            compared = outage.retry_during_outage(self._compare, self._stopping)
        except NotComparable as problem:
            log.info("balances_not_compared", reason=str(problem))
            return None
        except StreamFileError as error:
            self._failed(error.file, f"{error.file}: {error.cause}")
            return None
        except (IngestError, *outage.ERRORS) as error:
            reason = outage.reason(error)
            self._failed(reason, reason)
            return None
        finally:
            self._session = None
            # The database may close a connection that is idle for long.
            with suppress(*outage.ERRORS):
                connection.close()
        if compared:
            self._last_reason = ""
            differences = compared.hbar + compared.tokens
            log.info(
                "balances_compared",
                file=compared.file,
                balances=compared.balances,
                differences=differences,
            )
            if compared.outcome is not Outcome.EQUAL:
                self._echo(f"Balances are not those of the network: {compared.sentence}")
        return compared

    def cancel(self) -> None:
        if session := self._session:
            with suppress(psycopg.Error):
                session.cancel_safe(timeout=_CANCEL_SECONDS)

    def _compare(self) -> Comparison | None:
        statements.execute(_WITHOUT_LIMIT)
        self._session = connection.connection
        if self._stopping.is_set() or not is_comparable():
            return None
        return compare_newest(self._download, Quorums())

    def _failed(self, what: str, reason: str) -> None:
        """Say why the file can't be compared, unless that was said last."""
        if self._stopping.is_set():
            return
        log.warning("balances_not_read", reason=reason)
        if what != self._last_reason:
            self._last_reason = what
            reason = reason.rstrip(".")
            self._echo(f"Balances were not compared with those of the network: {reason}. It is tried again.")


@contextmanager
def in_thread(echo: logs.Echo, location: str = "") -> Iterator[None]:
    """Compare in a thread for the length of the block, if the setting is on. Errors: OperatorError."""
    if config.value(_SETTING) == "off":
        yield
        return
    stopping, download = threading.Event(), open_balance_download(location)
    comparing = BalanceComparer(download, echo, stopping)
    with (
        closing(download),
        in_background("reconciliation", comparing.run, stopping, interrupt=comparing.cancel),
    ):
        yield
