"""The pages of the people who may sign in, with the forms of django-unfold, and of what they have changed.

Only superusers change people and groups: anybody else who may could make himself a superuser, or take the
account of one by a new password.
"""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

# The page of keys of second factors would show them; each person has a page for the own one.
admin.site.unregister((User, Group, TOTPDevice))


class _ChangedBySuperusers:
    def _is_superuser(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    has_add_permission = has_change_permission = has_delete_permission = _is_superuser


@admin.register(User)
class PeopleAdmin(_ChangedBySuperusers, UserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    """Every user may read all tables; permissions are about changing filters of calls."""

    label, description = "People", "Who may sign in to these pages, and what they may change."
    form, add_form, change_password_form = UserChangeForm, UserCreationForm, AdminPasswordChangeForm
    # The widget with two lists would load another library.
    filter_horizontal = ()


@admin.register(Group)
class GroupsAdmin(_ChangedBySuperusers, GroupAdmin, ModelAdmin):  # type: ignore[misc]
    label, description = "Groups of people", "Permissions that several people share."
    filter_horizontal = ()


@admin.register(LogEntry)
class ChangesAdmin(ModelAdmin):  # type: ignore[misc]
    label, description = "Changes", "Who has changed people and filters of calls by these pages, and when."
    list_display = ("action_time", "user", "action_flag", "content_type", "object_repr", "change")
    list_filter = ("action_time", "action_flag", "user")
    list_select_related = ("user", "content_type")
    show_full_result_count = False

    @admin.display(description="Change")
    def change(self, entry: LogEntry) -> str:
        return entry.get_change_message()

    def _refused(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _refused
