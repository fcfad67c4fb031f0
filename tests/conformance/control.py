"""The WSGI application of `serve.py` for a runner that changes its features while it runs.

A new process for each of forty sets of features took seven eighths of the time of all cases.
"""

import json
import os
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

from mirror.core import config
from tests.conformance.serve import CONTROL, environment

_api = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    if environ["PATH_INFO"] != CONTROL:
        return _api(environ, start_response)
    _configure(json.loads(environ["wsgi.input"].read()))
    start_response("204 No Content", [])
    return []


def _configure(features: dict[str, Any]) -> None:
    """Let this process answer as a new one with these features."""
    global _api
    variables = {**os.environ, "CONFORMANCE_CONFIG": json.dumps(features["config"])}
    if features["now"] is not None:
        variables["CONFORMANCE_NOW"] = str(features["now"])
    values = config.load(environment(variables))
    if values != config.values():
        config.overridden(values)
        _api = get_wsgi_application()
