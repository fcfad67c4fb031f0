"""The pages of the people who may sign in, with the forms of django-unfold."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister((User, Group))


@admin.register(User)
class PeopleAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    """Every user may read all tables; permissions are about changing filters and people."""

    label, description = "People", "Who may sign in to these pages, and what they may change."
    form, add_form, change_password_form = UserChangeForm, UserCreationForm, AdminPasswordChangeForm
    # The widget with two lists would load another library.
    filter_horizontal = ()


@admin.register(Group)
class GroupsAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]
    label, description = "Groups of people", "Permissions that several people share."
    filter_horizontal = ()
