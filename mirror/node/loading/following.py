"""Following a network's stream: `manage.py ingest --follow`, and a part of `manage.py up`."""

import threading
import time
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import DatabaseError, connection

from ledger.ingest import IngestError
from ledger.ingest.balances.start import Start
from ledger.ingest.estimate import Estimate, estimate_bucket
from ledger.ingest.following.configured_bucket import names_public_bucket, open_download
from ledger.ingest.following.cutover import Choice, CutoverFollower, LastFile, Stream
from ledger.ingest.following.follower import BlockFollower, Follower, Span
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import read_address_book
from ledger.stream.source.local import find_record_files
from mirror.core import config, logs
from mirror.core.config import clock
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.db.availability import failure, outage
from mirror.core.db.partitions.making import create_partitions_ahead
from mirror.core.db.reading import timeouts
from mirror.core.processes import signals
from mirror.core.processes.progress import Pace
from mirror.core.values import timestamp
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.node.health.facts import Block
from mirror.node.health.status import slow_clock
from mirror.node.loading import archive_maintenance, reconciliation, start_point
from mirror.node.loading.files import single_loader
from mirror.node.postgres.server import Server
from network import bundled

log = logs.logger(__name__)

NOW = "now"
_FIRST_PAUSE, _MAX_PAUSE = 1.0, 60.0


class InvalidTime(OperatorError):
    """A start or an end is no time."""

    exit_code = 2


def follow(
    echo: logs.Echo,
    stopping: threading.Event,
    location: str = "",
    *,
    start: str = "",
    until: str = "",
    server: Server | None = None,
) -> Progress:
    """Load a stream as it is published, until `stopping` is set or `until` is reached.

    `location` is a folder or URL, by default the configured bucket. `start` and `until` are times that
    replace importer.startDate and endDate; a start of "now" only counts while nothing is loaded. While the
    database is away this waits, and starts `server` again if it has died. Errors: OperatorError.
    """
    run = _Run(echo, stopping, location, start, until)
    try:
        again = server.ensure_up if server else None
        finished = outage.retry_during_outage(run.follow, stopping, again)
    except (StreamFileError, IngestError) as error:
        raise OperatorError(str(error)) from error
    except DatabaseError as error:
        if server:
            server.check_disk()
        raise OperatorError(failure.line(error)) from error
    return finished or run.committed


@dataclass
class _Run:
    """A run of `follow`, which outages of the database may interrupt; `committed` is its progress so far."""

    echo: logs.Echo
    stopping: threading.Event
    location: str
    start: str
    until: str
    committed: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.clock_check = ClockCheck(self.echo)

    def follow(self) -> Progress:
        """Follow until the end or an error."""
        start, until = self._dates()
        first, last = _time(start), _time(until)
        if first is not None and last is not None and first > last:
            raise OperatorError(f"The start {start} is after the end {until}.")
        with config.overridden({"importer.startDate": start, "importer.endDate": until}):
            create_partitions_ahead()
            book = _demo_address_book(self.location)
            quorums = Quorums(book)
            source = _source_name(_choice(first), self.location)
            self.echo(f"Following {source}.")
            balances: Start | None = None
            if first is not None:
                if _loaded():
                    first = start_point.effective(first)
                elif balances := start_point.from_bucket(self.location, book, first, self.echo):
                    first = balances.last + 1
                config.overridden({"importer.startDate": start_point.date_text(first)})
            choice = _choice(first)
            # Networks that publish blocks write no balance files.
            has_balance_files = choice.stream is Stream.RECORD
            with (
                single_loader(),
                Reporting(source=source, following=True) as report,
                reconciliation.in_thread(self.echo, self.location) if has_balance_files else nullcontext(),
                archive_maintenance.in_thread(self.echo, self.location, book),
            ):
                pipeline = Pipeline(
                    LoadOptions(start=first, balances=balances, quorums=quorums),
                    report=_Lines(self.echo, report, self.clock_check).show,
                    progress=replace(self.committed),
                )
                span = Span(start=first, until=last, from_containing_file=balances is not None)
                return self._load(pipeline, self._follower(choice, quorums, report, span))

    def _dates(self) -> tuple[str, str]:
        """Return start and end as importer.startDate and endDate have them; empty for none."""
        start, until = self.start or config.value("importer.startDate"), self.until
        if start == NOW and _loaded():
            start = ""
        elif start == NOW or (not start and not _loaded() and not self.location and names_public_bucket()):
            start = timestamp.iso_text(clock.now_ns())
        return start, until or config.value("importer.endDate")

    def _follower(self, choice: Choice, quorums: Quorums, report: Reporting, span: Span) -> CutoverFollower:
        def record_files() -> Follower:
            return Follower(open_download(self.location), quorums, report, stopping=self.stopping, span=span)

        def blocks() -> BlockFollower:
            source = archive_maintenance.open_blocks(self.location)
            return BlockFollower(source, quorums, report, stopping=self.stopping, until=span.until)

        return CutoverFollower(choice, {Stream.RECORD: record_files, Stream.BLOCK: blocks})

    def _load(self, pipeline: Pipeline, follower: CutoverFollower) -> Progress:
        try:
            with closing(follower.files()) as files:
                finished = pipeline.run(files)
        finally:
            self.committed = pipeline.committed
        if problem := follower.problem:
            self.echo(f"It was waiting for this: {problem.file}: {problem.cause}. {problem.cure}")
        return finished


def _choice(first: int | None) -> Choice:
    """Return which stream to follow, from a time (ns) on if nothing is stored. Errors: OperatorError."""
    last = LastFile.stored()
    choice = Choice(last, starts_at_time=first is not None)
    if last is None and first is not None and choice.stream is Stream.BLOCK:
        raise OperatorError(
            "Blocks are found by their numbers, not by time: name the first one by "
            f"{config.lookup('importer.startBlockNumber').variable} instead of a time to begin at."
        )
    return choice


def _source_name(choice: Choice, location: str) -> str:
    """Return where the stream is that is followed first, in words. Errors: OperatorError."""
    if choice.stream is Stream.BLOCK:
        with closing(archive_maintenance.open_blocks(location)) as source:
            return source.location
    with closing(open_download(location)) as download:
        return download.bucket.location


def estimate(location: str = "", start: str = "", until: str = "") -> Estimate:
    """Return what following from `start` to `until` or now would load.

    Errors: OperatorError, StreamFileError.
    """
    first = _time(start or config.value("importer.startDate"))
    last = _time(until or config.value("importer.endDate")) or clock.now_ns()
    if first is None or first >= last:
        raise OperatorError("An estimate needs a time to begin at: name one before the end by --from.")
    book = bundled.address_book() or _demo_address_book(location)
    if book is None:
        raise OperatorError(
            f"No nodes of the network {config.value('network')} are known: name its first address book by "
            f"{config.lookup('importer.initialAddressBook').variable}."
        )
    with closing(open_download(location)) as download:
        nodes = read_address_book("address book", book)
        return estimate_bucket(download.bucket, download.layout, nodes, first, last)


class ClockCheck:
    """Says once that the clock of this machine is behind the blocks that are loaded."""

    def __init__(self, echo: logs.Echo) -> None:
        self._echo, self._is_said = echo, False

    def check(self, progress: Progress) -> None:
        if self._is_said or not progress.last:
            return
        if sentence := slow_clock((progress.last.consensus_end - clock.now_ns()) // NANOS_PER_SECOND):
            self._echo(sentence)
            self._is_said = True


class _Lines:
    def __init__(self, echo: logs.Echo, report: Reporting, clock_check: ClockCheck) -> None:
        self._echo, self._report, self._clock_check, self._pace = echo, report, clock_check, Pace()

    def show(self, progress: Progress) -> None:
        self._report.loading(progress)
        self._clock_check.check(progress)
        if not progress.last or not self._pace.is_due():
            return
        block = Block(progress.last.index, progress.last.consensus_end, progress.last.name)
        behind = max(0, (clock.now_ns() - block.consensus_end) // NANOS_PER_SECOND)
        self._echo(
            f"{progress.files:,} files with {progress.transactions:,} transactions loaded; block "
            f"{block.number:,} of {block.time}, {duration(behind)} old"
        )


def follow_until_stopped(echo: logs.Echo) -> None:
    """Follow the configured stream until a signal asks to stop; after an error, try again after a pause."""
    timeouts.use(timeouts.LOADER)
    stopping = signals.stop_event()
    pause = _FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            follow(echo, stopping)
            return
        except OperatorError as error:
            reason = str(error)
        except Exception as error:
            log.exception("loader_failed")
            reason = f"{type(error).__name__}: {error}."
        if time.monotonic() - began > _MAX_PAUSE:
            pause = _FIRST_PAUSE
        echo(f"Loading stopped: {reason} It starts again in {pause:.0f} s.")
        connection.close()
        if stopping.wait(pause):
            return
        pause = min(pause * 2, _MAX_PAUSE)


def _loaded() -> bool:
    return bool(statements.value("select exists (select from record_file)"))


def _time(text: str) -> int | None:
    try:
        return timestamp.parse_iso(text) if text else None
    except timestamp.InvalidTimestamp as error:
        raise InvalidTime(f"{error}.") from None


def _demo_address_book(location: str) -> bytes | None:
    """Return the first address book of a demo network; the first file of a folder tells which one."""
    in_folder = config.value("network") == bundled.DEMO and location and Path(location).is_dir()
    return bundled.demo_address_book(find_record_files([Path(location)]) if in_folder else ())
