"""The throttle of the API: the requests per second that the setting rest.rateLimit allows a client."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from mirror.core.rest.limits.client_limits import ClientLimits, Verdict

if TYPE_CHECKING:
    from rest_framework.views import APIView

#: The attribute of a request with the headers that say what its client has left.
LIMIT_HEADERS = "limit_headers"

_limits: ClientLimits | None = None


def use(limits: ClientLimits | None) -> None:
    """Apply these limits in this process and its copies; None is no limit."""
    global _limits
    _limits = limits


class ClientThrottle(BaseThrottle):
    """Admits the requests of a client up to its limit. Clients of rest.rateLimit.exempt have none."""

    _verdict: Verdict | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        if _limits is None or (verdict := _limits.verdict(request.META)) is None:
            return True
        self._verdict = verdict
        setattr(request, LIMIT_HEADERS, dict(_limits.headers(verdict)))
        return not verdict.wait_seconds

    def wait(self) -> float | None:
        return None if self._verdict is None else self._verdict.wait_seconds
