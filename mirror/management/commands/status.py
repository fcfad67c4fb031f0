"""`manage.py status`: one sentence about what the node is doing, and an inventory of what it holds."""

import json
import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.management.command import NodeCommand, argument
from mirror.node.health import inventory, status
from mirror.node.health.facts import State
from mirror.node.health.status import Status
from mirror.start import database
from mirror.upgrade.tables import check_current
from mirror.web.grpc import process as grpc
from mirror.web.monitoring import probe

# A database that runs answers far sooner.
_PATIENCE_SECONDS = 3.0


class Command(NodeCommand):
    help = (
        "Say what the node is doing, how far behind it is, and what to do when it can't go on. Lines below "
        "that show what it holds and where. The exit code is 1 when somebody has to do something, else 0."
    )
    when = "Use it first whenever something seems wrong. It changes nothing, and may run at any time."
    examples = (
        ("status", "A few lines for people."),
        ("status --json", "The same facts for programs."),
    )
    arguments = (argument("--json", "print the facts as JSON, for programs"),)

    def run_from_argv(self, argv: list[str]) -> None:
        """Run with the database as it is now: none is made, and none is waited for. Errors: OperatorError."""
        try:
            with database.ready(self.stderr.write, make=False, wait=False):
                super().run_from_argv(argv)
        except OperatorError as error:
            if "--json" not in argv:
                raise
            self._write_json({"sentence": str(error), "state": "unknown", "needs_help": True})
            sys.exit(error.exit_code)

    def handle(self, *args: Any, **options: Any) -> None:
        with time_limit(_PATIENCE_SECONDS):
            check_current()
            now = status.read()
            stock = inventory.read(now)
        answer = probe.probe()
        if options["json"]:
            servers = {"web_server": answer.json, "grpc_server": grpc.state()}
            self._write_json(now.json | stock.json(now) | servers)
        else:
            state_of_grpc = grpc.state()
            last = [("gRPC server", state_of_grpc["text"])] if state_of_grpc else []
            self._show(now, [*stock.lines(now), ("Web server", answer.text), *last])
        if now.needs_operator:
            sys.exit(1)

    def _show(self, now: Status, pairs: Sequence[tuple[str, str]]) -> None:
        sentence = now.sentence
        if self.stdout.isatty():
            sentence = textwrap.fill(sentence, shutil.get_terminal_size().columns, break_long_words=False)
        self.echo(f"{self._colour(now)(sentence)}\n\n")
        width = max(len(heading) for heading, _ in pairs)
        for heading, text in pairs:
            self.echo(f"  {heading:<{width}}  {text}")

    def _colour(self, now: Status) -> Callable[[str], str]:
        """Return what colours the sentence; where no terminal shows it, that leaves it as it is."""
        if now.needs_operator:
            return self.style.ERROR
        well = now.state in (State.UP_TO_DATE, State.LOADING, State.STARTING)
        return self.style.SUCCESS if well else self.style.WARNING

    def _write_json(self, facts: dict[str, Any]) -> None:
        self.echo(json.dumps(facts, indent=2, default=str, ensure_ascii=False))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OperatorError if the block takes too long: a database that hangs says nothing by itself."""

    def give_up(*_: object) -> None:
        whose = "of DATABASE_URL" if config.value("db.url") else "of the node"
        raise OperatorError(
            f"The database {whose} has not answered for {seconds:.0f} seconds: its process is "
            "stopped, or its machine is overloaded. Its log may tell why; if it stays silent, start it again."
        )

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
