"""The process of the gRPC server. gRPC is imported in it alone: it does not survive a fork."""

import asyncio
import os
import signal
import socket
from typing import Any

from mirror.core import config, metrics
from mirror.core.config.setting import OperatorError
from mirror.core.db import replicas
from mirror.core.db.reading import timeouts
from mirror.core.processes import signals
from mirror.node.postgres import reader_role
from mirror.web import server as web

# As the web server: the loader has priority.
_NICENESS = 5

NAME, PORT = "gRPC server", "grpc.port"


def is_wanted() -> bool:
    """Return whether the settings name a port."""
    return bool(config.value(PORT))


def check_port() -> None:
    """Raise OperatorError if the port can't be listened on."""
    port = config.value(PORT)
    web.bind_port(port, f"choose another port ({config.lookup(PORT).variable}={port + 1})").close()


def address() -> str:
    host, _ = web.address()
    return f"[{host}]:{config.value(PORT)}" if ":" in host else f"{host}:{config.value(PORT)}"


def answers() -> bool:
    """Return whether something listens at the port."""
    host, _ = web.address()
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    try:
        socket.create_connection((host, config.value(PORT)), timeout=1).close()
    except OSError:
        return False
    return True


def state() -> dict[str, Any] | None:
    """Return what `manage.py status` says; None without a port."""
    if not is_wanted():
        return None
    does_answer = answers()
    none = f"none answers at {address()}: `manage.py up` or `manage.py serve-grpc` starts one"
    text = f"answers at {address()}" if does_answer else none
    return {"address": address(), "answers": does_answer, "text": text}


def serve() -> None:
    """Serve until SIGTERM, in a process that ends with its parent. Errors: OperatorError."""
    signals.end_with_parent()
    os.nice(_NICENESS)
    reader_role.use()
    timeouts.use(timeouts.WEB_SERVER)
    from mirror.web.grpc.reading import THREADS

    replicas.use_if_configured(THREADS)
    metrics.start(NAME)
    asyncio.run(_serve())


async def _serve() -> None:
    from mirror.web.grpc.server import Server

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    server = Server()
    try:
        await server.start(address())
    except RuntimeError as error:
        raise OperatorError(f"The gRPC server can't listen on {address()}: {error}") from error
    await stopping.wait()
    await server.stop()
