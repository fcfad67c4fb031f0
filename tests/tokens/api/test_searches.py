"""Lists of accounts, balances and tokens by every mix of parameters, against a plain filter.

All rows come once, whatever the budget is, and whether few or many rows meet a condition.
"""

import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ledger.queries import account_pages
from ledger.queries import balances as snapshots
from mirror.core.db.reading import scans
from mirror.core.db.reading.sql import fetch
from tests.build import SECOND
from tests.contract import budgets
from tests.links import comparisons, meets, pages, texts
from tests.waiting import PATIENCE_SECONDS
from tokens.queries import holdings

ACCOUNTS, TOKENS, SERIALS = 3000, 600, 1500
# Ids lie apart, so that a walk takes several windows.
FIRST, APART = 1000, 7
FIRST_TOKEN = FIRST + ACCOUNTS * APART
JUNE = 1_685_577_600
SNAPSHOTS = 4
TOKEN, NFT = FIRST_TOKEN, FIRST_TOKEN + 1
# The key of a third of all, and others of one each.
COMMON = "c" * 64
MAX_BALANCE = 10_000


class Entity(NamedTuple):
    id: int
    type: str
    balance: int | None
    key: str | None


class Data(NamedTuple):
    accounts: list[Entity]
    tokens: list[tuple[Entity, str, str]]  # with type and name
    holders: dict[int, tuple[int, bool]]  # of TOKEN: balance, and whether it is associated
    snapshots: list[tuple[int, int, int]]  # number, account, balance
    token_snapshots: list[tuple[int, int, int]]
    associated: set[int]  # tokens of the first account
    owners: dict[int, int]  # of the serials of NFT


def make() -> Data:
    chosen = random.Random(16)

    def key(number: int) -> str | None:
        return chosen.choice([COMMON, f"{number:064x}", None])

    def balance() -> int:
        return int(MAX_BALANCE * chosen.random() ** 3)

    accounts = [
        Entity(FIRST + n * APART, "CONTRACT" if n % 10 == 3 else "ACCOUNT", balance(), key(n))
        for n in range(ACCOUNTS)
    ]
    ids = [account.id for account in accounts]
    tokens = [
        (
            Entity(FIRST_TOKEN + n, "TOKEN", None, key(ACCOUNTS + n)),
            "NON_FUNGIBLE_UNIQUE" if n == 1 or n > TOKENS * 0.9 else "FUNGIBLE_COMMON",
            chosen.choice(["Alpha coin", "Beta art", "Gamma", "a_t 5%9"]) + f" {n}",
        )
        for n in range(TOKENS)
    ]
    holders = {one: (balance(), chosen.random() < 0.8) for one in chosen.sample(ids, ACCOUNTS // 2)}
    snapshots = [(0, one, balance()) for one in chosen.sample(ids, ACCOUNTS // 2)]
    token_snapshots = [(0, one, balance()) for one in chosen.sample(ids, ACCOUNTS // 3)]
    for number in range(1, SNAPSHOTS):
        for changes in (snapshots, token_snapshots):
            changes += [(number, one, balance()) for one in chosen.sample(ids, ACCOUNTS // 20)]
    associated = {token.id for token, _, _ in chosen.sample(tokens, TOKENS // 2)}
    owners = {serial: chosen.choice(ids[: serial // 2 + 1]) for serial in range(1, SERIALS + 1)}
    return Data(accounts, tokens, holders, snapshots, token_snapshots, associated, owners)


def insert(data: Data) -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "entity (id, num, realm, shard, type, balance, public_key, timestamp_range)": [
            (one.id, one.id, 0, 0, one.type, one.balance, one.key, "[1,)")
            for one in (*data.accounts, *(token for token, _, _ in data.tokens))
        ],
        "token (token_id, type, name, symbol, created_timestamp, decimals, initial_supply, max_supply, "
        "supply_type, treasury_account_id, pause_status, freeze_status, kyc_status, timestamp_range)": [
            (one.id, type, name, "S", 1, 0, 0, 0, "INFINITE", FIRST, "PAUSED", 0, 0, "[1,)")
            for one, type, name in data.tokens
        ],
        "token_account (account_id, token_id, associated, balance, timestamp_range)": [
            *(
                (one, TOKEN, associated, balance, "[1,)")
                for one, (balance, associated) in data.holders.items()
            ),
            *((FIRST, one, True, 1, "[1,)") for one in data.associated if one != TOKEN),
        ],
        "account_balance (consensus_timestamp, account_id, balance)": [
            *((snapshot_time(number), one, balance) for number, one, balance in data.snapshots),
            *((snapshot_time(number), 2, 1) for number in range(SNAPSHOTS)),
        ],
        "token_balance (consensus_timestamp, account_id, token_id, balance)": [
            (snapshot_time(number), one, TOKEN, balance) for number, one, balance in data.token_snapshots
        ],
        "nft (token_id, serial_number, account_id, timestamp_range)": [
            (NFT, serial, owner, "[1,)") for serial, owner in data.owners.items()
        ],
    }
    with connection.cursor() as cursor:
        for table, values in rows.items():
            places = ", ".join(["%s"] * len(values[0]))
            cursor.executemany(f"insert into {table} values ({places})", values)
            cursor.execute(f"analyze {table.partition(' ')[0]}")


def snapshot_time(number: int) -> int:
    return (JUNE + 1 + number * 900) * SECOND


@pytest.fixture(scope="module")
def data(_test_database: None, django_db_blocker: Any) -> Iterator[Data]:
    with django_db_blocker.unblock():
        made = make()
        insert(made)
        yield made
        with connection.cursor() as cursor:
            cursor.execute("truncate entity, token, token_account, account_balance, token_balance, nft")


@pytest.fixture(params=[0.0, 0.001], ids=["without a budget", "in a millisecond"])
def _budget(request, settings_of, monkeypatch):
    settings_of({"rest.query.timeBudget": request.param, "clock.now": JUNE + 86_400.0})
    # A walk takes as many statements as there are windows.
    monkeypatch.setattr(budgets, "check", lambda *_: None)
    yield
    # The connection keeps the limit of its last statement.
    settings_of({"rest.query.timeBudget": 0.0, "rest.db.statementTimeout": PATIENCE_SECONDS})
    fetch("select 1")


@pytest.fixture(params=["30 are few", "all are few", "indexes are not built"])
def _few(request, monkeypatch):
    if request.param == "30 are few":
        monkeypatch.setattr(scans, "MAX_ROWS", 30)
    if request.param == "indexes are not built":
        for names in (account_pages, snapshots, holdings):
            monkeypatch.setattr(names, "_BALANCE_INDEX", "not_built")
        monkeypatch.setattr(holdings, "_PAST_BALANCE_INDEX", "not_built")


def searches(**strategies):
    """The test's function as a property of random parameters, whatever the budget."""
    suppressed = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    limited = hypothesis_settings(max_examples=4, deadline=None, suppress_health_check=suppressed)
    paging = {"order": st.sampled_from(["asc", "desc"]), "limit": st.integers(20, 100)}

    def decorate(test):
        return pytest.mark.usefixtures("_budget", "_few")(limited(given(**paging, **strategies)(test)))

    return decorate


def found(path, name, key, parameters, order, limit):
    url = f"/api/v1/{path}?{'&'.join([*parameters, f'order={order}', f'limit={limit}'])}"
    rows = list(pages(url, name))
    assert all(len(page) <= limit for page in rows)
    return [key(row) for page in rows for row in page]


def ordered(rows, order):
    return sorted(rows, reverse=order == "desc")


RANGES = "gt gte lt lte"
IDS = comparisons(st.integers(FIRST - 5, FIRST_TOKEN), RANGES)
BALANCES = comparisons(st.integers(0, MAX_BALANCE) | st.sampled_from([0, 1, 9_900]), f"eq ne {RANGES}")
KEYS = comparisons(st.sampled_from([COMMON, "f" * 64, f"{7:064x}", f"{ACCOUNTS:064x}"]), f"eq ne {RANGES}", 1)


def number_of(row):
    return int((row.get("account") or row.get("token_id")).removeprefix("0.0."))


@searches(ids=IDS, balances=BALANCES, keys=KEYS, path=st.sampled_from(["accounts", "balances"]))
def test_accounts(data, ids, balances, keys, path, order, limit):
    parameters = texts(account_id=ids, account_balance=balances, account_publickey=keys)
    expected = [
        one.id
        for one in data.accounts
        if meets(one.id, ids) and meets(one.balance, balances) and (not keys or meets(one.key, keys))
    ]
    assert found(path, path, number_of, parameters, order, limit) == ordered(expected, order)


def balance_of(row):
    return (number_of(row), row["balance"])


@searches(ids=IDS, balances=BALANCES, key=st.sampled_from(["", COMMON, f"{7:064x}"]), last=st.integers(0, 3))
def test_balances_of_a_snapshot(data, ids, balances, key, last, order, limit):
    parameters = texts(account_id=ids, account_balance=balances)
    parameters += [f"timestamp={JUNE + 1 + last * 900}", *([f"account.publickey={key}"] if key else [])]
    of_key = {one.id for one in data.accounts if not key or one.key == key} | ({2} if not key else set())
    latest = {
        one: balance
        for number, one, balance in sorted([*data.snapshots, *((n, 2, 1) for n in range(SNAPSHOTS))])
        if number <= last and one in of_key and meets(one, ids) and meets(balance, balances)
    }
    rows = found("balances", "balances", balance_of, parameters, order, limit)
    assert rows == ordered(latest.items(), order)


@searches(ids=IDS, balances=BALANCES, key=st.sampled_from(["", COMMON, f"{7:064x}"]))
def test_holders(data, ids, balances, key, order, limit):
    parameters = texts(account_id=ids, account_balance=balances)
    parameters += [f"account.publickey={key}"] if key else []
    of_key = {one.id for one in data.accounts if not key or (one.key == key and one.type == "ACCOUNT")}
    expected = [
        (one, balance)
        for one, (balance, associated) in data.holders.items()
        if associated and one in of_key and meets(one, ids) and meets(balance, balances)
    ]
    rows = found(f"tokens/{TOKEN}/balances", "balances", balance_of, parameters, order, limit)
    assert rows == ordered(expected, order)


@searches(ids=IDS, balances=BALANCES, key=st.sampled_from(["", COMMON, f"{7:064x}"]), last=st.integers(0, 3))
def test_holders_in_a_snapshot(data, ids, balances, key, last, order, limit):
    parameters = texts(account_id=ids, account_balance=balances)
    parameters += [f"timestamp={JUNE + 1 + last * 900}", *([f"account.publickey={key}"] if key else [])]
    of_key = {one.id for one in data.accounts if not key or (one.key == key and one.type == "ACCOUNT")}
    latest = {
        one: balance
        for number, one, balance in sorted(data.token_snapshots)
        if number <= last and one in of_key and meets(one, ids)
    }
    expected = [(one, balance) for one, balance in latest.items() if meets(balance, balances)]
    rows = found(f"tokens/{TOKEN}/balances", "balances", balance_of, parameters, order, limit)
    assert rows == ordered(expected, order)


@searches(
    ids=comparisons(st.integers(FIRST_TOKEN - 5, FIRST_TOKEN + TOKENS + 5), RANGES),
    keys=KEYS,
    kind=st.sampled_from(["", "FUNGIBLE_COMMON", "NON_FUNGIBLE_UNIQUE"]),
    of_account=st.booleans(),
)
def test_tokens(data, ids, keys, kind, of_account, order, limit):
    parameters = texts(token_id=ids, publickey=keys)
    parameters += [f"type={kind}"] if kind else []
    parameters += [f"account.id={FIRST}"] if of_account else []
    expected = [
        token.id
        for token, type, _ in data.tokens
        if meets(token.id, ids)
        and (not keys or meets(token.key, keys))
        and kind in ("", type)
        and (not of_account or token.id in held(data))
    ]
    assert found("tokens", "tokens", number_of, parameters, order, limit) == ordered(expected, order)


def held(data):
    """The tokens that the first account is associated with."""
    others = {token for token in data.associated if token != TOKEN}
    return others | ({TOKEN} if data.holders.get(FIRST, (0, False))[1] else set())


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("name", ["coin", "beta", "gamma 5", "a_t", "5%9", "nothing"])
@pytest.mark.parametrize("kind", ["", "NON_FUNGIBLE_UNIQUE"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_tokens_by_name(data, settings_of, monkeypatch, name, kind, order):
    monkeypatch.setattr("tokens.queries.tokens._SEARCHED_FIRST", 10)
    monkeypatch.setattr("tokens.queries.tokens._SEARCHED_MOST", 100)
    pattern = re.compile(re.escape(name), re.IGNORECASE)
    parameters = [f"name={name.replace('%', '%25').replace(' ', '%20')}", *([f"type={kind}"] if kind else [])]
    expected = [token.id for token, type, text in data.tokens if pattern.search(text) and kind in ("", type)]
    rows = found("tokens", "tokens", number_of, parameters, order, 20)
    assert rows == ordered(expected, order)[:20]


@searches(
    owners=comparisons(st.integers(FIRST, FIRST_TOKEN), f"eq ne {RANGES}"),
    serials=comparisons(st.integers(1, SERIALS), RANGES),
)
def test_serials_of_a_token(data, owners, serials, order, limit):
    parameters = texts(account_id=owners, serialnumber=serials)
    expected = [
        serial for serial, owner in data.owners.items() if meets(owner, owners) and meets(serial, serials)
    ]
    rows = found(f"tokens/{NFT}/nfts", "nfts", lambda row: row["serial_number"], parameters, order, limit)
    assert rows == ordered(expected, order)
