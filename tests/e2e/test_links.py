"""Every list, with random filters: in a millisecond at a time, its pages give what one gives without a limit.

In the database of a simulated network each row that PostgreSQL looks at takes time here. So nearly every list
runs out of its budget. In a slow database each statement does, whatever it reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from random import Random
from typing import Any, get_type_hints

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from mirror.core.db.reading import session
from mirror.core.db.reading.sql import TIMEOUT, fetch
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from mirror.urls import VIEWS
from tests.api import Answer, Api
from tests.build import SECOND
from tests.contract import budgets
from tests.ledger.ingest.load import load
from tests.ledger.ingest.tables import empty_tables
from tests.waiting import PATIENCE_SECONDS

QUERIES = 4
# Its pages are so many that each query takes long; tests/ledger/api/test_transaction_searches.py asks more.
FEW_QUERIES = {"transactions": 1}
BUDGET = 0.001
# So many rows of each table take a tenth of a millisecond each.
_SLOW_ROWS = 100
# A slow database takes longer for any statement than its share of the budget.
_SLOW_SECONDS = 0.02
# It is requested no more often: each page takes a statement for each of its windows.
_SLOW_PAGES = 3
_HISTORY = History(blocks=24, tps=20, seed=17)

LISTS = {
    path: view
    for path, view in VIEWS.items()
    if isinstance(view.answers, type) and "links" in get_type_hints(view.answers)
}

# Path -> a select of the values of its parts.
PARTS = {
    "accounts/{id}/airdrops/outstanding": "select sender_account_id from token_airdrop",
    "accounts/{id}/airdrops/pending": "select receiver_account_id from token_airdrop",
    "accounts/{id}/allowances/nfts": "select owner from nft_allowance",
    "accounts/{idOrAliasOrEvmAddress}": "select payer_account_id from transaction",
    "accounts/{idOrAliasOrEvmAddress}/allowances/crypto": "select owner from crypto_allowance",
    "accounts/{idOrAliasOrEvmAddress}/allowances/tokens": "select owner from token_allowance",
    "accounts/{idOrAliasOrEvmAddress}/nfts": "select account_id from nft where account_id is not null",
    "accounts/{idOrAliasOrEvmAddress}/rewards": "select id from entity where type = 'ACCOUNT'",
    "accounts/{idOrAliasOrEvmAddress}/tokens": "select account_id from token_account",
    "accounts/{ownerId}/hooks": "select owner_id from hook",
    "accounts/{ownerId}/hooks/{hookId}/storage": "select owner_id, hook_id from hook_storage",
    "contracts/{contractIdOrAddress}/results": "select contract_id from contract_result",
    "contracts/{contractIdOrAddress}/results/logs": "select contract_id from contract_log",
    "contracts/{contractIdOrAddress}/state": "select contract_id from contract_state",
    "contracts/results/{transactionIdOrHash}/actions": """
        select '0x' || encode(r.transaction_hash, 'hex') from contract_action a
        join contract_result r on r.consensus_timestamp = a.consensus_timestamp
    """,
    "tokens/{tokenId}/balances": "select token_id from token_account",
    "tokens/{tokenId}/nfts": "select token_id from nft",
    "tokens/{tokenId}/nfts/{serialNumber}/transactions": "select token_id, serial_number from nft",
    "topics/{topicId}/messages": "select topic_id from topic_message",
}

_ACCOUNTS = "select id from entity where type = 'ACCOUNT'"
_TOKENS = "select token_id from token"
# Parameter -> a select of its values, or the values.
VALUES: dict[str, str | list[str]] = {
    "account.balance": "select balance from entity where balance is not null",
    "account.id": _ACCOUNTS,
    "account.publickey": "select public_key from entity where public_key is not null",
    "balance": ["true", "false"],
    "block.hash": "select hash from record_file",
    "block.number": "select index from record_file",
    "contract.id": "select id from contract",
    "encoding": ["base64", "utf-8"],
    "file.id": ["0.0.101", "0.0.102"],
    "from": "select sender_id from contract_result where sender_id is not null",
    "hbar": ["true", "false"],
    "hook.id": "select hook_id from hook",
    "index": ["0", "1", "3"],
    "internal": ["true", "false"],
    "key": "select encode(key, 'hex') from hook_storage",
    "name": ["a", "co", "e "],
    "node.id": ["0", "1", "3"],
    "owner": ["true", "false"],
    "publickey": "select encode(wipe_key, 'hex') from token where wipe_key is not null",
    "receiver.id": _ACCOUNTS,
    "registerednode.id": "select registered_node_id from registered_node",
    "result": ["success", "fail"],
    "schedule.id": "select schedule_id from schedule",
    "sender.id": _ACCOUNTS,
    "sequencenumber": ["1", "2", "5"],
    "serialnumber": ["1", "2", "5"],
    "slot": "select encode(slot, 'hex') from contract_state",
    "spender.id": _ACCOUNTS,
    "timestamp": "select consensus_timestamp from transaction",
    "token.id": _TOKENS,
    **{
        topic: f"select encode({topic}, 'hex') from contract_log where {topic} is not null"
        for topic in ("topic0", "topic1", "topic2", "topic3")
    },
    "transaction.hash": "select encode(transaction_hash, 'hex') from contract_result",
    "transaction.index": ["0", "1", "2"],
    "transactions": ["true", "false"],
    "transactiontype": "select 'CRYPTOTRANSFER' union all select 'CONTRACTCALL' union all select 'TOKENMINT'",
    "type": ["credit", "debit", "fungible_common", "BLOCK_NODE"],
}
_PAGING = ("limit", "order")


@pytest.fixture(scope="module")
def _loaded(_test_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The tables of a network, and rows that take time for whoever reads them."""
    with django_db_blocker.unblock():
        load(*(block for _, block in _HISTORY.play(nodes())))
        for values in (*PARTS.values(), *VALUES.values()):
            if isinstance(values, str):
                _select(values)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                create function a_while(probability float) returns boolean language plpgsql volatile cost 1
                    as $$ begin
                        if random() < probability then perform pg_sleep(0.00005); end if;
                        return true;
                    end $$
                """
            )
            tables = _tables()
            for table in tables:
                cursor.execute(f"select count(*) from {table}")
                (rows,) = cursor.fetchone()
                # However large a table is, reading all of it takes as long.
                cursor.execute(
                    f"create policy slow on {table} using (a_while({_SLOW_ROWS / max(rows, 1)})); "
                    f"alter table {table} enable row level security, force row level security"
                )
        yield
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(
                    f"drop policy slow on {table}; "
                    f"alter table {table} disable row level security, no force row level security"
                )
            cursor.execute("drop function a_while")
        empty_tables()


def _tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            select oid::regclass::text from pg_class
            where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
            """
        )
        return [table for (table,) in cursor.fetchall()]


@pytest.fixture
def _late(_loaded, settings_of, monkeypatch):
    # A walk takes as many statements as there are windows.
    monkeypatch.setattr(budgets, "check", lambda *_: None)
    yield
    # The connection retains the limit of its last statement.
    settings_of({"rest.query.timeBudget": 0.0, "rest.db.statementTimeout": PATIENCE_SECONDS})
    fetch("select 1")


def test_each_list_and_each_parameter_has_values() -> None:
    names = {one.name for view in LISTS.values() for one in view.parameters.declared.values()}
    assert sorted(names - set(_PAGING)) == sorted(VALUES)
    assert sorted(path for path in LISTS if "{" in path) == sorted(PARTS)


@pytest.mark.usefixtures("_late")
@pytest.mark.parametrize("path", LISTS)
def test_following_the_links_gives_every_row_once(path, settings_of, django_db_blocker):
    choose = Random(path)
    with django_db_blocker.unblock():
        api = Api()
        for _ in range(FEW_QUERIES.get(path, QUERIES)):
            url = _url(path, choose)
            settings_of({"rest.query.timeBudget": 0.0})
            expected = list(_pages(api, url))
            settings_of({"rest.query.timeBudget": BUDGET})
            found = list(_pages(api, url))
            if expected[0].status != 200:
                assert found[0].status == expected[0].status, url
                continue
            assert all(page.status == 200 for page in found), (url, found)
            assert _rows(found) == _rows(expected), url


@contextmanager
def _slow() -> Iterator[None]:
    cursor = session.cursor

    def late(connection: Any, seconds: float) -> Any:
        found = cursor(connection, seconds)
        found.execute(f"select pg_sleep({_SLOW_SECONDS})")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "cursor", late)
        yield


@pytest.mark.usefixtures("_late")
@pytest.mark.parametrize("path", LISTS)
def test_a_slow_database_answers_every_list_with_rows_and_a_link(path, settings_of, django_db_blocker):
    choose, answered = Random(f"slow {path}"), 0
    with django_db_blocker.unblock():
        api = Api()
        for _ in range(FEW_QUERIES.get(path, QUERIES)):
            url = _url(path, choose)
            settings_of({"rest.query.timeBudget": 0.0})
            expected = list(_pages(api, url))
            if expected[0].status != 200:
                continue
            settings_of({"rest.query.timeBudget": _SLOW_SECONDS})
            with _slow():
                found = list(islice(_pages(api, url), _SLOW_PAGES))
            assert all(page.status == 200 for page in found), (url, found)
            rows, all_rows = _rows(found), _rows(expected)
            assert rows == all_rows[: len(rows)], url
            assert len(rows) == len(all_rows) or found[-1].json()["links"]["next"], url
            answered += 1
    assert answered


@pytest.mark.usefixtures("_late")
def test_a_page_of_a_slow_database_is_short(settings_of, django_db_blocker):
    settings_of({"rest.query.timeBudget": _SLOW_SECONDS})
    with django_db_blocker.unblock(), _slow():
        page = Api().get("/api/v1/contracts/results/logs?limit=25").json()

    assert len(page["logs"]) < 25
    assert page["links"]["next"]


@pytest.mark.usefixtures("_late")
@pytest.mark.parametrize("path", LISTS)
def test_what_a_slow_database_cannot_answer_is_narrowed_by_a_filter_of_the_list(
    path, settings_of, django_db_blocker
):
    settings_of({TIMEOUT: _SLOW_SECONDS / 4})
    with django_db_blocker.unblock(), _slow():
        parts = iter(_select(PARTS[path])[0] if path in PARTS else ())
        answer = Api().get(f"/api/v1/{_filled(path, parts)}")
    (problem,) = answer.json()["_status"]["messages"]
    message, _, name = (problem.get("detail") or problem["message"]).partition(": narrow it by ")
    assert (answer.status, message) == (503, "The request takes too long")
    assert name in {one.name for one in LISTS[path].parameters.declared.values()} - set(_PAGING)


def _url(path: str, choose: Random) -> str:
    """Return a request for a list with some of its parameters."""
    declared = [one for one in LISTS[path].parameters.declared.values() if one.name not in _PAGING]
    query = [f"order={choose.choice(('asc', 'desc'))}", f"limit={choose.choice((5, 25, 100))}"]
    for parameter in choose.sample(declared, choose.randint(0, min(3, len(declared)))):
        operators = [f"{one}:" for one in sorted(parameter.operators)] if parameter.many else [""]
        value = choose.choice(_values(parameter.name))
        query.append(f"{parameter.name}={choose.choice(operators)}{value}")
        if parameter.name.startswith("topic"):
            query += [f"timestamp=gte:{_values('timestamp')[0]}", f"timestamp=lte:{_values('timestamp')[-1]}"]
    parts = iter(choose.choice(_select(PARTS[path])) if path in PARTS else ())
    return f"/api/v1/{_filled(path, parts)}?{'&'.join(query)}"


def _filled(path: str, parts: Iterator[Any]) -> str:
    return "/".join(str(next(parts)) if part.startswith("{") else part for part in path.split("/"))


def _values(name: str) -> list[str]:
    values = VALUES[name]
    if not isinstance(values, str):
        return values
    rows = sorted({value for (value,) in _select(values)})
    return (
        [f"{at // SECOND}.{at % SECOND:09d}" for at in rows] if name == "timestamp" else list(map(str, rows))
    )


@cache
def _select(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: list[tuple[Any, ...]] = sorted(cursor.fetchall())
    assert rows, f"nothing found by: {statement}"
    return rows


def _pages(api: Api, url: str) -> Iterator[Answer]:
    """Yield the pages of a list. Where a request names one value its link repeats it, and ends the list."""
    seen: set[str] = set()
    while url and url not in seen:
        seen.add(url)
        answer = api.get(url)
        yield answer
        url = answer.json()["links"]["next"] if answer.status == 200 else ""


def _rows(pages: list[Answer]) -> list[Any]:
    bodies = [page.json() for page in pages]
    (name,) = [name for name, member in bodies[0].items() if isinstance(member, list)]
    return [row for body in bodies for row in body[name]]
