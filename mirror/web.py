"""The web server: granian's processes, each with this project's WSGI application.

The static files of the admin are served by granian itself, straight from the installed packages.
"""

import ctypes
import errno
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import AppDirectoriesFinder

from mirror import config
from mirror.errors import OperatorError

log = logging.getLogger("mirror.web")

_STOP_SECONDS = 5
_START_SECONDS, _LOOK_SECONDS = 60, 0.05
_PR_SET_PDEATHSIG = 1
_DESCRIPTORS = Path("/proc/self/fd")


def address() -> tuple[str, int]:
    """Host and port of the web server."""
    return config.value("web.host"), config.value("web.port")


def url() -> str:
    """Where a client on this machine reaches the web server."""
    host, port = address()
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_filters() -> None:
    """Raise InvalidSetting when the filters of contract calls can't be used."""
    from web3sim import request_filters

    request_filters.configured()


def check_port() -> None:
    """Raise OperatorError when the web server could not listen.

    Granian's processes share their port by SO_REUSEPORT, so that a second node would be let in; this asks
    without.
    """
    host, port = address()
    try:
        family, kind, protocol, _, bound = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(bound)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OperatorError(
                f"Port {port} of {host} is taken by another program: stop that one, or choose another port "
                f"(PORT={port + 1 if port < 65535 else 8001})."
            ) from None
        if error.errno == errno.EACCES:
            raise OperatorError(
                f"This user may not listen on port {port}: choose one above 1023 (PORT=8000)."
            ) from None
        raise OperatorError(
            f"The web server can't listen on {host} (SVC_MIRROR_WEB_HOST): {error.strerror}."
        ) from None


def serve() -> None:
    """Serve until SIGTERM or SIGINT; for a process of its own, which ends with its parent."""
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    end_with_parent()
    host, port = address()
    static = _static_folders()
    threads = config.value("web.threads")
    Server(
        "mirror.wsgi:application",
        address=str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]),
        port=port,
        interface=Interfaces.WSGI,
        workers=config.value("web.workers"),
        blocking_threads=threads,
        # A thread keeps its database connection; one that rests must not be thrown away with it.
        blocking_threads_idle_timeout=600,
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=_STOP_SECONDS,
        static_path_route=list(static),
        static_path_mount=list(static.values()),
        static_path_expires=3600,
    ).serve(target_loader=_application, wrap_loader=False)


def _application() -> Callable[..., Any]:
    """Runs in each of granian's worker processes."""
    # Until granian sets its own, the handlers of its main process are in force here, which would swallow a
    # request to stop.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    end_with_parent()
    from mirror.wsgi import application
    from web3sim import workers

    threading.Thread(target=_close_stalled_connections, daemon=True).start()
    workers.warm_up_soon()
    return application


def _close_stalled_connections() -> None:
    """Have the kernel close connections of clients that take nothing of their answers for a while.

    Granian waits for them without end, with the answer in memory, or with a thread that streams it. It begins
    to listen only after the application is loaded; connections inherit the options of their listening socket.
    """
    milliseconds = int(config.value("web.stalledTimeout") * 1000)
    deadline = time.monotonic() + _START_SECONDS
    while not [each for each in _DESCRIPTORS.iterdir() if _limit_stalls(int(each.name), milliseconds)]:
        if time.monotonic() > deadline:
            log.warning("event=stalled_connections_not_closed")
            return
        time.sleep(_LOOK_SECONDS)


def _limit_stalls(descriptor: int, milliseconds: int) -> bool:
    """Whether the descriptor is a socket that listens for TCP, which then has the limit."""
    try:
        each = socket.socket(fileno=descriptor)
    except OSError:
        return False
    try:
        listens = each.family in (socket.AF_INET, socket.AF_INET6) and each.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        )
        if listens:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        return bool(listens)
    except OSError:
        return False
    finally:
        # It stays its owner's.
        each.detach()


def _static_folders() -> dict[str, Path]:
    """URL prefix -> folder, for each folder of static files that an installed app brings."""
    folders: dict[str, Path] = {}
    for storage in AppDirectoriesFinder().storages.values():
        for folder in sorted(Path(storage.location).iterdir()):
            if folder.is_dir():
                folders[f"/static/{folder.name}"] = folder
    return folders


def end_with_parent() -> None:
    """Have the kernel send this process SIGTERM when its parent is gone, however that ended."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
