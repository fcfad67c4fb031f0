"""Only superusers change people: their rights, their groups, their passwords."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.test import Client

from mirror.node.admin import access

pytestmark = pytest.mark.django_db

Staff = Callable[..., Client]
NEW = {"password1": "a-longer-secret", "password2": "a-longer-secret", "usable_password": "true"}


@pytest.fixture
def ada() -> User:
    return get_user_model().objects.create_superuser("ada", password="secret")


@pytest.fixture
def bob() -> User:
    return get_user_model().objects.create_user("bob", is_staff=True)


@pytest.fixture
def staff(bob: User) -> Staff:
    """A browser in which somebody is signed in who has these permissions of the app `auth`, and no other."""

    def signed_in(*codenames: str) -> Client:
        found = Permission.objects.filter(content_type__app_label="auth", codename__in=codenames)
        assert len(found) == len(codenames)
        bob.user_permissions.set(found)
        client = Client()
        client.force_login(bob)
        return client

    return signed_in


def form(user: User, **changes: Any) -> dict[str, Any]:
    return {
        "username": user.username,
        "is_active": "on",
        "is_staff": "on",
        "date_joined_0": "2024-01-01",
        "date_joined_1": "00:00:00",
        **changes,
    }


def test_who_may_change_people_makes_nobody_superuser(staff: Staff, bob: User):
    client = staff("change_user", "view_user")
    group = Group.objects.create(name="all")
    answer = client.post(f"/admin/auth/user/{bob.pk}/change/", form(bob, is_superuser="on", groups=group.pk))

    assert answer.status_code == 403
    bob.refresh_from_db()
    assert (bob.is_superuser, bob.groups.count(), bob.user_permissions.count()) == (False, 0, 2)


def test_who_may_change_people_gives_no_superuser_another_password(staff: Staff, ada: User):
    client = staff("change_user", "view_user")

    assert client.post(f"/admin/auth/user/{ada.pk}/password/", NEW).status_code == 403
    assert client.post(f"/admin/auth/user/{ada.pk}/change/", form(ada, email="b@x.test")).status_code == 403
    ada.refresh_from_db()
    assert (ada.check_password("secret"), ada.email) == (True, "")


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("user/add/", {"username": "eve", **NEW}),
        ("user/{ada}/delete/", {"post": "yes"}),
        ("user/", {"action": "delete_selected", "_selected_action": "{ada}", "post": "yes"}),
        ("group/add/", {"name": "others"}),
        ("group/{group}/change/", {"name": "others"}),
        ("group/{group}/delete/", {"post": "yes"}),
    ],
)
def test_all_permissions_about_people_change_nothing(
    staff: Staff, ada: User, path: str, sent: dict[str, str]
):
    names = Permission.objects.filter(content_type__app_label="auth").values_list("codename", flat=True)
    group = Group.objects.create(name="all")
    keys = {"ada": ada.pk, "group": group.pk}
    sent = {name: text.format(**keys) for name, text in sent.items()}

    staff(*names).post(f"/admin/auth/{path.format(**keys)}", sent)

    assert set(get_user_model().objects.values_list("username", flat=True)) == {"ada", "bob"}
    assert list(Group.objects.values_list("name", flat=True)) == ["all"]


def test_who_may_look_at_people_sees_no_hash(staff: Staff, ada: User):
    page = staff("view_user").get(f"/admin/auth/user/{ada.pk}/change/")

    assert page.status_code == 200
    assert ada.password.rpartition("$")[2] not in page.content.decode()


def test_a_superuser_changes_people(ada: User, bob: User):
    client = Client()
    client.force_login(ada)

    client.post(f"/admin/auth/user/{bob.pk}/change/", form(bob, is_superuser="on"))
    client.post(f"/admin/auth/user/{bob.pk}/password/", NEW)

    bob.refresh_from_db()
    assert (bob.is_superuser, bob.check_password("a-longer-secret")) == (True, True)


def test_changes_are_shown_to_those_who_may_look_at_them(staff: Staff, ada: User, bob: User):
    superuser = Client()
    superuser.force_login(ada)
    superuser.post(f"/admin/auth/user/{bob.pk}/change/", form(bob, email="bob@x.test"))
    entry = LogEntry.objects.get()

    for path in ("", "?user__id__exact={user}&action_flag__exact=2", "{entry}/change/"):
        path = f"/admin/admin/logentry/{path.format(entry=entry.pk, user=ada.pk)}"
        page = superuser.get(path)
        assert (page.status_code, "Email address" in page.content.decode()) == (200, True), path
        assert staff("view_user", "change_user").get(path).status_code == 403
    looking = Permission.objects.get(codename="view_logentry")
    bob.user_permissions.add(looking)
    reader = Client()
    reader.force_login(bob)
    assert reader.get("/admin/admin/logentry/").status_code == 200


@pytest.mark.parametrize("path", ["add/", "{entry}/change/", "{entry}/delete/", ""])
def test_changes_stay_as_they_are(ada: User, path: str):
    entry = LogEntry.objects.create(user=ada, action_flag=2, object_repr="bob")
    client = Client()
    client.force_login(ada)
    sent = {"object_repr": "eve", "post": "yes", "action": "delete_selected", "_selected_action": entry.pk}

    client.post(f"/admin/admin/logentry/{path.format(entry=entry.pk)}", sent)

    assert list(LogEntry.objects.values_list("object_repr", flat=True)) == ["bob"]


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("short-one", "at least 12 characters"),
        ("password1234", "too common"),
        ("183649205718", "entirely numeric"),
        ("bobbobsonjunior", "too similar to the email address"),
    ],
)
def test_passwords_that_are_easily_guessed_are_refused_in_words(
    ada: User, bob: User, password: str, reason: str
):
    get_user_model().objects.filter(pk=bob.pk).update(email="bobbobsonjunior@x.test")
    client = Client()
    client.force_login(ada)
    sent = {"password1": password, "password2": password, "usable_password": "true"}

    page = client.post(f"/admin/auth/user/{bob.pk}/password/", sent)

    assert reason in page.content.decode()
    bob.refresh_from_db()
    assert not bob.has_usable_password()


def test_the_password_that_the_node_makes_passes(tmp_path: Path):
    password = access.new_password(tmp_path, access.ADMIN, to_file=False)

    validate_password(password, get_user_model().objects.get(username=access.ADMIN))
