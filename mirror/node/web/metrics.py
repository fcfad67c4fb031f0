"""GET /metrics, for Prometheus: the metrics of all processes of the node, in its text format."""

from django.http import HttpRequest, HttpResponse

from mirror.metrics import exposition


def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse(
        exposition.text(), content_type=exposition.CONTENT_TYPE, headers={"cache-control": "no-store"}
    )
