"""The web server: granian's processes, each with this project's WSGI application.

The static files are served by granian itself, straight from the installed packages; except those that are
large, which `mirror.node.web.assets` compresses.
"""

import errno
import logging
import os
import signal
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import AppDirectoriesFinder

from mirror import config
from mirror.config import proxies
from mirror.config.errors import OperatorError
from mirror.db import slots, timeouts
from mirror.db.replicas import reading, servers
from mirror.node import reader
from mirror.node.web import assets, rate_limits, stalled_clients
from mirror.processes import signals
from mirror.rest import users

_STOP_SECONDS = 5
# However many ask, the loader goes first: a node that is asked for all that it can give must not fall behind.
_NICENESS = 5
# Threads of each process beside those that wait for bodies, and the time after which idle ones end.
_READY_THREADS, _IDLE_SECONDS = 2, 30
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
    from web3sim.calls import evm_version
    from web3sim.limits import filters

    filters.configured()
    evm_version.configured()
    proxies.check()
    proxies.check(rate_limits.EXEMPT)
    proxies.check("metrics.allowed")
    users.configured()
    servers.configured()


def check_port() -> None:
    """Raise OperatorError if the web server could not listen."""
    _, port = address()
    other = port + 1 if port < 65535 else 8001
    check_listening(port, f"choose another port (PORT={other})")


def check_listening(port: int, cure: str) -> None:
    """Raise OperatorError if nobody could listen on a port of the web server's host; `cure` says what helps.

    Granian's processes share their port by SO_REUSEPORT, which would let a second node in. So this tries
    without that option.
    """
    host, _ = address()
    try:
        family, kind, protocol, _, bound = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(bound)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OperatorError(
                f"Port {port} of {host} is taken by another program: stop that one, or {cure}."
            ) from None
        if error.errno == errno.EACCES:
            raise OperatorError(
                f"This user may not listen on port {port}: choose one above 1023 (PORT=8000)."
            ) from None
        raise OperatorError(
            f"The web server can't listen on {host} (SVC_MIRROR_WEB_HOST): {error.strerror}."
        ) from None


def serve() -> None:
    """Serve until SIGTERM or SIGINT, in a process that ends with its parent."""
    from granian.constants import Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    from mirror.node.web.workers import Server, work

    signals.end_with_parent()
    host, port = address()
    static = _static_folders()
    server = Server(
        "mirror.wsgi:application",
        address=str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]),
        port=port,
        interface=Interfaces.WSGI,
        workers=config.value("web.workers"),
        # They only read bodies, and hand requests over to the threads of the gateway.
        blocking_threads=_READY_THREADS + stalled_clients.MOST_READERS,
        blocking_threads_idle_timeout=_IDLE_SECONDS,
        websockets=False,
        http1_settings=HTTP1Settings(
            header_read_timeout=round(config.value("rest.response.keepAliveTimeout") * 1000)
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
    shared = [slots.files() for _ in range(config.value("web.slowThreads"))]
    server.serve(work, partial(_application, shared, rate_limits.made(), reading.made()), wrap_loader=False)


def _application(
    shared: Sequence[slots.Files], limits: int | None, replicas: int | None
) -> Callable[..., Any]:
    """Return what granian calls for each request; runs in each of its worker processes."""
    # Until granian sets the worker's own, the signal handlers of its main process are in force here. They
    # would swallow a request to stop.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signals.end_with_parent()
    os.nice(_NICENESS)
    reader.use()
    timeouts.use(timeouts.WEB_SERVER)
    reading.use(replicas)
    from mirror.metrics import files
    from mirror.node.web import gateway
    from mirror.wsgi import application
    from web3sim.processes import pool

    files.begin("web worker")
    pool.warm_up_soon()
    return gateway.started(application, [slots.Slot(files) for files in shared], limits)


def _static_folders() -> dict[str, Path]:
    """Return URL prefix -> folder for each folder of static files in an installed app."""
    folders: dict[str, Path] = {}
    for storage in AppDirectoriesFinder().storages.values():
        for folder in sorted(Path(storage.location).iterdir()):
            if folder.is_dir() and folder.name not in assets.FOLDERS:
                folders[f"/static/{folder.name}"] = folder
    return folders
