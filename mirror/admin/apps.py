from django.contrib.admin.apps import AdminConfig


class MirrorAdminConfig(AdminConfig):
    """Django's admin with our site as `admin.site`, where each app's `admin.py` registers its tables."""

    default = False
    default_site = "mirror.admin.site.MirrorAdminSite"
