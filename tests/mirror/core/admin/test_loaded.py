"""The admin's pages of what is loaded."""

import pytest
from django.test import Client

from mirror.models import LoadedRange
from tests.ledger.api.test_not_loaded import load

pytestmark = pytest.mark.django_db


def test_the_admin_shows_it_and_its_ranges(pages: Client) -> None:
    load(1, 2)
    LoadedRange.objects.update(signed=False)

    front = str(pages.get("/admin/").content, "utf-8")
    listed = pages.get("/admin/mirror/loadedrange/")
    opened = pages.get("/admin/mirror/loadedrange/1700000001.000000000/")

    assert "Loaded: blocks 1 to 2; nothing is known" in front
    assert "/admin/mirror/loadedrange/1700000001.000000000/" in str(listed.content, "utf-8")
    assert (listed.status_code, opened.status_code) == (200, 200)
    assert pages.get("/admin/mirror/droppedrows/").status_code == 200
