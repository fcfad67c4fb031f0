"""A whole node in one command: its database, its tables, its web server, and a loader or a demo network.

The supervisor starts the parts in that order, watches them, and stops them in the opposite order. Web server
and loader are child processes that the kernel ends with the supervisor. A database that a killed supervisor
has left behind is found by the next command.
"""

import fcntl
import gc
import http.client
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connections

from ledger.ingest import stored_network
from ledger.stream.source import stream_settings
from mirror.core import config, metrics
from mirror.core.config.setting import OperatorError
from mirror.core.db.distribution import cluster
from mirror.core.logs import Echo
from mirror.core.processes import operating_system, signals
from mirror.node.admin import access, production
from mirror.node.postgres import reader_role
from mirror.node.postgres import server as embedded
from mirror.node.postgres.cluster import DATABASE, ROLE, binaries, make_traversable
from mirror.node.postgres.installation import server_paths
from mirror.operations.retention import plan
from mirror.start import database, supervisor
from mirror.upgrade import remaining, tables
from mirror.web import server as web
from mirror.web.grpc import process as grpc
from network.bundled import DEMO

_WATCH_SECONDS = 0.1
_TABLES_SECONDS = 1.0
_MIGRATIONS_NAMED = 4
_GOES_ON = """  Live      .venv/bin/python manage.py up --live
            once this is stopped, lets the demo network go on: a block every two seconds
"""


# COMMANDS


def serve(echo: Echo) -> None:
    """Run the web server alone, with its database, until a signal asks to stop. Errors: OperatorError."""
    web.check_process_limits()
    with _stopping(echo):
        web.check_port()
        web.check_settings()
        production.check()
        with database.ready(echo) as server:
            _wait_for_tables(echo)
            reader_role.check()
            remaining.report_pending(echo)
            part = _web_server(echo)
            _run(echo, server, part, lambda: echo(f"Serving {web.url()} - Ctrl-C stops."), {})


def serve_grpc(echo: Echo) -> None:
    """Run the gRPC server alone, with its database, until a signal asks to stop. Errors: OperatorError."""
    if not grpc.is_wanted():
        raise OperatorError("The gRPC API has no port: name one, such as SVC_MIRROR_GRPC_PORT=5600.")
    operating_system.raise_descriptor_limit()
    with _stopping(echo):
        web.check_settings()
        grpc.check_port()
        with database.ready(echo) as server:
            _wait_for_tables(echo)
            reader_role.check()
            part = supervisor.Part(grpc.NAME, grpc.serve, echo, permanent=True)
            _run(echo, server, part, lambda: echo(f"Serving gRPC at {grpc.address()} - Ctrl-C stops."), {})


def up(echo: Echo, *, live: bool = False, block_node: bool = False, sdk: bool = False) -> None:
    """Run a whole node until a signal asks to stop; `live` lets the demo network go on.

    With `block_node` it goes on with blocks, and a block node on this machine serves them.
    With `sdk` it answers at the ports, too, that SDKs have built in, as the clients of today expect. Errors:
    OperatorError.
    """
    web.check_process_limits()
    if sdk:
        config.set_defaults(_sdk_ports().DEFAULTS)
    has_demo = config.value("network") == DEMO and not follows()
    if live and not has_demo:
        raise OperatorError(
            "--live lets the demo network go on, and this node is for the network "
            f"{config.value('network')}: leave SVC_MIRROR_NETWORK and SVC_MIRROR_IMPORTER_DOWNLOADER_* unset."
        )
    with _stopping(echo), _single_instance(settings.DATA_DIR):
        web.check_port()
        if sdk:
            _sdk_ports().check_ports()
        if grpc.is_wanted():
            grpc.check_port()
        web.check_settings()
        plan.periods()
        production.check()
        # Making the history and making the database take a core each.
        is_new = not config.value("db.url") and not server_paths(settings.DATA_DIR).data.exists()
        with (
            _demo().start_producing() if has_demo and is_new else nullcontext() as producer,
            database.ready(echo) as server,
        ):
            tables.make_tables(echo)
            stored_network.check()
            reader_role.grant_again()
            reader_role.check()
            access.make_admin(settings.DATA_DIR)
            works = {
                "retention": (config.value("importer.retention.enabled"), _prune),
                "upgrade": (remaining.names(), _upgrade),
                "loader": (follows(), _follow),
            }
            needed = ((role, work) for role, (is_needed, work) in works.items() if is_needed)
            parts: dict[str, Callable[[], None]] = {
                role: partial(supervisor.run_with_metrics, role, work, echo) for role, work in needed
            }
            if has_demo:
                _demo().load(echo, producer, server)
                if live:
                    _demo().check_goes_on()
                    parts["demo network"] = partial(_demo().live, echo, block_node=block_node)
            if sdk:
                parts["ports of SDKs"] = _sdk_ports().serve
            if grpc.is_wanted():
                parts[grpc.NAME] = grpc.serve
            ready = partial(_startup_text, server, ends=has_demo and not live, sdk=sdk)
            _run(echo, server, _web_server(echo), lambda: echo(ready()), parts)


def _run(
    echo: Echo,
    server: embedded.Server | None,
    first: supervisor.Part,
    ready: Callable[[], None],
    parts: Mapping[str, Callable[[], None]],
) -> None:
    """Start the first part, a server, and the others, call `ready` when it answers, restart those that die.

    Errors: OperatorError if the first part dies before it has ever answered.
    """
    metrics.start("supervisor")
    settings.SECRET_KEY = config.value("web.secretKey") or access.session_key(settings.DATA_DIR)
    # The child processes are copies of this one, and a copied connection can't be used.
    connections.close_all()
    # They share what this one never changes.
    gc.freeze()
    others = [supervisor.Part(name, work, echo, permanent=name == grpc.NAME) for name, work in parts.items()]
    answers = grpc.answers if first.name == grpc.NAME else _answers
    postgres = [supervisor.Database(server, echo)] if server else []
    try:
        answered = False
        while True:
            for part in (*postgres, first, *others):
                part.check()
            if not answered and answers():
                ready()
                answered = True
            if first.failures and not answered:
                raise OperatorError(f"The {first.name} stopped by itself; its output above says why.")
            time.sleep(_WATCH_SECONDS)
    finally:
        for part in (*others, first):
            part.stop()


def _web_server(echo: Echo) -> supervisor.Part:
    return supervisor.Part("web server", web.serve, echo, permanent=True)


def follows() -> bool:
    """Return whether the settings say where `up` finds a stream to follow; else only `ingest` loads files.

    Who wants blocks alone need not say where record files are.
    """
    if config.value("importer.block.enabled") == "true":
        return True
    return bool(config.value("importer.downloader.record.enabled")) and stream_settings.is_named()


def _sdk_ports() -> ModuleType:
    # Only nodes with --sdk-ports need it.
    from mirror.web import sdk_ports

    return sdk_ports


def _demo() -> ModuleType:
    # Only nodes with a demo network need it.
    from mirror.start import demo

    return demo


def _follow(echo: Echo) -> None:
    # Only this process needs it.
    from mirror.node.loading import following

    following.follow_until_stopped(echo)


def _upgrade(echo: Echo) -> None:
    # Only this process needs it.
    from mirror.upgrade import runner
    from mirror.upgrade.progress import lines

    try:
        runner.run(lines(echo), signals.stop_event())
    except OperatorError as error:
        echo(str(error))


def _prune(echo: Echo) -> None:
    # Only this process needs it.
    from mirror.operations.retention import pruning

    pruning.prune_continuously(echo, signals.stop_event())


def _wait_for_tables(echo: Echo) -> None:
    """Wait until every migration is applied: without its tables a server could only give errors."""
    tables.check_restored()
    tables.check_commit()
    if missing := tables.missing():
        names = ", ".join(missing[:_MIGRATIONS_NAMED])
        more = len(missing) - _MIGRATIONS_NAMED
        echo(
            "Some tables are missing or old: `manage.py migrate` makes them. The web server waits for "
            f"{names}{f' and {more} more' if more > 0 else ''}."
        )
    while missing:
        time.sleep(_TABLES_SECONDS)
        missing = tables.missing()
    cluster.check_distributed()


def _answers() -> bool:
    client = http.client.HTTPConnection(urlsplit(web.url()).netloc, timeout=1)
    with closing(client), suppress(OSError, http.client.HTTPException):
        client.request("GET", "/health/liveness")
        client.getresponse()
        return True
    return False


# OUTPUT


def _startup_text(server: embedded.Server | None, *, ends: bool, sdk: bool) -> str:
    """Return where everything is; `ends` says that only the history of the demo network is loaded."""
    url, data = web.url(), settings.DATA_DIR
    if server:
        psql = binaries(server.paths) / "psql"
        sql = f"{_relative_path(psql)} -h {server.paths.socket} -U {ROLE} {DATABASE}"
        where = f"everything is kept in {_relative_path(data)}"
        if server.paths.marker:
            where += f" and {server.paths.home}, since PostgreSQL's account can't enter {data}"
    else:
        sql, where = "the one of DATABASE_URL", "everything is kept in the database"
    return f"""
Ledger Mirror is running. Ctrl-C stops it; {where}.

  Look      {url} shows what it holds, and {url}/docs/ how to use it
  API       {url}/api/v1/blocks
            {url}/api/v1/transactions?limit=5
            {url}/api/v1/docs/ describes every request
{_sdk_ports_text() if sdk else ""}{_grpc_text()}  Admin     {url}/admin
            {_password(data)}
  Database  {sql}
  Load      .venv/bin/python manage.py ingest PATH...
  Status    .venv/bin/python manage.py status
  Settings  .venv/bin/python manage.py settings
{_GOES_ON if ends else ""}"""


def _password(data: Path) -> str:
    """Return where the password of the admin is; a restored node has no file with it."""
    file = access.password_file(data)
    if file.exists():
        return f"user {access.ADMIN}, its first password is in {_relative_path(file)}"
    return f"user {access.ADMIN} with the password it has; manage.py password gives it a new one"


def _sdk_ports_text() -> str:
    ports = ", ".join(map(str, _sdk_ports().ports()))
    return f"            the same at the ports {ports}, where SDKs for local networks look\n"


def _grpc_text() -> str:
    return f"            topics and nodes over gRPC at {grpc.address()}\n" if grpc.is_wanted() else ""


def _relative_path(path: Path) -> str:
    """Return the path relative to the working directory, if it lies below that."""
    with suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


# SIGNALS AND LOCK


@contextmanager
def _stopping(echo: Echo) -> Iterator[None]:
    """End the block in order when a signal asks to stop, which counts as success."""
    signals.raise_on_stop()
    try:
        yield
    except signals.Stop:
        echo("Stopped.")


@contextmanager
def _single_instance(data_folder: Path) -> Iterator[None]:
    """Let one `up` at a time run on a data folder. Errors: OperatorError."""
    try:
        make_traversable(data_folder)
        lock = (data_folder / "up.lock").open("a+")
    except OSError as error:
        raise OperatorError(f"The folder {data_folder} can't be used: {error.strerror}.") from error
    with lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise OperatorError(
                f"A node is running on {data_folder} already (process {lock.read().strip()}): stop it first, "
                "or give this one a folder and a port of its own (SVC_MIRROR_DATA, PORT)."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
