"""Files for browsers that granian doesn't serve itself: pictures, and the scripts and styles of the admin.

Granian would send the admin's as they are, which makes its first page several times as large.
"""

from pathlib import Path

from django.contrib.staticfiles.views import serve as serve_static
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import cache_control
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe
from django.views.static import serve

FOLDERS = ("admin", "drf_spectacular_sidecar", "unfold")

_MIRROR = Path(__file__).parents[2]


@require_safe
@gzip_page
@cache_control(public=True, max_age=3600)
def asset(request: HttpRequest, folder: str, path: str) -> HttpResponseBase:
    """GET /static/admin/..., /static/unfold/..., from the installed packages."""
    # Django answers 400, and logs it as an error.
    if ".." in path:
        raise Http404
    return serve_static(request, f"{folder}/{path}", insecure=True)


@require_safe
@cache_control(public=True, max_age=86_400)
def file(request: HttpRequest, path: str) -> HttpResponseBase:
    """Send one file of the product."""
    return serve(request, path, document_root=str(_MIRROR))
