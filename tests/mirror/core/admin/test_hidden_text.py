"""Text of the ledger that turns or hides text is shown as marks, on every page."""

import pytest
from django.test import Client

from ledger.models import Entity
from mirror.web.pages import answer
from tests.build import START, Build
from tests.mirror.core.admin.rows import row
from tokens.models import Token

pytestmark = pytest.mark.django_db

HIDDEN = "\u202e\u2066\u2069\u200b\u200d\u2060\ufeff\u061c\u00ad\x1b\x85\U000e0041"
MARKS = "⟨U+202E⟩⟨U+2066⟩⟨U+2069⟩⟨U+200B⟩⟨U+200D⟩⟨U+2060⟩⟨U+FEFF⟩⟨U+061C⟩⟨U+00AD⟩⟨U+001B⟩⟨U+0085⟩⟨U+E0041⟩"


@pytest.mark.parametrize(
    "path",
    [
        "/admin/tokens/token/",
        "/admin/tokens/token/0.0.5005/",
        "/admin/ledger/entity/0.0.5005/",
        "/admin/ledger/transaction/",
        "/admin/search/?s=usd&extended=1",
        f"/admin/search/?s=no{HIDDEN}thing",
        f"/admin/ledger/transaction/?q=no{HIDDEN}thing",
        f"/admin/tokens/token/{HIDDEN}/",
    ],
    ids=ascii,
)
def test_a_page_shows_characters_that_hide_text_as_marks(path: str, build: Build, pages: Client) -> None:
    row(Token, token_id=5005, name=f"usd{HIDDEN}c", symbol=HIDDEN)
    row(Entity, id=5005, type="TOKEN", memo=HIDDEN)
    build.transaction(START, memo=HIDDEN.replace("\x1b", "").encode())

    page = pages.get(path, follow=True).content.decode()

    assert not set(HIDDEN) & set(page)
    assert "⟨U+202E⟩⟨U+2066⟩" in page


def test_a_public_page_shows_them_as_marks() -> None:
    assert answer.page(f"a{HIDDEN}b").content.decode() == f"a{MARKS}b"


def test_text_of_people_stays_as_it_is() -> None:
    text = "naïve ❤\ufe0f 日本語 עברית\t\n"
    assert answer.page(text).content.decode() == text
