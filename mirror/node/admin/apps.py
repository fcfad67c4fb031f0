"""The apps of the admin, whose modules are imported with its addresses (`mirror.node.admin.urls`).

Most processes of a node never show a page of it, and would only bear its memory.
"""

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig
from django.core.checks import Tags, register


class NodeAdminConfig(SimpleAdminConfig):
    """Django's admin with `NodeAdminSite` as `admin.site`, where each app registers its tables."""

    default_site = "mirror.node.admin.site.NodeAdminSite"

    def ready(self) -> None:
        super().ready()
        from mirror.node.admin import production

        register(production.deploy_check, Tags.security, deploy=True)


class UnfoldConfig(AppConfig):
    """The templates and files of django-unfold, whose own configurations import all of it."""

    name = "unfold"
    label = "unfold"
