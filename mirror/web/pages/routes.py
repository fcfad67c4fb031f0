"""The addresses of the pages for people outside the admin."""

from django.urls import URLPattern, path, re_path
from django.views.generic import RedirectView

from mirror.web.pages import answer
from mirror.web.pages.api import api, swagger
from mirror.web.pages.documentation import documentation
from mirror.web.pages.home import home
from mirror.web.pages.search import search


def routes() -> list[URLPattern]:
    return [
        path("", home),
        path("docs", RedirectView.as_view(url="/docs/", permanent=True)),
        path("docs/", documentation),
        path("docs/search", search),
        path("docs/<slug:name>", documentation),
        path("docs/architecture.svg", answer.architecture),
        # Links as they are written in the pages.
        re_path(r"^docs/(?P<name>[\w-]+)(?:\.md|/)\Z", RedirectView.as_view(url="/docs/%(name)s")),
        path("api/v1/docs", RedirectView.as_view(url="/api/v1/docs/", permanent=True)),
        path("api/v1/docs/", api),
        path("api/v1/docs/swagger/", swagger),
        path("robots.txt", answer.robots),
        path("favicon.ico", answer.icon),
        path("favicon.svg", answer.icon),
    ]
