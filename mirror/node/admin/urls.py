"""The addresses below /admin. With this module, every module of the admin is imported."""

from django.contrib import admin

admin.autodiscover()

from mirror.core.admin.access import users  # noqa: E402, F401
from mirror.node.admin import tables  # noqa: E402, F401

urlpatterns = admin.site.urls[0]
