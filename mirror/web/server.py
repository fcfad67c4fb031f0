"""The web server: granian's processes, each with this project's WSGI application.

The static files are served by granian itself, straight from the installed packages; except those that are
large, which `mirror.web.pages.assets` compresses.
"""

import errno
import gc
import logging
import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import AppDirectoriesFinder
from django.urls import get_resolver

from mirror.core import config, metrics
from mirror.core.config import reverse_proxies
from mirror.core.config.setting import OperatorError
from mirror.core.db import replicas
from mirror.core.db.reading import timeouts
from mirror.core.metrics import http, sample
from mirror.core.processes import exits, operating_system, process_table, repeated, signals
from mirror.core.rest import throttle, users
from mirror.core.rest.limits import client_limits, clients
from mirror.core.values.human_readable import byte_size
from mirror.node.health.gauges import Readings
from mirror.node.postgres import reader_role
from mirror.web.pages import assets
from mirror.web.requests.request_history import Minutes

_STOP_SECONDS = 5
# Connections that wait while no web server takes them; the kernel may allow fewer (somaxconn).
_BACKLOG = 4096
# The most connections of a worker, and what it needs of its open files for all else: threads, the database,
# simulations.
_CONNECTIONS, _OTHER_DESCRIPTORS = 2048, 256
# Threads of a worker. Some wait for connections to the database, for calls and for bodies; more of them only
# take turns at the interpreter too often.
_THREADS = 12
_WATCH_SECONDS = 0.1
# Of a connection: the most of its headers, and of what it sends beside one answer.
_CONNECTION_BYTES = 1 << 16
# The loader has priority: a node under full load must not fall behind the stream.
_NICENESS = 5
# The priority of what a process does first when it ends.
_FIRST = 100
# Granian's lines go where ours go.
_LOGGING = {
    "formatters": {},
    "handlers": {},
    "loggers": {name: {"handlers": [], "propagate": True} for name in ("_granian", "granian.access")},
}


def address() -> tuple[str, int]:
    """Return host and port of the web server."""
    return config.value("web.host"), config.value("web.port")


def url() -> str:
    """Return the URL by which a client on this machine reaches the web server."""
    host, port = address()
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_settings() -> None:
    """Raise InvalidSetting if a setting that is JSON, or a list of networks, can't be used."""
    from web3sim.api import filters
    from web3sim.state import evm_version

    filters.configured()
    evm_version.configured()
    reverse_proxies.check()
    reverse_proxies.check(clients.EXEMPT)
    reverse_proxies.check("metrics.allowed")
    users.configured()
    replicas.configured_servers()


def check_process_limits() -> None:
    """Raise the limit of open files; raise OperatorError if a limit is below what a web worker needs."""
    if (files_limit := operating_system.raise_descriptor_limit()) < 2 * _OTHER_DESCRIPTORS:
        raise OperatorError(
            f"A process may have {files_limit} files open (RLIMIT_NOFILE), and a node needs "
            f"{2 * _OTHER_DESCRIPTORS}: start it after `ulimit -Hn 65536`, or with LimitNOFILE=65536 in its "
            "systemd unit."
        )
    # A thread has a stack of 8 MiB: the 130 of a web worker took 0.9 GiB. In processes whose threads share no
    # heap, such as the gRPC server, glibc reserves 64 MiB for that of each, for up to eight threads a core.
    needed = int((1.25 + 0.5 * min(operating_system.usable_processors(), 16)) * (1 << 30))
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise OperatorError(
            f"The address space of a process is limited to {byte_size(limit)} (RLIMIT_AS), and a node needs "
            f"{byte_size(needed)} on this machine: start it after `ulimit -v unlimited`, or with "
            "LimitAS=infinity in its systemd unit."
        )


def check_port() -> None:
    """Raise OperatorError if the port of the web server is taken."""
    _, port = address()
    other = port + 1 if port < 65535 else 8001
    bind_port(port, f"choose another port (PORT={other})").close()


def bind_port(port: int, cure: str) -> socket.socket:
    """Return a socket bound to a port of the web server's host; `cure` says what helps if that is taken.

    Errors: OperatorError.
    """
    host, _ = address()
    try:
        family, kind, protocol, _, sockaddr = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _bind_error(host, error) from None
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(sockaddr)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise OperatorError(
                f"Port {port} of {host} is taken by another program: stop that one, or {cure}."
            ) from None
        if error.errno == errno.EACCES:
            raise OperatorError(
                f"This user may not listen on port {port}: choose one above 1023 (PORT=8000)."
            ) from None
        raise _bind_error(host, error) from None
    return opened


def _bind_error(host: str, error: OSError) -> OperatorError:
    return OperatorError(f"The web server can't listen on {host} (SVC_MIRROR_WEB_HOST): {error.strerror}.")


def serve() -> None:
    """Serve until SIGTERM or SIGINT, in a process that ends with its parent."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    signals.end_with_parent()
    # Its workers are copies, each with many threads.
    operating_system.share_heap()
    metrics.start("web server")
    static = _static_folders()
    host, port = address()
    server = Granian(
        "mirror.wsgi:application",
        address=host,
        port=port,
        process_name=process_table.title("web server"),
        backlog=_BACKLOG,
        # Further connections wait in the backlog.
        backpressure=min(_CONNECTIONS, operating_system.raise_descriptor_limit() - _OTHER_DESCRIPTORS),
        interface=Interfaces.WSGI,
        # By HTTP/2, a client could request any number of answers at once and take none.
        http=HTTPModes.http1,
        workers=config.value("web.workers"),
        blocking_threads=_THREADS,
        websockets=False,
        http1_settings=HTTP1Settings(
            header_read_timeout=round(config.value("rest.response.keepAliveTimeout") * 1000),
            max_buffer_size=_CONNECTION_BYTES,
        ),
        log_level=LogLevels(logging.getLevelName(logging.getLogger("_granian").getEffectiveLevel()).lower()),
        log_dictconfig=_LOGGING,
        respawn_failed_workers=True,
        workers_kill_timeout=_STOP_SECONDS,
        static_path_route=list(static),
        static_path_mount=list(static.values()),
        static_path_expires=3600,
    )
    # Granian warns of that many threads as if all of them worked at the same time.
    logging.getLogger("_granian").addFilter(lambda record: "Python threads" not in record.getMessage())
    throttle.use(client_limits.configured())
    threading.Thread(target=_report_deaths, name="deaths of workers", daemon=True).start()
    # The workers are copies of this process, and share what it has loaded.
    multiprocessing.set_start_method("fork", force=True)
    _ = get_resolver().url_patterns
    gc.freeze()
    server.serve(target_loader=_application, wrap_loader=False)


def _report_deaths() -> None:
    """Record the workers that end while the server runs; granian starts others."""
    workers: list[BaseProcess] = []
    while True:
        time.sleep(_WATCH_SECONDS)
        workers += [each for each in multiprocessing.active_children() if each not in workers]
        for ended in [each for each in workers if each.exitcode is not None]:
            workers.remove(ended)
            exits.record(f"web worker (process {ended.pid})", exits.reason(ended.exitcode))


def _application() -> Callable[..., Any]:
    """Return the WSGI application; runs in each of granian's worker processes."""
    # Until granian sets the worker's own, the signal handlers of its main process are in force here. They
    # would swallow a request to stop.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signals.end_with_parent()
    os.nice(_NICENESS)
    operating_system.become_expendable()
    reader_role.use()
    timeouts.use(timeouts.WEB_SERVER)
    reader = replicas.use(
        config.value("web.threads"), config.value("web.slowThreads"), config.value("web.slowAfter")
    )
    from mirror.wsgi import application
    from web3sim.processes import pool

    metrics.start("web worker")
    for kind, slow in (("quick", False), ("slow", True)):
        sample(http.WAITING.labels(kind), partial(reader.primary.waiting, slow=slow))
        sample(http.WORKING.labels(kind), partial(reader.primary.in_use, slow=slow))
    readings = Readings()
    for check in (Minutes().record, readings.report, readings.read_sizes):
        repeated.start(check)
    # Its processes start, and end before this one.
    pool.pool()
    Finalize(None, pool.stop, exitpriority=_FIRST)
    Finalize(None, reader.close, exitpriority=_FIRST)
    return application


def _static_folders() -> dict[str, Path]:
    """Return URL prefix -> folder for each folder of static files in an installed app."""
    return {
        f"/static/{folder.name}": folder
        for storage in AppDirectoriesFinder().storages.values()
        for folder in sorted(Path(storage.location).iterdir())
        if folder.is_dir() and folder.name not in assets.FOLDERS
    }
