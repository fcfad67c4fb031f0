"""Every table has its list and its page of a row; links lead from one to the other."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext

from contracts.models import EthereumTransaction, HookHistory
from ledger.models import CryptoTransfer, Entity, EntityHistory, RecordFile, Transaction, TransactionHash
from mirror.core.admin import columns
from mirror.core.admin.addresses import key_text
from mirror.core.admin.lists import LAST_PAGE
from mirror.models import LoadedRange
from tests.build import FEE_COLLECTOR, SECOND, START, Build
from tests.ledger.api.test_not_loaded import load
from tests.mirror.core.admin.rows import MODELS, model_name, of_each_kind, row
from tests.mirror.node.health.test_status import PROBLEM, loader
from tokens.models import Token, TokenAccount, TokenTransfer

pytestmark = pytest.mark.django_db


def address(model: type[models.Model], key: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{f'{key}/' if key else ''}"


def text(response: Any) -> str:
    return str(response.content, "utf-8")


def statements(queries: CaptureQueriesContext, model: type[models.Model]) -> list[str]:
    return [query["sql"] for query in queries if f'FROM "{model._meta.db_table}"' in query["sql"]]


@pytest.mark.parametrize(
    ("model", "with_nulls"),
    [
        *((model, False) for model in MODELS),
        *((model, True) for model in MODELS if any(field.null for field in model._meta.concrete_fields)),
    ],
    ids=lambda given: {True: "nulls", False: "full"}[given] if isinstance(given, bool) else model_name(given),
)
def test_every_table_lists_and_opens_a_row_without_counting(
    model: type[models.Model], with_nulls: bool, pages: Client
) -> None:
    key = key_text(row(model, with_nulls=with_nulls))

    with CaptureQueriesContext(connection) as queries:
        listed = pages.get(address(model))
        links = set(re.findall(rf'"({re.escape(address(model))}[^"?]+)"', text(listed)))
        opened = pages.get(unescape(links.pop()))

    assert (listed.status_code, opened.status_code, links) == (200, 200, set())
    assert opened.request["PATH_INFO"] == address(model, key)
    for page in map(text, (listed, opened)):
        assert (page.count("<main"), page.count("<h1"), page.count('<th scope="col"></th>')) == (1, 1, 0)
    read = statements(queries, model)
    assert read
    assert all(" LIMIT " in statement for statement in read)
    assert not any("COUNT(" in query["sql"].upper() for query in queries)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "auth/",
        "search/?s=x",
        "second-factor/",
        "password_change/",
        "auth/user/",
        "auth/user/add/",
        "nowhere/",
    ],
)
def test_every_other_page_has_its_landmark_and_one_heading(path: str, pages: Client) -> None:
    page = text(pages.get(f"/admin/{path}"))

    assert (page.count("<main"), page.count("<h1")) == (1, 1)
    assert page.index("<main") < page.index('id="content"') < page.index("<h1") < page.index("</main>")


def test_people_are_searched_by_a_form_with_names(pages: Client) -> None:
    page = text(pages.get("/admin/auth/user/?q=ada&is_staff__exact=1"))

    form = re.search(r'<form class="narrow" id="changelist-search".*?</form>', page, re.S)
    assert form
    assert '<label class="wide">Search<input type="search" name="q" value="ada"></label>' in form[0]
    assert '<input type="hidden" name="is_staff__exact" value="1">' in form[0]
    assert '<button type="submit">Search</button>' in form[0]


@pytest.mark.parametrize("model", of_each_kind(columns.key_columns), ids=model_name)
def test_a_key_without_a_row_is_a_page_that_says_so(model: Any, pages: Client) -> None:
    number = len(columns.key_columns(model))
    for key in ("0.0.999999999999999", "9" * 40, "_00", "5..2", "0" + ",0" * number):
        answer = pages.get(address(model, ",".join([key] * number)))

        assert answer.status_code == 404, key
        assert "A node knows what happened" in text(answer)


def test_equal_rows_of_a_table_without_key_open_as_one(pages: Client) -> None:
    rows = [row(CryptoTransfer) for _ in range(2)]

    assert pages.get(address(CryptoTransfer, key_text(rows[0]))).status_code == 200


def test_a_key_with_a_null_finds_its_row(pages: Client) -> None:
    hook = row(HookHistory, with_nulls=True)

    assert key_text(hook) == "0.0.1001,7,null"
    assert pages.get(address(HookHistory, "0.0.1001,7,null")).status_code == 200


def test_a_block_leads_to_its_transactions_and_its_neighbours(build: Build, pages: Client) -> None:
    build.block(4, end=START)
    build.block(5, end=START + 10 * SECOND, consensus_start=START + SECOND)
    inside = build.transaction(START + 5 * SECOND)
    build.transaction(START + 11 * SECOND)

    page = text(pages.get(address(RecordFile, str(START + 10 * SECOND))))

    assert "Block 5" in page
    assert address(Transaction, "1700000005.000000000") in page
    assert address(Transaction, "1700000011.000000000") not in page
    assert address(RecordFile, "1700000000.000000000") in page
    assert "/api/v1/blocks/5" in page
    assert inside == START + 5 * SECOND


def test_a_transaction_leads_to_its_block_people_transfers_and_result(build: Build, pages: Client) -> None:
    build.block(5, end=START + 10 * SECOND, consensus_start=START)
    build.transaction(
        START + SECOND,
        entity_id=1003,
        transfers=[(1001, -150_000_007), (FEE_COLLECTOR, 150_000_007)],
        tokens=[(5005, 1001, -3), (5005, 1002, 3)],
        nft_transfer=[
            {"token_id": 6006, "serial_number": 9, "sender_account_id": 1001, "receiver_account_id": 1002}
        ],
        memo=b"for the <b>boat</b>",
        transaction_hash=b"\xab" * 48,
    )

    page = text(pages.get(address(Transaction, str(START + SECOND))))

    assert "Transaction 0.0.1001-1700000000-000000000" in page
    assert ">CRYPTOTRANSFER<" in page and ">SUCCESS<" in page
    assert "2023-11-14 22:13:21.000000000 UTC" in page and "1700000001.000000000" in page
    assert address(RecordFile, "1700000010.000000000") in page
    for entity in ("0.0.1001", "0.0.1002", "0.0.1003", "0.0.98"):
        assert address(Entity, entity) in page
    assert "-1.50000007 ℏ" in page and "-150,000,007 tinybars" in page
    assert "/admin/tokens/token/0.0.5005/" in page and "/admin/tokens/token/0.0.6006/" in page
    assert "for the &lt;b&gt;boat&lt;/b&gt;" in page
    assert "0x" + "ab" * 48 in page


def test_an_entity_shows_its_key_and_leads_to_its_transactions_tokens_and_history(
    build: Build, pages: Client
) -> None:

    row(Entity, id=1001, type="ACCOUNT", balance=5)
    row(EntityHistory, id=1001)
    row(TokenAccount, account_id=1001, token_id=5005)
    at = [build.transaction(payer=1001) for _ in range(12)]

    page = text(pages.get(address(Entity, "0.0.1001")))

    assert "ED25519" in page and bytes(range(32)).hex() in page
    for title in ("Transactions it paid for", "Hbar transfers", "Tokens it holds", "Earlier versions"):
        assert f">{title}</h2>" in page
    assert f"{address(Transaction)}?payer_account_id=0.0.1001" in page
    assert str(at[-1] // SECOND) in page and str(at[1] // SECOND) not in page


def test_a_row_whose_key_is_an_entity_id_leads_to_the_entity(pages: Client) -> None:
    row(Token, token_id=5005)

    assert address(Entity, "0.0.5005") in text(pages.get(address(Token, "0.0.5005")))


@pytest.mark.parametrize(("in_weibars", "unit"), [(True, "weibars, 10,000,000,000"), (False, "tinybars, as")])
def test_an_ethereum_transaction_shows_its_amounts_and_their_unit(
    pages: Client, in_weibars: bool, unit: str
) -> None:
    key = key_text(
        row(EthereumTransaction, value=bytes.fromhex("2e90edd000"), gas_price=b"", in_weibars=in_weibars)
    )

    page = text(pages.get(address(EthereumTransaction, key)))

    assert '<span class="amount">200,000,000,000</span>' in page
    assert "2e90edd000" in page
    assert unit in page


def test_a_list_goes_on_page_by_page(build: Build, pages: Client) -> None:
    at = [build.transaction(transfers=[]) for _ in range(120)]

    shown = [text(pages.get(f"{address(Transaction)}?p={number}")) for number in (1, 2, 3)]

    assert [page.count('class="field-consensus_timestamp"') for page in shown] == [50, 50, 20]
    assert f"{at[-1] // SECOND}.000000000" in shown[0] and f"{at[0] // SECOND}.000000000" in shown[2]
    assert "Page 1" in shown[0] and "?p=2" in shown[0] and 'rel="prev"' not in shown[0]
    assert 'rel="next"' not in shown[2]


def test_the_order_can_be_turned_around(build: Build, pages: Client) -> None:
    at = [build.transaction(transfers=[]) for _ in range(60)]

    page = text(pages.get(f"{address(Transaction)}?o=1"))

    assert f"{at[0] // SECOND}.000000000" in page and f"{at[-1] // SECOND}.000000000" not in page


@pytest.mark.parametrize("page", ["0", "-5", "x", "9" * 21, "9" * 5_000, str(LAST_PAGE)])
def test_any_page_number_is_answered(page: str, pages: Client) -> None:
    assert pages.get(f"{address(Transaction)}?p={page}").status_code == 200


def test_a_list_reads_no_bytes_it_does_not_show(pages: Client) -> None:
    row(RecordFile)
    with CaptureQueriesContext(connection) as queries:
        pages.get(address(RecordFile))

    (statement,) = statements(queries, RecordFile)
    assert '"bytes"' not in statement and '"logs_bloom"' not in statement


def test_the_index_names_the_last_block_and_all_tables(build: Build, pages: Client) -> None:
    assert "No block is loaded yet" in text(pages.get("/admin/"))
    build.block(1234)

    page = text(pages.get("/admin/"))

    assert "number 1234" in page
    assert "2023-11-14 22:13:21 UTC" in page
    assert all(address(model) in page for model in MODELS)


def test_the_index_says_what_keeps_the_loader_from_going_on(build: Build, pages: Client) -> None:
    loader("failed", problem=PROBLEM)

    page = unescape(text(pages.get("/admin/")))

    assert "at a.rcd_sig: no consensus: signed by node 1, 1 of the 2 stake needed" in page
    assert "node 0: no signature file" in page


def test_the_index_says_that_tables_are_missing(pages: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("drop table loader_state")

    assert "Some tables are missing or old: <code>manage.py migrate</code>" in text(pages.get("/admin/"))


def test_the_hash_lookup_finds_its_row_by_the_index_of_its_partition(build: Build, pages: Client) -> None:
    build.transaction_hash(START)
    key = key_text(TransactionHash.objects.get())

    with CaptureQueriesContext(connection) as queries:
        assert pages.get(address(TransactionHash, key)).status_code == 200

    assert "substring(hash from 1 for 32)" in statements(queries, TransactionHash)[0]


def test_rows_of_the_same_time_are_all_listed(build: Build, pages: Client) -> None:
    at = build.transaction(transfers=[], tokens=[(5005, account, 1) for account in range(2000, 2100)])

    listed = text(pages.get(f"{address(TokenTransfer)}?consensus_timestamp={at // SECOND}.0"))
    more = text(pages.get(f"{address(TokenTransfer)}?consensus_timestamp={at // SECOND}.0&p=2"))

    accounts = set(re.findall(r"/entity/(0\.0\.2\d\d\d)/", listed + more))
    assert len(accounts) == 100


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
