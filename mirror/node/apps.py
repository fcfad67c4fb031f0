from django.contrib.admin.apps import AdminConfig


class NodeAdminConfig(AdminConfig):
    """Django's admin with `NodeAdminSite` as `admin.site`, where each app registers its tables."""

    default_site = "mirror.node.admin_site.NodeAdminSite"
