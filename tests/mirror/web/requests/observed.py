"""Requests as the middleware that observes them gets them."""

from contextlib import suppress

from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import Resolver404, resolve

from mirror.web.requests.middleware import ObserverMiddleware


def request_of(path: str, method: str = "GET", **headers: str) -> HttpRequest:
    request = RequestFactory().generic(method, path, headers=headers)
    with suppress(Resolver404):
        request.resolver_match = resolve(request.path_info)
    return request


def answering(status: int) -> ObserverMiddleware:
    return ObserverMiddleware(lambda request: HttpResponse(b"[]", status=status))
