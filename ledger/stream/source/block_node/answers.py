"""The blocks that a block node has, and in plain words why it does not answer."""

import re
import time
from typing import Any, NamedTuple

import grpc

from ledger.stream.source.block_node import addresses

UNBOUNDED = (1 << 64) - 1
# Details of gRPC may be long, and come from the other side.
_MAX_DETAILS = 100
# The last part of the details is the most precise: "failed to connect to all addresses; last error: ...".
_DETAILS = (
    (re.compile(r"CERTIFICATE_VERIFY_FAILED"), "its certificate can't be verified"),
    (re.compile(r"Hostname Verification Check failed"), "its certificate is one of another host"),
    (re.compile(r"Connection refused"), "connection refused"),
    (re.compile(r"Socket closed|Connection reset"), "the connection was lost"),
    (re.compile(r"Domain name not found"), "no such host"),
    (re.compile(r"Misformatted domain name"), "the name of its host is misspelt"),
    (re.compile(r"Network is unreachable"), "its network can't be reached"),
    (re.compile(r"No route to host"), "there is no route to its host"),
    (re.compile(r"Expected SETTINGS frame"), "what answers there speaks no gRPC"),
    (re.compile(r"WRONG_VERSION_NUMBER"), "what answers there speaks no TLS"),
)


class Available(NamedTuple):
    """The first and the last block that a node has."""

    first: int
    last: int

    def has(self, number: int) -> bool:
        return self.first <= number <= self.last


class StatusAnswer(NamedTuple):
    """The blocks of a node, or why they are unknown, in words; None and "" if it has none."""

    available: Available | None = None
    failure: str = ""

    @classmethod
    def from_status(cls, first: int, last: int) -> "StatusAnswer":
        """Return the answer with the fields of a status."""
        if first == last == UNBOUNDED:
            return cls()
        if UNBOUNDED in (first, last):
            return cls(failure="does not tell which blocks it has")
        return cls(Available(first, last))

    @property
    def has(self) -> str:
        """What the node has, as the end of a sentence about it."""
        if self.available is None:
            return self.failure or "has no blocks"
        return f"has blocks {self.available.first} to {self.available.last}"

    def text(self, name: str) -> str:
        """Return what is known of the node of a name."""
        return f"{name}: {self.failure}" if self.failure else f"{name} {self.has}"


def reason(error: Any, seconds: float | None = None) -> str:
    """Return in a few words why a call of gRPC has failed, with a time limit of `seconds`."""
    code = error.code() if hasattr(error, "code") else None
    if code is None:
        return type(error).__name__
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and seconds is not None:
        return f"no answer within {_duration_text(seconds)}"
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return "what answers there is no block node (UNIMPLEMENTED)"
    details = " ".join("".join(filter(_is_printable, error.details() or "")).split())
    summary = next((summary_ for pattern, summary_ in _DETAILS if pattern.search(details)), None)
    if summary:
        return summary
    if len(details) > _MAX_DETAILS:
        details = f"... {details[-_MAX_DETAILS:]}"
    return f"{code.name}: {details}" if details else str(code.name)


def _is_printable(character: str) -> bool:
    return character.isprintable() or character.isspace()


def _duration_text(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms"


# CERTIFICATES
# gRPC reports the failure of the last address alone: where a node listens on IPv4 but not on IPv6,
# "connection refused" hides a certificate that can't be verified. So each address is connected to by itself.

_NO_ADDRESS = "failed to connect to all addresses"


def certificate_problem(
    error: grpc.RpcError, host: str, port: int, method: str, seconds: float, *, registered: bool
) -> str | None:
    """Return what is wrong with the certificate behind a call's failure, within `seconds`; else None."""
    if error.code() is not grpc.StatusCode.UNAVAILABLE or _NO_ADDRESS not in (error.details() or ""):
        return None
    deadline = time.monotonic() + seconds
    try:
        targets = [addresses.target([each], port) for each in addresses.usable(host, registered=registered)]
    except (OSError, ValueError, addresses.AddressRefused):
        return None
    if len(targets) < 2:
        return None
    channels = [_channel(target, host) for target in targets]
    try:
        calls = [channel.unary_unary(method).future(b"", timeout=seconds) for channel in channels]
        for call in calls:
            failure = _failure(call, max(0.0, deadline - time.monotonic()))
            if failure and "certificate" in (cause := reason(failure)):
                return cause
    finally:
        for channel in channels:
            channel.close()
    return None


def _channel(target: str, host: str) -> grpc.Channel:
    options = [("grpc.ssl_target_name_override", host), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(), options)


def _failure(call: Any, seconds: float) -> Any:
    try:
        return call.exception(seconds)
    except (grpc.FutureTimeoutError, grpc.FutureCancelledError):
        return None
