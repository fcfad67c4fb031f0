"""The search of all tables at once."""

from base64 import b64encode
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger.models import Entity
from tests.build import Build
from tests.mirror.core.admin.conftest import DIGEST
from tests.mirror.core.admin.rows import row
from tokens.models import Token, TokenAccount, TokenAirdrop

pytestmark = pytest.mark.django_db

TRANSACTION = "/admin/ledger/transaction/1700000005.000000007/"
ENTITY, TOKEN = "/admin/ledger/entity/0.0.1234/", "/admin/tokens/token/0.0.5005/"
BLOCK = "/admin/ledger/recordfile/1700000006.000000000/"
MAX_STATEMENTS = 16

TEXTS = [
    ("0.0.1234", ENTITY),
    ("1234", ENTITY),
    ("aa" * 20, ENTITY),
    ("0x" + "AA" * 20, ENTITY),
    ("0x00000000000000000000000000000000000004d2", ENTITY),
    ("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB", ENTITY),
    ("cc" * 33, ENTITY),
    ("1700000005.000000007", TRANSACTION),
    ("2023-11-14 22:13:25", TRANSACTION),
    ("0.0.1005-1700000004-000000007", TRANSACTION),
    ("0.0.1005@1700000004.000000007", TRANSACTION),
    (DIGEST.hex(), TRANSACTION),
    (b64encode(DIGEST).decode(), TRANSACTION),
    ("777", BLOCK),
    ("1700000005.000000007", BLOCK),
    ("0f" * 32, "/admin/contracts/contractresult/1700000005.000000007/"),
    ("0.0.5005", TOKEN),
    ("pot", TOKEN),
    ("Potato", TOKEN),
    ("ptt", TOKEN),
    (" 0.0.5005 ", TOKEN),
    ("302d300706052b8104000a032200" + "cc" * 33, ENTITY),
    ("0x3036301006072A8648CE3D020106052B8104000A032200" + "CC" * 33, ENTITY),
    ("302a300506032b6570032100" + "dd" * 32, "/admin/ledger/entity/0.0.1236/"),
    ("0.0.BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB", ENTITY),
    ("0.0.1234-abcde", ENTITY),
    ("pt", TOKEN),
    ("PT", TOKEN),
    ("0.0.5005/7", "/admin/tokens/nft/0.0.5005,7/"),
    ("0.0.5005-abcde/7", "/admin/tokens/nft/0.0.5005,7/"),
    ("hbar transf", "/admin/ledger/cryptotransfer/"),
]


def links(pages: Client, text: str, **more: str) -> list[Any]:
    answer = pages.get("/admin/search/", {"s": text, **more})
    if answer.status_code == 302:
        return [answer.headers["Location"]]
    assert answer.status_code == 200
    return [found.link for found in answer.context["results"]]


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(("text", "link"), TEXTS)
def test_a_thing_is_found_by_an_index_in_few_statements(text: str, link: str, pages: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert link in links(pages, text)

    of_tables = [query["sql"] for query in queries if "auth_user" not in query["sql"]]
    assert len(of_tables) <= MAX_STATEMENTS
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        for statement in of_tables:
            if statement.startswith("SELECT") and " FROM " in statement and "django_session" not in statement:
                assert " LIMIT " in statement or " IN (" in statement, statement
                cursor.execute(f"explain {statement}")
                plan = "\n".join(line for (line,) in cursor.fetchall())
                assert "Seq Scan" not in plan, plan


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize("text", ["", "  ", "x", "\x00", "'; drop table entity", "%", "9" * 300, "é", "5..2"])
def test_nonsense_finds_nothing_and_is_no_error(text: str, pages: Client) -> None:
    assert links(pages, text) == []
    assert links(pages, text, extended="1") == []


def test_more_rows_than_are_shown_are_a_link_to_their_list(build: Build, pages: Client) -> None:
    for _ in range(8):
        build.transaction()

    found = links(pages, "2023-11-14")

    assert len(found) == 6
    assert found[-1] == "/admin/ledger/transaction/?q=2023-11-14"
    assert len(pages.get(found[-1]).context["cl"].result_list) == 8


def test_names_are_shown_as_text(pages: Client) -> None:
    for token_id in (5005, 5006):
        row(Token, token_id=token_id, name="<b>Bold</b>", symbol="BLD")

    for more in ({}, {"extended": "1"}):
        page = pages.get("/admin/search/", {"s": "BLD", **more}).content.decode()
        assert "&lt;b&gt;Bold" in page
        assert "<b>Bold" not in page


def test_a_stranger_is_asked_to_sign_in() -> None:
    assert Client().get("/admin/search/", {"s": "0.0.2"}).status_code == 302


def test_a_single_hit_opens_at_once(pages: Client) -> None:
    row(Token, token_id=5005, name="Potato", symbol="PTT")

    assert pages.get("/admin/search/", {"s": "ptt"}).headers["Location"] == TOKEN
    assert pages.get("/admin/search/", {"s": "ptt", "extended": "1"}).status_code == 200


def test_a_memo_is_not_shown_as_a_name_and_a_deleted_entity_is_marked(pages: Client) -> None:
    row(Entity, id=1234, type="ACCOUNT", memo="USD Coin", deleted=True, evm_address=None, alias=None)

    found = pages.get("/admin/search/", {"s": "0.0.1234", "extended": "1"}).context["results"]

    assert [(match.title, match.description) for match in found] == [
        ("0.0.1234", "Account (deleted), memo “USD Coin”")
    ]
    assert "Account 0.0.1234 (deleted)" in pages.get(ENTITY).content.decode()


def test_the_page_of_a_token_says_that_it_is_deleted(pages: Client) -> None:
    row(Token, token_id=5005)
    row(Entity, id=5005, type="TOKEN", deleted=True)

    assert "0.0.5005</a> (deleted)" in pages.get(TOKEN).content.decode()


def test_an_account_holds_only_tokens_that_it_has_not_dissociated(pages: Client) -> None:
    row(Entity, id=1234, type="ACCOUNT")
    for token, associated in ((6000, True), (6001, False)):
        row(TokenAccount, account_id=1234, token_id=token, associated=associated)
    holdings = "/admin/tokens/tokenaccount/"

    held = pages.get(ENTITY).content.decode().partition("Tokens it holds")[2].partition("</section>")[0]
    lists = [
        [holding.token_id for holding in pages.get(holdings, given).context["cl"].result_list]
        for given in (
            {"account_id": "0.0.1234"},
            {"account_id": "0.0.1234", "associated": "true"},
            {"account_id": "0.0.1234", "associated": "false"},
            {"account_id": "0.0.1234", "associated": "perhaps"},
            {"associated": "true"},
        )
    ]

    assert "0.0.6000" in held and "0.0.6001" not in held
    assert [sorted(each) for each in lists] == [[6000, 6001], [6000], [6001], [], []]


def test_only_pending_airdrops_wait(pages: Client) -> None:
    row(Entity, id=1234, type="ACCOUNT")
    for number, state in enumerate(("PENDING", "CLAIMED", "CANCELLED")):
        row(TokenAirdrop, receiver_account_id=1234, token_id=6000 + number, state=state)

    waiting = (
        pages.get(ENTITY).content.decode().partition("Airdrops waiting for it")[2].partition("</section>")[0]
    )

    assert "0.0.6000" in waiting and "0.0.6001" not in waiting and "0.0.6002" not in waiting
    address = "/admin/tokens/tokenairdrop/"
    narrowed = (
        pages.get(address, {"receiver_account_id": "0.0.1234", "state": "PENDING"}).context["cl"].result_list
    )
    assert [airdrop.token_id for airdrop in narrowed] == [6000]
    assert pages.get(address, {"state": "PENDING"}).context["cl"].result_list == []


@pytest.mark.parametrize("path", ["/admin/tokens/token/", TOKEN], ids=["list", "row"])
def test_the_menu_marks_the_current_table(path: str, pages: Client) -> None:
    row(Token, token_id=5005)

    page = pages.get(path).content.decode()

    assert page.count('<a href="/admin/tokens/token/" aria-current="page">') == 2
    assert page.count('aria-current="page"') == 2
