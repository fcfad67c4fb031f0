"""Sessions, users and messages exist for /admin alone: a request to the API pays for none of them."""

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin


class _OnlyAdmin(MiddlewareMixin):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith("/admin"):
            return super().__call__(request)  # type: ignore[return-value]
        return self.get_response(request)  # type: ignore[return-value]


class AdminSessionMiddleware(_OnlyAdmin, SessionMiddleware): ...


class AdminAuthenticationMiddleware(_OnlyAdmin, AuthenticationMiddleware): ...


class AdminMessageMiddleware(_OnlyAdmin, MessageMiddleware): ...
