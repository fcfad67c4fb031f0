"""What the search field and the addresses of narrowed lists find."""

from base64 import b64encode
from hashlib import sha384
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from contracts.models import ContractResult
from ledger.models import Entity, RecordFile, Transaction, TransactionHash
from mirror.core.admin import columns
from mirror.core.admin.readonly import ReadOnlyAdmin
from tests.build import SECOND, START, Build
from tests.mirror.core.admin.conftest import AT, DIGEST
from tests.mirror.core.admin.rows import MODELS, model_name, of_each_kind, row
from tokens.models import Token, TokenAccount

pytestmark = pytest.mark.django_db


def search(pages: Client, model: Any, **query: str) -> list[Any]:
    answer = pages.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/", query)
    assert answer.status_code == 200
    return [row.pk for row in answer.context["cl"].result_list]


FOUND = {
    (Transaction, AT): [
        "1700000005.000000007",
        "1700000005000000007",
        "0.0.1005-1700000004-000000007",
        "0.0.1005@1700000004.000000007",
        "0.0.1005",
        "1005",
        DIGEST.hex(),
        f"0x{DIGEST.hex()}",
        b64encode(DIGEST).decode(),
        " 0.0.1005 ",
        "1700000005",
        "2023-11-14 22:13:25",
        "CryptoCreateAccount",
    ],
    (RecordFile, START + 6 * SECOND): [
        "777",
        "1700000005.5",
        "1700000006.000000000",
        sha384(b"777").hexdigest()[:20].upper(),
    ],
    (Entity, 1234): [
        "0.0.1234",
        "1234",
        "0x00000000000000000000000000000000000004d2",
        "aa" * 20,
        "0x" + "AA" * 20,
        "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
        "cc" * 33,
        "ccccccc",
        "topic",
    ],
    (Token, 5005): ["ato", "POTATO", "0.0.5005", "50%"],
    (ContractResult, AT): ["0x" + "0f" * 32],
    (TransactionHash, (DIGEST[:32], AT)): [DIGEST.hex()],
}


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(("row", "text"), [(row, text) for row, texts in FOUND.items() for text in texts])
def test_a_row_is_found_by(row: tuple[Any, Any], text: str, pages: Client) -> None:
    model, key = row

    assert search(pages, model, q=text) == [key]


@pytest.mark.parametrize("text", ["2023-11-14", "2023-11-14 22", "2023-11-14T22:13", "2023-11-14 22:13:20Z"])
def test_a_part_of_a_day_finds_all_in_it(text: str, build: Build, pages: Client) -> None:
    first, second = build.transaction(START), build.transaction(START + SECOND - 1)
    build.transaction(START + 86_400 * SECOND)

    assert search(pages, Transaction, q=text) == [second, first]


def test_the_first_column_that_finds_something_is_shown(pages: Client) -> None:
    row(TokenAccount, account_id=1001, token_id=5005)
    row(TokenAccount, account_id=1002, token_id=5005)

    assert search(pages, TokenAccount, q="0.0.1001") == [(1001, 5005)]
    assert search(pages, TokenAccount, q="0.0.5005") == [(1002, 5005), (1001, 5005)]


def test_a_list_is_narrowed_by_its_address(build: Build, pages: Client) -> None:
    at = build.transaction(payer=1005, type=11)
    build.transaction(payer=1005)
    build.transaction(payer=1006, type=11)

    assert search(pages, Transaction, payer_account_id="0.0.1005", type="CRYPTOCREATEACCOUNT") == [at]
    assert search(pages, Transaction, payer_account_id="0.0.1005", type="11", q="") == [at]
    assert len(search(pages, Transaction, payer_account_id="", type="")) == 3
    assert len(search(pages, Transaction, consensus_timestamp=f"{START // SECOND}.0..{at // SECOND}.5")) == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"result": "FAILED"}, [1, 2]),
        ({"result": "SUCCEEDED"}, [0, 3]),
        ({"result": "INVALID_SIGNATURE"}, [1]),
        ({"result": "SUCCESS"}, [0, 3]),
        ({"q": "invalid_signature"}, [1]),
        ({"result": "FAILED", "payer_account_id": "0.0.1005"}, [2]),
        ({"consensus_timestamp": "1700000001 .. 1700000002"}, [1, 2]),
        ({"consensus_timestamp": "2023-11-14 22:13:22.."}, [2, 3]),
        ({"consensus_timestamp": "..1700000000"}, [0]),
        ({"result": "NO_SUCH_RESULT"}, []),
        ({"consensus_timestamp": ".."}, []),
    ],
    ids=str,
)
def test_transactions_are_narrowed_by_result_payer_and_time(
    query: dict[str, str], found: list[int], build: Build, pages: Client
) -> None:
    at = [
        build.transaction(START + number * SECOND, result=result, payer=payer)
        for number, (result, payer) in enumerate([(22, 1001), (7, 1001), (10, 1005), (22, 1005)])
    ]

    assert search(pages, Transaction, **query) == [at[number] for number in reversed(found)]


NONSENSE = ("'; drop table entity", "0.0.", "9" * 50, "0x123", "2023-13-45", "é", "5..2", "\x00")


def with_a_search_of_its_own() -> list[Any]:
    pages: dict[Any, Any] = {model: admin.site.get_model_admin(model) for model in MODELS}
    return [model for model, page in pages.items() if type(page).search is not ReadOnlyAdmin.search]


@pytest.mark.parametrize(
    "model", dict.fromkeys([*of_each_kind(columns.indexed), *with_a_search_of_its_own()]), ids=model_name
)
def test_nonsense_is_no_error(model: Any, pages: Client) -> None:
    page = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    for text in NONSENSE:
        assert pages.get(page, dict.fromkeys(("q", *columns.indexed(model)), text)).status_code == 200


def test_a_search_that_can_mean_nothing_says_what_can_be_searched_for(pages: Client) -> None:
    page = pages.get("/admin/ledger/transaction/", {"q": "nonsense"}).content.decode()

    assert "“nonsense” is not something to search for here. Search for transaction id" in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"payer_account_id": "ada"}, "“ada” is no payer account: write it like 0.0.1234."),
        ({"valid_start_ns": "\x00"}, "is no valid start ns"),
        ({"type": "PLANET"}, "“PLANET” is no type: write it like CRYPTOTRANSFER."),
    ],
)
def test_a_value_that_is_none_says_how_to_write_it(
    query: dict[str, str], words: str, build: Build, pages: Client
) -> None:
    build.transaction()
    answer = pages.get("/admin/ledger/transaction/", query)

    assert words in answer.content.decode()
    assert list(answer.context["cl"].result_list) == []


@pytest.mark.parametrize("name", ["memo__contains", "nonce", "max_fee__gt", "payer_account_id__in"])
def test_an_unknown_filter_is_refused(name: str, build: Build, pages: Client) -> None:
    build.transaction()
    refused = f"Transactions can&#x27;t be narrowed by {name}."

    answer = pages.get("/admin/ledger/transaction/", {name: "1"})
    assert refused in answer.content.decode()
    assert answer.context["cl"].result_list == []

    export = pages.get("/admin/ledger/transaction/export.csv", {name: "1"})
    assert (export.status_code, export.content.decode()) == (400, refused.replace("&#x27;", "'"))


def test_a_parameter_of_djangos_forms_is_refused(pages: Client) -> None:
    assert pages.get("/admin/ledger/transaction/", {"_to_field": "x"}).status_code == 400


def test_a_column_that_only_goes_on_in_an_index_is_refused_alone(pages: Client) -> None:
    answer = pages.get("/admin/tokens/nft/", {"serial_number": "5"})

    assert "NFTs can be narrowed by token_id or account_id only." in answer.content.decode()


def test_links_of_a_list_keep_every_filter(build: Build, pages: Client) -> None:
    build.transaction(payer=1005)
    page = pages.get(
        "/admin/ledger/transaction/", {"payer_account_id": "0.0.1005", "p": "1"}
    ).content.decode()

    assert 'href="export.csv?payer_account_id=0.0.1005"' in page
    assert 'href="?o=1&amp;payer_account_id=0.0.1005"' in page
