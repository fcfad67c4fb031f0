"""Why no address of a block node accepts a connection over TLS.

gRPC reports the failure of the last address alone: where a node listens on IPv4 but not on IPv6, "connection
refused" hides a certificate that can't be verified. So each address is connected to by itself.
"""

import socket
import time
from typing import Any

import grpc

from ledger.stream.source.block_node import answers

_NO_ADDRESS = "failed to connect to all addresses"
_MOST_ADDRESSES = 8


def problem(error: grpc.RpcError, host: str, port: int, method: str, seconds: float) -> str | None:
    """Return what is wrong with the certificate behind a call's failure; None if that is not the cause.

    It takes no longer than `seconds`, besides the look-up of the host's addresses.
    """
    if error.code() is not grpc.StatusCode.UNAVAILABLE or _NO_ADDRESS not in (error.details() or ""):
        return None
    ends = time.monotonic() + seconds
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return None
    targets = sorted({_target(family, address[0], port) for family, *_, address in found})
    if len(targets) < 2:
        return None
    channels = [_channel(target, host) for target in targets[:_MOST_ADDRESSES]]
    try:
        calls = [channel.unary_unary(method).future(b"", timeout=seconds) for channel in channels]
        for call in calls:
            failure = _failure(call, max(0.0, ends - time.monotonic()))
            if failure and "certificate" in (reason := answers.reason(failure)):
                return reason
    finally:
        for channel in channels:
            channel.close()
    return None


def _target(family: int, address: Any, port: int) -> str:
    return f"ipv6:[{address}]:{port}" if family == socket.AF_INET6 else f"ipv4:{address}:{port}"


def _channel(target: str, host: str) -> grpc.Channel:
    options = [("grpc.ssl_target_name_override", host), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(), options)


def _failure(call: Any, seconds: float) -> Any:
    try:
        return call.exception(seconds)
    except (grpc.FutureTimeoutError, grpc.FutureCancelledError):
        return None
