"""The addresses below /admin. With this module, every module of the admin is imported."""

from django.contrib import admin

admin.autodiscover()

from mirror.admin import accounts  # noqa: E402, F401
from mirror.node import admin_tables  # noqa: E402, F401

urlpatterns = admin.site.urls[0]
