"""Sessions, users, messages and headers for pages exist for /admin alone: the API pays for none of them."""

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.gzip import GZipMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin
from django_otp.middleware import OTPMiddleware

# Scripts and images are files of the node; no script can be written into a page. django-unfold writes some
# styles into its pages, and Alpine, by which its menus open, reads the expressions in attributes of its
# templates as scripts do with text ('unsafe-eval'): none of these attributes holds a value of the ledger.
_CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class _OnlyAdmin(MiddlewareMixin):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith("/admin"):
            return super().__call__(request)  # type: ignore[return-value]
        return self.get_response(request)  # type: ignore[return-value]


def _only_admin(middleware: type[MiddlewareMixin]) -> type[MiddlewareMixin]:
    return type(middleware.__name__, (_OnlyAdmin, middleware), {})


class AdminSecurityMiddleware(_OnlyAdmin, SecurityMiddleware):
    """nosniff, referrers and openers of the same origin only, and what a page may load."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", _CONTENT_SECURITY_POLICY)
        return super().process_response(request, response)


class AdminSecondFactorMiddleware(OTPMiddleware):  # type: ignore[misc]
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = super().__call__ if request.path_info.startswith("/admin") else self.get_response
        response: HttpResponseBase = answer(request)
        return response


AdminCompressionMiddleware = _only_admin(GZipMiddleware)
AdminFrameMiddleware = _only_admin(XFrameOptionsMiddleware)
AdminSessionMiddleware = _only_admin(SessionMiddleware)
AdminAuthenticationMiddleware = _only_admin(AuthenticationMiddleware)
AdminMessageMiddleware = _only_admin(MessageMiddleware)
