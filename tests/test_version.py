"""The version of the program, wherever it is shown."""

import re

import pytest
from django.conf import settings

from tests.node import ROOT, manage

VERSION = settings.VERSION


@pytest.mark.parametrize("argument", ["--version", "version"])
def test_commands_print_the_version(argument: str) -> None:
    assert manage(argument).stdout == f"Ledger Mirror {VERSION}\n"


def test_changelog_describes_the_version() -> None:
    assert re.findall(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == VERSION


@pytest.mark.django_db
def test_pages_and_api_description_show_the_version(api, client) -> None:
    assert f"Ledger Mirror {VERSION}, a mirror node" in client.get("/").content.decode()
    assert api.get("/api/v1/docs/openapi.json").json()["info"]["version"] == VERSION
