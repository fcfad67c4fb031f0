"""The ports that SDKs have built in for local networks, passed on to the web server.

SDKs ask a local mirror node at several ports, since other mirror nodes are several programs. Here each of
these ports answers everything. The process copies bytes and knows no HTTP. When a client goes away, or takes
nothing of its answer, so does its connection to the web server, which has to know only its own port.
"""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.processes import operating_system, signals
from mirror.web import server

_STALLED_SECONDS = 30.0
_CHUNK_BYTES = 1 << 16

#: What clients of local networks expect today, unless the operator sets it otherwise.
DEFAULTS = {
    "rest.response.accessList": "array",
    "rest.response.enableDelegationAddress": "true",
    "grpc.port": "5600",
}


def ports() -> Sequence[int]:
    """Return the ports in addition to the web server's own."""
    _, own = server.address()
    return [port for port in map(int, config.value("web.sdkPorts")) if port != own]


def check_ports() -> None:
    """Raise OperatorError if others could ask at the ports, or this can't listen on each of them.

    All that comes by them reaches the web server from this machine, which it trusts more than others.
    """
    host, _ = server.address()
    production = config.value("profile") == "production"
    if production or not _is_this_machine(host):
        reason = "SVC_MIRROR_PROFILE=production" if production else f"SVC_MIRROR_WEB_HOST={host}"
        raise OperatorError(
            f"--sdk-ports is for programs on this machine, and {reason} is for others: all of them would "
            "seem to be this machine, for /metrics, for limits and for failed sign-ins, so leave --sdk-ports "
            "out."
        )
    for port in ports():
        cure = "start without --sdk-ports, or leave that one out (SVC_MIRROR_WEB_SDKPORTS)"
        server.bind_port(port, cure).close()


def _is_this_machine(host: str) -> bool:
    """Return whether only programs on this machine reach a host; one that has no address is said later."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return True
    return all(ip_address(str(address[0])).is_loopback for *_, address in found)


def serve() -> None:
    """Pass on until SIGTERM, in a process that ends with its parent. Errors: OperatorError."""
    signals.end_with_parent()
    asyncio.run(_serve())


async def _serve() -> None:
    host, _ = server.address()
    try:
        listening = [
            await asyncio.start_server(_forward, host, port, start_serving=False) for port in ports()
        ]
    except OSError as error:
        raise OperatorError(f"The ports of SDKs can't be listened on: {error.strerror}.") from error
    for each in listening:
        for bound in each.sockets:
            operating_system.set_tcp_user_timeout(bound, _STALLED_SECONDS)
    await asyncio.gather(*(each.serve_forever() for each in listening))


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes between a client and the web server until one of them ends the connection."""
    own = urlsplit(server.url())
    try:
        from_server, to_server = await asyncio.open_connection(own.hostname, own.port)
    except OSError:
        # The web server is about to start, or to start again.
        writer.close()
        return
    copying = [asyncio.create_task(_copy(reader, to_server)), asyncio.create_task(_copy(from_server, writer))]
    try:
        await asyncio.wait(copying, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in copying:
            task.cancel()
        # What is written already is still sent.
        to_server.close()
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
