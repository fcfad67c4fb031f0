"""Lists as files."""

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import Client

from ledger.models import CryptoTransfer, Transaction
from mirror.core.admin import export, lists
from tests.build import START, Build
from tests.mirror.core.admin.rows import MODELS, row

#: The value of a column, and what JSON and CSV have for it.
VALUES: dict[str, tuple[Any, Any, str]] = {
    "consensus_timestamp": (START + 1, "1700000000.000000001", "1700000000.000000001"),
    "type": (14, "CRYPTOTRANSFER", "CRYPTOTRANSFER"),
    "result": (22, "SUCCESS", "SUCCESS"),
    "payer_account_id": (1001, "0.0.1001", "0.0.1001"),
    "entity_id": (None, None, ""),
    "charged_tx_fee": (150_000_007, 150_000_007, "150000007"),
    "memo": (b"=1+1", "=1+1", "'=1+1"),
    "transaction_hash": (b"\xab\xcd", "0xabcd", "0xabcd"),
    "scheduled": (False, False, "false"),
    "nft_transfer": ([{"token_id": 5005}], [{"token_id": 5005}], '[{"token_id":5005}]'),
    "inner_transactions": (
        [1001, START],
        ["0.0.1001-1700000000-000000000"],
        '["0.0.1001-1700000000-000000000"]',
    ),
}


def test_json_has_every_value_as_it_is_and_csv_no_formula_for_a_spreadsheet() -> None:
    fields: list[Any] = [Transaction._meta.get_field(name) for name in VALUES]
    stored, as_json, as_csv = zip(*VALUES.values(), strict=True)

    def lines(form: str) -> list[str]:
        return b"".join(export.chunks([stored], fields, form)).decode().splitlines()

    assert [json.loads(line) for line in lines("ndjson")] == [dict(zip(VALUES, as_json, strict=True))]
    assert list(csv.reader(lines("csv"))) == [list(VALUES), list(as_csv)]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_whatever_a_text_begins_with_it_is_no_formula(first: str) -> None:
    field = Transaction._meta.get_field("memo")
    text = b"".join(export.chunks([[f"{first}1".encode()]], [field], "csv")).decode()

    _, (cell,) = csv.reader(io.StringIO(text, newline=""))
    assert cell == f"'{first}1"


@pytest.mark.django_db
def test_a_row_of_every_table_can_be_exported() -> None:
    for model in MODELS:
        row(model)
        names = export.names(model, ())
        fields: list[Any] = [model._meta.get_field(name) for name in names]
        for form in export.FORMS:
            text = b"".join(export.chunks(model._base_manager.values_list(*names), fields, form)).decode()
            assert len(list(csv.reader(io.StringIO(text))) if form == "csv" else text.splitlines()) > 0


@pytest.mark.django_db(transaction=True)
def test_a_list_is_sent_with_its_filters_and_order_up_to_the_limit(settings_of: Any) -> None:
    """The rows are committed, since an export reads them on a connection of its own."""
    settings_of({"web.exportRows": 3})
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada"))
    build = Build()
    at = [build.transaction(payer=1005) for _ in range(5)]
    build.transaction(payer=1006)

    path = "/admin/ledger/transaction/export.csv"

    def sent(form: str, query: dict[str, str]) -> list[str]:
        answer = client.get(f"/admin/ledger/transaction/export.{form}", query)
        assert isinstance(answer, StreamingHttpResponse)
        assert answer.headers["content-disposition"] == f'attachment; filename="transaction.{form}"'
        return answer.getvalue().decode().splitlines()

    found = [json.loads(line) for line in sent("ndjson", {"payer_account_id": "0.0.1005", "o": "1"})]
    assert [each["consensus_timestamp"] for each in found] == [
        f"{each // 10**9}.{each % 10**9:09}" for each in at[:3]
    ]
    assert len(sent("csv", {})) == 4
    assert len(sent("csv", {"payer_account_id": "0.0.999"})) == 1
    assert client.get(f"{path}?payer_account_id=ada").status_code == 400

    # Each of these gave its place back.
    unread = [client.get(path, headers={"accept-encoding": coding}) for coding in ("identity", "gzip")]
    refused = client.get(path)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    for each in unread:
        each.close()
    assert len(sent("csv", {})) == 4


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["xml", "csv.gz"])
def test_another_form_is_not_found(form: str, pages: Client) -> None:
    assert pages.get(f"/admin/ledger/transaction/export.{form}").status_code == 404


def test_strangers_export_nothing(db: None) -> None:
    assert Client().get("/admin/ledger/transaction/export.csv").status_code == 302


def test_totals_are_exact_on_one_page_and_estimates_on_several(build: Build, pages: Client) -> None:
    def total(**query: str) -> str:
        return str(pages.get("/admin/ledger/transaction/", query).context["cl"].total)

    # Other tests may have had more rows analysed.
    with connection.cursor() as cursor:
        cursor.execute("analyze transaction, crypto_transfer")
    assert total() == ""
    for number in range(60):
        build.transaction(transfers=[], payer=1001 if number else 1002)

    assert total(payer_account_id="0.0.1002") == "1 row"
    assert total() == "more than 50 rows"
    assert total(payer_account_id="0.0.1001").endswith(" rows")
    assert total(p="2") == ""
    assert lists.table_rows(CryptoTransfer) == 0
