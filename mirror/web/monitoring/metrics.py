"""GET /metrics, for Prometheus: the metrics of all processes of the node, in its text format.

Errors: 403 for a client that metrics.allowed does not name.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from mirror.core import config
from mirror.core import metrics as shared
from mirror.core.config import reverse_proxies

ALLOWED = "metrics.allowed"


def is_allowed(request: HttpRequest) -> bool:
    """Return whether the client of a request may read the metrics."""
    return reverse_proxies.is_within(reverse_proxies.client(request.META), config.value(ALLOWED))


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not is_allowed(request):
        client = reverse_proxies.client(request.META)
        return HttpResponse(
            f"The metrics of this node are not for {client}: the setting {ALLOWED} says for whom they are.\n",
            status=403,
            content_type="text/plain; charset=utf-8",
        )
    return HttpResponse(
        shared.text(), content_type=shared.CONTENT_TYPE, headers={"cache-control": "no-store"}
    )
