"""Lists of transactions by every mix of parameters, against a plain filter: all rows once, in any budget."""

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_django
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ledger.queries.transaction_sides import TransactionSelection, sides_of
from ledger.queries.transaction_streams import Window, intersect
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import fetch
from mirror.core.values import entity_id
from mirror.core.values.hapi.result_codes import SUCCESS
from tests.api import Api
from tests.build import SECOND, START
from tests.contract.plans import names, prepared

TYPES = {14: "cryptotransfer", 27: "consensussubmitmessage", 7: "contractcall", 11: "cryptocreateaccount"}
RARE = {23: "freeze", 12: "cryptodelete", 40: "tokenassociate"}
# A busy one, one that fails, collectors of fees, nodes, and quiet ones.
BUSY, FAILING, COLLECTORS, NODES, QUIET = 1001, 1002, (98, 800), (3, 4), range(2000, 2300)
# Of a shard whose ids are negative in the database.
FAR = entity_id.encode(600, 0, 5)
TRANSACTIONS = 3000
NANOS_APART = 10
URL = "/api/v1/transactions"


@dataclass
class Made:
    """One transaction with who gets and gives how much, and who else took part."""

    at: int
    payer: int
    type: int
    result: int
    nonce: int
    parent: int | None
    transfers: list[tuple[int, int]] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    mentioned: set[int] = field(default_factory=set)

    def has(self, accounts: list[tuple[str, int]], credit: bool | None) -> bool:
        if credit is not None:
            moved = [who for who, amount in self.transfers + self.tokens if (amount > 0) == credit and amount]
            return any(_is_among(who, accounts) for who in moved)
        own = [self.payer] if self.nonce == 0 or self.parent is not None or self.type in (11, 15) else []
        parties = {*own, *self.mentioned, *(who for who, _ in self.transfers + self.tokens)}
        return not accounts or any(_is_among(who, accounts) for who in parties)


def _is_among(account: int, comparisons: list[tuple[str, int]]) -> bool:
    compared = {
        "eq": int.__eq__,
        "ne": int.__ne__,
        "gt": int.__gt__,
        "gte": int.__ge__,
        "lt": int.__lt__,
        "lte": int.__le__,
    }
    equal = [value for operator, value in comparisons if operator == "eq"]
    others = [(operator, value) for operator, value in comparisons if operator != "eq"]
    return (not equal or account in equal) and all(
        compared[operator](account, value) for operator, value in others
    )


def make() -> list[Made]:
    chosen = random.Random(16)
    made = []
    for number in range(TRANSACTIONS):
        dice = chosen.random()
        payer = BUSY if dice < 0.7 else FAILING if dice < 0.8 else chosen.choice(QUIET)
        kind = chosen.choice(list(TYPES)) if chosen.random() < 0.995 else chosen.choice([12, 23])
        if payer == FAILING:
            kind = 27
        result = (
            chosen.choice((28, 33))
            if payer == FAILING or chosen.random() < 0.02
            else chosen.choice((22, 22, 104, 220))
        )
        at = START + number * NANOS_APART
        one = Made(at, payer, kind, result, *chosen.choice([(0, None), (0, None), (1, None), (1, at - 1)]))
        one.transfers = [(payer, -9), (chosen.choice(NODES), 2), (COLLECTORS[number > 1500], 7)]
        if chosen.random() < 0.01:
            one.transfers += [(chosen.choice((*NODES, *COLLECTORS)), -5), (chosen.choice(QUIET), 5)]
        if kind == 14 and result == 22:
            one.transfers.append((chosen.choice(QUIET), 4))
        if chosen.random() < 0.1:
            one.tokens = (
                [(payer, -1), (chosen.choice(QUIET), 1)] if chosen.random() < 0.5 else [(5000, 0), (BUSY, 3)]
            )
        if chosen.random() < 0.05:
            one.mentioned = {chosen.choice(QUIET), 6000}
        if number % 500 == 1:
            one.transfers.append((FAR, 6))
        made.append(one)
    return made


def insert(made: list[Made]) -> None:
    rows: dict[str, list[tuple[int | None, ...]]] = {
        "transaction (consensus_timestamp, payer_account_id, type, result, nonce, "
        "parent_consensus_timestamp, valid_start_ns)": [
            (m.at, m.payer, m.type, m.result, m.nonce, m.parent, m.at - 5) for m in made
        ],
        "crypto_transfer (consensus_timestamp, entity_id, amount, payer_account_id)": [
            (m.at, who, amount, m.payer) for m in made for who, amount in m.transfers
        ],
        "token_transfer (consensus_timestamp, account_id, amount, token_id, payer_account_id)": [
            (m.at, who, amount, 9000, m.payer) for m in made for who, amount in m.tokens
        ],
        "entity_transaction (consensus_timestamp, entity_id, payer_account_id, type, result)": [
            (m.at, who, m.payer, m.type, m.result) for m in made for who in m.mentioned
        ],
    }
    with connection.cursor() as cursor:
        for table, values in rows.items():
            places = ", ".join(["%s"] * len(values[0]))
            cursor.executemany(f"insert into {table} values ({places})", values)
            cursor.execute(f"analyze {table.partition(' ')[0]}")


@pytest.fixture(scope="module")
def made(_test_database: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[list[Made]]:
    with django_db_blocker.unblock():
        # Statements that other modules have prepared would not be looked at here.
        connection.close()
        # Nor may what others have taken back be there, which makes tables look large.
        empty()
        rows = make()
        insert(rows)
        yield rows
        empty()


def empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("truncate transaction, crypto_transfer, token_transfer, entity_transaction")


def pages(url: str) -> Iterator[list[int]]:
    """The times of each page by following the links."""
    api = Api()
    while url:
        answer = api.get(url)
        assert answer.status == 200, (url, answer.body)
        page = answer.json()
        yield [int(one["consensus_timestamp"].replace(".", "")) for one in page["transactions"]]
        url = page["links"]["next"]


ACCOUNTS = st.sampled_from([BUSY, FAILING, *COLLECTORS, *NODES, 5000, 6000, 7777, *QUIET[:4]])
ONE = st.tuples(st.just("eq"), ACCOUNTS)
RANGE = st.tuples(st.sampled_from(["gt", "gte", "lt", "lte", "ne"]), ACCOUNTS | st.integers(0, 7000))
OPERATORS = ["gt", "gte", "lt", "lte"]


@pytest.mark.parametrize("budget", [0.0, 0.001])
@hypothesis_settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    accounts=st.lists(ONE, max_size=3)
    | st.lists(RANGE, min_size=1, max_size=2)
    | st.tuples(ONE, RANGE).map(list),
    credit=st.none() | st.booleans(),
    types=st.lists(st.sampled_from([*TYPES, *RARE]), max_size=3),
    succeeded=st.none() | st.booleans(),
    order=st.sampled_from(["asc", "desc"]),
    limit=st.integers(20, 100),
    since=st.none() | st.integers(0, TRANSACTIONS),
    until=st.none() | st.integers(0, TRANSACTIONS),
)
def test_following_the_links_gives_what_a_plain_filter_does(
    made, settings_of, budget, accounts, credit, types, succeeded, order, limit, since, until
):
    settings_of({"rest.query.timeBudget": budget})
    names = TYPES | RARE
    texts = [f"account.id={operator}:{number}" for operator, number in accounts]
    texts += [f"transactiontype={names[number]}" for number in types]
    if credit is not None:
        texts.append(f"type={'credit' if credit else 'debit'}")
    if succeeded is not None:
        texts.append(f"result={'success' if succeeded else 'fail'}")
    for operator, number in (("gte", since), ("lt", until)):
        if number is not None:
            texts.append(f"timestamp={operator}:{_text(START + number * NANOS_APART)}")

    found = list(pages(f"{URL}?{'&'.join([*texts, f'order={order}', f'limit={limit}'])}"))

    expected = [
        one.at
        for one in made
        if one.has(accounts, credit)
        and (not types or one.type in types)
        and (succeeded is None or (one.result in SUCCESS) == succeeded)
        and (since is None or one.at >= START + since * NANOS_APART)
        and (until is None or one.at < START + until * NANOS_APART)
    ]
    assert [at for page in found for at in page] == (expected if order == "asc" else expected[::-1])
    assert all(len(page) <= limit for page in found)
    if not budget:
        assert all(len(page) == limit for page in found[:-1])


def _text(at: int) -> str:
    return f"{at // SECOND}.{at % SECOND:09d}"


def test_a_short_page_continues_where_its_search_has_stopped(made, settings_of):
    settings_of({"rest.query.timeBudget": 0.001})
    found = list(pages(f"{URL}?account.id={FAILING}&result=success&limit=100"))
    assert len(found) > 1
    assert not any(found)


def test_a_busy_account_with_a_rare_type_is_found_by_the_type(made):
    found = list(pages(f"{URL}?account.id={BUSY}&transactiontype=freeze&limit=100"))
    assert [len(page) for page in found] == [sum(m.type == 23 and m.has([("eq", BUSY)], None) for m in made)]
    assert statements(f"{URL}?account.id={BUSY}&transactiontype=freeze&limit=100") <= 4


def test_the_failures_of_many_quiet_accounts_are_all_read_by_account_at_once(made):
    accounts = [("eq", number) for number in range(2000, 2050)]
    url = f"{URL}?{'&'.join(f'account.id={number}' for _, number in accounts)}&result=fail&limit=100"
    (page,) = pages(url)
    assert page == [m.at for m in reversed(made) if m.has(accounts, None) and m.result not in SUCCESS]
    assert statements(url) <= 3


def test_a_range_of_accounts_that_is_one_quiet_account_is_read_by_account(made):
    (page,) = pages(f"{URL}?account.id=gte:2000&account.id=lt:2001&limit=100")
    assert page == [m.at for m in reversed(made) if m.has([("eq", 2000)], None)]


def test_a_range_of_some_hundred_accounts_is_read_by_account_once_a_search_takes_longer(made, monkeypatch):
    monkeypatch.setattr("ledger.queries.transaction_lists._MIN_ROWS", 16)
    url = f"{URL}?account.id=gte:2000&account.id=lt:2300&type=credit&result=fail&limit=8"
    page = next(pages(url))
    among = [("gte", 2000), ("lt", 2300)]
    assert page == [m.at for m in reversed(made) if m.has(among, True) and m.result not in SUCCESS][:8]
    assert any("unnest(" in str(statement) for statement in Api().get(url).statements)


def test_a_range_of_accounts_has_those_of_all_shards_below_its_end(made):
    (page,) = pages(f"{URL}?account.id=lt:3&type=credit&limit=100")
    assert page == [m.at for m in reversed(made) if m.has([("eq", FAR)], True)]
    assert page


def test_a_search_without_a_time_does_not_end_in_a_link_that_repeats_it(made, settings_of):
    settings_of({"rest.query.timeBudget": 0.001})
    url = f"{URL}?account.id={FAILING}&result=success&timestamp=ne:{_text(START)}&limit=100"
    answer = Api().get(url)
    # The connection keeps the limit of its last statement.
    settings_of({"rest.query.timeBudget": 0.0})
    fetch("select 1")
    assert (answer.status, answer.json()["links"]["next"]) == (200, None)


def statements(url: str) -> int:
    answer = Api().get(url)
    assert answer.status == 200
    return len(answer.statements)


def test_no_search_reads_a_table_from_end_to_end(made, settings_of):
    settings_of({"rest.query.timeBudget": 0.0})
    sides = (
        ("", "account.id=98", f"account.id={BUSY}", "account.id=gt:1500", "account.id=3&account.id=98"),
        ("", "type=credit", "type=debit"),
        ("", "result=fail", "result=success", "transactiontype=freeze", "transactiontype=cryptotransfer"),
        ("order=asc", "order=desc"),
    )
    # Without those of other tests, which look at more rows.
    known = names()
    for chosen in itertools.product(*sides):
        # A statement is prepared when it is run for the second time.
        for _ in range(2):
            statements(f"{URL}?{'&'.join(filter(None, chosen))}")
        for statement in prepared(known):
            assert not list(statement.tables_read_whole()), (chosen, statement.text)


@pytest.mark.parametrize(
    ("parameters", "indexes"),
    [
        ("result=fail", "transaction__failed"),
        ("result=fail&transactiontype=cryptotransfer", "transaction__failed_type"),
        (f"account.id={BUSY}&type=credit", "crypto_transfer__credit"),
        ("account.id=3&type=debit", "crypto_transfer__debit_of_others token_transfer__debit_of_others"),
        ("account.id=gt:1500&order=asc", "entity_transaction__consensus_timestamp"),
    ],
)
def test_a_list_is_read_by_the_index_that_has_its_rows_alone(made, parameters, indexes):
    known = names()
    # No other test asks for this limit, whose statements are its own.
    for _ in range(2):
        statements(f"{URL}?{parameters}&limit=19")
    used = {node.get("Index Name") for statement in prepared(known) for node in _nodes(statement.plan)}
    assert set(indexes.split()) <= used


def test_a_search_grows_no_more_than_what_is_missing_needs(made, monkeypatch):
    monkeypatch.setattr("ledger.queries.transaction_lists._MIN_ROWS", 8)
    accounts = [("eq", number) for number in range(2000, 2100)]
    url = f"{URL}?{'&'.join(f'account.id={number}' for _, number in accounts)}&result=fail&order=asc&limit=10"
    statements = Api().get(url).statements
    found = [m.at for m in made if m.has(accounts, None) and m.result not in SUCCESS]
    assert next(pages(url)) == found[:10]
    # The first 20 rows of each side have nearly all of them.
    assert max(int(offset) for text in statements for offset in re.findall(r"offset (\d+)", str(text))) == 20


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("types", [(), (14,), (14, 27)])
def test_transactions_of_both_sides_are_read_from_the_index_of_both_or_looked_up(made, few, order, types):
    selection = TransactionSelection(succeeded=False, types=types)
    window = Window(Bounds(START + 1000, START + 25_000), order)
    left, right = sides_of(selection, tuple(QUIET[:40])).sides
    statement = intersect(left, right, window, 9, few)
    expected = [
        m.at
        for m in made
        if m.has([("eq", number) for number in QUIET[:40]], None)
        and m.result not in SUCCESS
        and (not types or m.type in types)
        and START + 1000 <= m.at <= START + 25_000
    ]
    times = fetch(statement.text, statement.values)
    assert [at for (at,) in times] == (expected if order == "asc" else expected[::-1])[:9]
    ((plan,),) = fetch(f"explain (analyze, format json) {statement.text}", statement.values)
    (both,) = (node for node in _nodes(plan[0]["Plan"]) if node["Node Type"] == "SetOp")
    assert any(part["Actual Rows"] for part in both["Plans"]) == (few == 0)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)
