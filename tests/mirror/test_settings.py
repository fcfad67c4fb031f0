"""Django's settings that follow from an operator's: DEBUG and traces."""

import gzip
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_SHOW = """
import django
django.setup()
from django.conf import settings
from django.test import Client
print(settings.DEBUG, "debug_toolbar" in settings.INSTALLED_APPS)
pages = [Client().get(path).content for path in ("/api/v1/docs/", "/api/v1/docs/openapi.json")]
print(*(b"djdt" in page for page in pages))
"""
_REQUESTS = """
import io, sys
from mirror.wsgi import application
from opentelemetry import trace

for path in ("/api/v1/docs/", "/health/liveness"):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "localhost",
               "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.input": io.BytesIO(),
               "wsgi.url_scheme": "http", "wsgi.errors": sys.stderr, "REMOTE_ADDR": "127.0.0.1"}
    list(application(environ, lambda status, headers: print(status)))
trace.get_tracer_provider().shutdown()
"""


def run(code: str, **variables: str) -> str:
    """Return what code prints, and the last line of an error."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "mirror.settings"} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    return done.stdout + "".join(done.stderr.splitlines()[-1:])


@pytest.mark.parametrize(
    ("debug", "shown"), [("true", "True True\nTrue False\n"), ("false", "False False\nFalse False\n")]
)
def test_toolbar_is_on_html_pages_of_a_node_with_debug(debug, shown):
    assert run(_SHOW, SVC_MIRROR_WEB_DEBUG=debug) == shown


@pytest.mark.parametrize(
    "variables",
    [
        {"SVC_MIRROR_WEB_HOST": "0.0.0.0"},
        {"SVC_MIRROR_PROFILE": "production"},
        {"SVC_MIRROR_WEB_TRUSTEDPROXIES": "127.0.0.1"},
        {"SVC_MIRROR_WEB_ADMINORIGINS": "https://mirror.example.org"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_debug_is_refused_where_others_reach_the_node(variables):
    assert "SVC_MIRROR_WEB_DEBUG=true shows settings and stacks to every client" in run(
        "import mirror.settings", SVC_MIRROR_WEB_DEBUG="true", **variables
    )


def test_traces_without_their_packages_are_refused():
    code = "import sys; sys.modules['opentelemetry'] = None\nimport mirror.settings"

    assert run(code, SVC_MIRROR_TELEMETRY_ENDPOINT="http://127.0.0.1:4318").endswith(
        "SVC_MIRROR_TELEMETRY_ENDPOINT needs OpenTelemetry: `make telemetry` installs it, and so does "
        "`pip install '.[telemetry]'`."
    )


def test_without_a_collector_nothing_of_telemetry_is_loaded():
    code = "import mirror.wsgi, sys\nprint(*[name for name in sys.modules if 'opentelemetry' in name])"

    assert run(code) == "\n"


def test_collector_gets_a_span_of_each_request_but_health():
    spans: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                spans.extend(span.name for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = run(_REQUESTS, SVC_MIRROR_TELEMETRY_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()

    assert said == "200 OK\n200 OK\n"
    assert spans == ["GET api/v1/docs/"]
