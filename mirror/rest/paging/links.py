"""Where links begin: at the path, or if the operator wants so at the scheme and host the client used."""

import re

from django.http import HttpRequest

from mirror import config

_PORT = re.compile(r":[0-9]*\Z")


def base(request: HttpRequest) -> str:
    """What stands before the path of a link: nothing, or `https://host:port`.

    A proxy's X-Forwarded-Proto and X-Forwarded-Host are believed; the port is the configured one.
    """
    if not config.value("rest.response.includeHostInLink"):
        return ""
    sent = request.META
    scheme = _first(sent.get("HTTP_X_FORWARDED_PROTO", "")) or request.scheme
    host = _first(sent.get("HTTP_X_FORWARDED_HOST", "")) or sent.get("HTTP_HOST") or sent["SERVER_NAME"]
    return f"{scheme}://{_PORT.sub('', host)}:{config.value('web.port')}"


def _first(text: str) -> str:
    return text.partition(",")[0].strip()
