from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.queries import balances
from tests.build import SECOND, START, insert
from tests.contract.plans import prepared

BALANCES = "/api/v1/balances"
ADDRESS = bytes.fromhex("ac384c53f03855fa1b3616052f8ba32c6c2a2fec")
KEY_ALIAS = b"\x12\x20" + b"\xa5" * 32
KEY_ALIAS_TEXT = "CIQKLJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJI"
MAY, JUNE = 1_682_899_200, 1_685_577_600  # the first seconds of these months of 2023
KEYS = {number: f"{number:064x}" for number in range(10, 20)}


def rows(answer):
    assert answer.status == 200, answer
    return " ".join(
        f"{row['account'].removeprefix('0.0.')}:{row['balance']}" for row in answer.json()["balances"]
    )


def snapshot(seconds, *balances, treasury=1):
    """A snapshot with these (account, balance), and the treasury as each has it."""
    for account, balance in ((2, treasury), *balances):
        insert("account_balance", consensus_timestamp=seconds * SECOND, account_id=account, balance=balance)


def token(seconds, account, token_id, balance):
    insert(
        "token_balance",
        consensus_timestamp=seconds * SECOND,
        account_id=account,
        token_id=token_id,
        balance=balance,
    )


@pytest.fixture
def five(build):
    """Accounts 11 to 15 with balances 110 to 150; 14 is a contract, 13 deleted and without balance."""
    for number in (11, 12, 15):
        build.entity(number, balance=number * 10, balance_timestamp=number, public_key=KEYS[number])
    build.entity(13, deleted=True, public_key=KEYS[13])
    build.entity(14, type="CONTRACT", balance=140, balance_timestamp=START, public_key=KEYS[14])
    build.entity(16, type="TOKEN", public_key=KEYS[16])


@pytest.fixture
def two_months(build, settings_of):
    """Snapshots of May and June; each first one has all accounts, the others what changed."""
    settings_of({"clock.now": JUNE + 20 * 86_400.0})
    snapshot(MAY + 1, (11, 1), (12, 2), (13, 3))
    snapshot(MAY + 900, (12, 20))
    snapshot(JUNE + 1, (11, 1), (12, 200))
    snapshot(JUNE + 900, (11, 100))
    snapshot(JUNE + 1800, (12, 2000), (14, 4))


def test_balances_have_all_members_in_order(api, build):
    build.entity(11, balance=9_007_199_254_740_993, balance_timestamp=START + 5)
    build.entity(12, balance=None)
    build.entity(2, memo="Mirror node created synthetic treasury account", balance=7, balance_timestamp=START)
    build.holding(7001, account=11, balance=3)
    build.holding(7002, account=11, balance=0)
    build.holding(7003, account=11, balance=5, associated=False)
    answer = api.get(BALANCES)
    expected = {
        "timestamp": "1700000000.000000005",
        "balances": [
            {"account": "0.0.12", "balance": None, "tokens": []},
            {
                "account": "0.0.11",
                "balance": 9_007_199_254_740_993,
                "tokens": [{"token_id": "0.0.7002", "balance": 0}, {"token_id": "0.0.7001", "balance": 3}],
            },
            {"account": "0.0.2", "balance": 7, "tokens": []},
        ],
        "links": {"next": None},
    }
    assert answer.json() == expected
    assert list(answer.json()) == list(expected)
    assert list(answer.json()["balances"][0]) == ["account", "balance", "tokens"]
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


def test_no_balances_are_an_empty_list(api):
    empty: dict[str, Any] = {"timestamp": None, "balances": [], "links": {"next": None}}
    assert api.get(BALANCES).json() == empty
    assert api.get(f"{BALANCES}?timestamp=5").json() == empty


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "15:150 14:140 13:None 12:120 11:110"),
        ("order=asc", "11:110 12:120 13:None 14:140 15:150"),
        ("order=asc&order=desc&limit=1", "15:150"),
        ("limit=eq:1", "15:150"),
        ("account.id=12", "12:120"),
        ("account.id=0.12&account.id=0.0.14", "14:140 12:120"),
        ("account.id=ne:12&account.id=ne:13", "15:150 14:140 11:110"),
        ("account.id=gt:13", "15:150 14:140"),
        ("account.id=gte:14&account.id=lt:15", "14:140"),
        ("account.id=lte:11", "11:110"),
        ("account.id=gt:13&account.id=lt:12", ""),
        (f"account.id=0x{12:040x}", "12:120"),
        (f"account.id={12:040X}&account.id=14", "14:140 12:120"),
        (f"account.id={ADDRESS.hex()}", ""),
        (f"account.id={KEY_ALIAS_TEXT}&account.id=eq:11", "11:110"),
        ("account.id=99", ""),
        ("account.balance=120", "12:120"),
        ("account.balance=ne:120", "15:150 14:140 11:110"),
        ("account.balance=gt:110&account.balance=lte:140", "14:140 12:120"),
        ("account.balance=gte:150", "15:150"),
        ("account.balance=lt:120", "11:110"),
        (f"account.publickey={KEYS[12]}", "12:120"),
        (f"account.publickey={KEYS[16]}", ""),
        (f"account.publickey={KEYS[12]}&account.publickey={KEYS[13]}", ""),
        (f"account.publickey=gt:{KEYS[12]}&account.publickey=lt:{KEYS[15]}", "14:140 13:None"),
        (f"account.publickey=ne:{KEYS[12]}&account.publickey=gte:{KEYS[14]}", "15:150 14:140"),
        (f"account.publickey=lte:{KEYS[11]}", "11:110"),
    ],
)
def test_parameters_narrow_and_order_the_list(api, query, expected):
    assert rows(api.get(f"{BALANCES}?{query}")) == expected


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "timestamp"),
    [
        ("", "1700000000.000000000"),
        ("account.id=12&account.id=13", "0.000000012"),
        ("account.id=13", None),
        ("account.id=99", None),
    ],
)
def test_the_time_is_that_of_the_latest_change_on_the_page(api, query, timestamp):
    assert api.get(f"{BALANCES}?{query}").json()["timestamp"] == timestamp


@pytest.mark.parametrize("at", ["", "&timestamp=1685580000"])
def test_an_account_is_found_by_alias_or_evm_address_of_a_live_one(api, build, settings_of, at):
    settings_of({"clock.now": JUNE + 86_400.0})
    snapshot(JUNE, (11, 1), (12, 2), (13, 3))
    build.entity(11, balance=1, alias=KEY_ALIAS)
    build.entity(12, balance=2, evm_address=ADDRESS)
    build.entity(13, balance=3, evm_address=b"\x77" * 20, deleted=True)
    for name, found in (
        *((f"0.0.{KEY_ALIAS_TEXT}", "11:1"), (f"0.{KEY_ALIAS_TEXT}", "11:1")),
        *((f"0.0.{ADDRESS.hex()}", "12:2"), (f"0.{ADDRESS.hex()}", "12:2")),
        *((KEY_ALIAS_TEXT, "11:1"), (ADDRESS.hex(), "12:2"), ("0x" + ADDRESS.hex().upper(), "12:2")),
        *(("77" * 20, ""), (f"{ADDRESS.hex()}&account.id=11", "12:2 11:1"), ("AAAA", "")),
        (f"{ADDRESS.hex()}&account.id=11&account.id={ADDRESS.hex()}", "12:2 11:1"),
        (f"{ADDRESS.hex()}&account.id=gt:12", ""),
    ):
        assert rows(api.get(f"{BALANCES}?account.id={name}{at}")) == found


@pytest.mark.parametrize(
    ("query", "problems"),
    [
        (f"account.id=gt:{ADDRESS.hex()}", "equals"),
        (f"account.id=ne:{KEY_ALIAS_TEXT}", "equals"),
        (f"account.id=lte:0x{8:040x}", "equals"),
        (f"account.id={ADDRESS.hex()}&account.id=0x{8:040x}", "one"),
        (f"account.id={KEY_ALIAS_TEXT}&account.id=5&account.id=eq:{KEY_ALIAS_TEXT}", "one"),
        (f"account.id={KEY_ALIAS_TEXT}&account.id=gt:{ADDRESS.hex()}", "one"),
        (f"account.id=gt:{ADDRESS.hex()}&account.id=lt:0x{8:040x}", "equals"),
        (f"account.id=gt:{KEY_ALIAS_TEXT}&account.id=AB", "equals"),
        (f"account.id=gt:0.0.{ADDRESS.hex()}", "equals"),
        (f"account.id=ne:0.{KEY_ALIAS_TEXT}", "equals"),
        ("account.id=foo", "form"),
        (f"account.id=0.0.{KEY_ALIAS_TEXT}&account.id={KEY_ALIAS_TEXT}", "one"),
        ("account.id=", "form"),
        ("account.id=0.0.0.1", "form"),
    ],
)
def test_at_most_one_account_is_named_by_alias_or_address(api, query, problems):
    details = {
        "equals": {"detail": "EVM address or alias only supports equals operator"},
        "one": {"detail": "Only one EVM address or alias is allowed."},
        "form": {},
    }
    answer = api.get(f"{BALANCES}?{query}")
    assert answer.status == 400
    assert answer.json()["_status"]["messages"] == [
        {"message": "Invalid parameter: account.id", **details[problems]}
    ]


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("account.id=foo&limit=0", ["Invalid parameter: limit"]),
        ("account.id=like:5&limit=0", ["Invalid parameter: account.id", "Invalid parameter: limit"]),
        ("account.id=eq:gt:5", ["Invalid parameter: account.id"]),
        ("account.id=-5", ['Invalid entity ID "0.0.-5"']),
        ("account.id=1024.0.5", ['Invalid entity ID "1024.0.5"']),
        ("account.id=AB", ["Invalid accountAlias string AB"]),
        ("account.id=gt:5&account.id=lt:A", ["Invalid accountAlias string A"]),
        ("account.id=AB&limit=0", ["Invalid parameter: limit"]),
        (
            "timestamp=-1.2&token.id=5&token.id=6",
            ["Invalid parameter: timestamp", "Unknown query parameter: token.id"],
        ),
        ("timestamp=12345678901", ["Invalid parameter: timestamp"]),
        (
            "account.balance=x&account.publickey=-2",
            ["Invalid parameter: account.balance", "Invalid parameter: account.publickey"],
        ),
        ("order=any,", ["Invalid parameter: order"]),
        ("balance=true", ["Unknown query parameter: balance"]),
    ],
)
def test_every_problem_of_the_query_is_named(api, query, messages):
    answer = api.get(f"{BALANCES}?{query}")
    assert (answer.status, answer.messages) == (400, messages)


@pytest.mark.usefixtures("two_months")
@pytest.mark.parametrize(
    ("timestamp", "at", "expected"),
    [
        (f"{MAY + 1}", MAY + 1, "2:1 11:1 12:2 13:3"),
        (f"{MAY + 900}", MAY + 900, "2:1 11:1 12:20 13:3"),
        (f"lt:{MAY + 900}", MAY + 1, "2:1 11:1 12:2 13:3"),
        (f"lte:{MAY + 900}", MAY + 900, "2:1 11:1 12:20 13:3"),
        (f"{JUNE}", MAY + 900, "2:1 11:1 12:20 13:3"),
        (f"{JUNE + 1000}", JUNE + 900, "2:1 11:100 12:200"),
        (f"gt:{JUNE}", JUNE + 1800, "2:1 11:100 12:2000 14:4"),
        (f"gte:{MAY}&timestamp=lt:{JUNE}", MAY + 900, "2:1 11:1 12:20 13:3"),
        (f"ne:{JUNE + 1800}", JUNE + 900, "2:1 11:100 12:200"),
        (f"ne:{JUNE + 1800}&timestamp=ne:{JUNE + 900}", JUNE + 1, "2:1 11:1 12:200"),
        ("gt:9999999998&timestamp=lt:9999999999", None, ""),
        ("lt:9999999999", JUNE + 1800, "2:1 11:100 12:2000 14:4"),
        (f"{JUNE + 900}&timestamp={MAY + 1}", MAY + 1, "2:1 11:1 12:2 13:3"),
        ("0", None, ""),
        ("lt:0", None, ""),
        (f"gt:{JUNE + 1800}", None, ""),
        (f"gt:{JUNE}&timestamp=lt:{MAY}", None, ""),
    ],
)
def test_balances_are_the_latest_of_the_month_of_the_last_snapshot(api, timestamp, at, expected):
    ascending = api.get(f"{BALANCES}?order=asc&timestamp={timestamp}")
    # A full page, which one statement reads.
    descending = api.get(f"{BALANCES}?limit={len(expected.split()) or 1}&timestamp={timestamp}")
    assert rows(ascending).split() == rows(descending).split()[::-1] == expected.split()
    for answer in (ascending, descending):
        assert answer.json()["timestamp"] == (at and f"{at}.000000000")


@pytest.mark.parametrize(("day", "found"), [(30, "2:1"), (31, "")])
def test_snapshots_older_than_the_month_before_do_not_count(api, settings_of, day, found):
    settings_of({"clock.now": JUNE + 29 * 86_400.0 + 86_400 * (day - 30)})
    snapshot(MAY + 1)
    assert rows(api.get(f"{BALANCES}?timestamp=gt:0")) == found
    assert rows(api.get(f"{BALANCES}?timestamp={JUNE}")) == "2:1"


@pytest.mark.usefixtures("two_months", "five")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "14:4 12:2000 11:100 2:1"),
        ("limit=2", "14:4 12:2000"),
        ("account.id=12", "12:2000"),
        ("account.id=99", ""),
        ("account.id=12&account.id=2&account.id=12", "12:2000 2:1"),
        ("account.id=12&account.id=2&account.id=gt:2", "12:2000"),
        ("account.id=ne:12", "14:4 11:100 2:1"),
        ("account.id=gt:2&account.id=lt:14", "12:2000 11:100"),
        ("account.id=gte:14", "14:4"),
        ("account.id=lte:2&order=asc", "2:1"),
        ("account.balance=gt:1000", "12:2000"),
        ("account.balance=200", "12:200"),
        ("account.balance=ne:2000&account.balance=gte:100", "12:200 11:100"),
        ("account.balance=lt:5&account.id=gt:2", "14:4 11:1"),
        ("account.balance=gt:1&account.balance=lt:0", ""),
        (f"account.publickey={KEYS[12]}", "12:2000"),
        (f"account.publickey=gt:{KEYS[12]}", "12:2000"),
        (f"account.publickey={KEYS[12]}&account.publickey={KEYS[12]}", "12:2000"),
        (f"account.publickey={KEYS[12]}&account.balance=lt:2000", "12:200"),
        (f"account.publickey={KEYS[12]}&account.id=12&account.id=11", "12:2000"),
    ],
)
def test_parameters_narrow_the_balances_at_a_time(api, query, expected):
    answer = api.get(f"{BALANCES}?timestamp={JUNE + 2000}&{query}")
    assert rows(answer) == expected
    assert answer.json()["timestamp"] == (f"{JUNE + 1800}.000000000" if expected else None)


@pytest.mark.usefixtures("two_months", "five")
@pytest.mark.parametrize(
    "query",
    [
        f"account.publickey={KEYS[17]}",
        f"account.publickey={KEYS[16]}",
        f"account.publickey={KEYS[12]}&account.publickey={KEYS[11]}",
        f"account.publickey={KEYS[15]}",
        "account.id=99",
    ],
)
def test_a_page_at_a_time_without_balances_has_no_time(api, query):
    answer = api.get(f"{BALANCES}?timestamp={JUNE + 2000}&{query}")
    assert answer.json() == {"timestamp": None, "balances": [], "links": {"next": None}}


@pytest.mark.usefixtures("two_months")
def test_tokens_are_the_latest_of_the_month_in_the_order_of_the_list_and_limited(api, settings_of):
    token(MAY + 1, 11, 7001, 1)
    token(JUNE + 1, 11, 7002, 2)
    token(JUNE + 1, 11, 7003, 3)
    token(JUNE + 900, 11, 7003, 30)
    token(JUNE + 1800, 11, 7003, 300)

    def tokens(query):
        (account,) = api.get(f"{BALANCES}?account.id=11&{query}").json()["balances"]
        return [(one["token_id"], one["balance"]) for one in account["tokens"]]

    assert tokens(f"timestamp={MAY + 900}") == [("0.0.7001", 1)]
    assert tokens(f"timestamp={JUNE + 900}") == [("0.0.7003", 30), ("0.0.7002", 2)]
    assert tokens(f"timestamp={JUNE + 900}&order=asc") == [("0.0.7002", 2), ("0.0.7003", 30)]
    settings_of({"rest.response.limit.tokenBalance.multipleAccounts": 1})
    assert tokens(f"timestamp={JUNE + 900}") == [("0.0.7003", 30)]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.sets(st.tuples(st.integers(1, 8), st.integers(0, 9)), max_size=40),
    until=st.integers(0, 9),
    limit=st.integers(1, 9),
    order=st.sampled_from(["asc", "desc"]),
    few_rows=st.sampled_from([1, 2, 10]),
)
def test_tokens_are_the_latest_however_often_their_balances_change(
    api, build, settings_of, monkeypatch, changes, until, limit, order, few_rows
):
    names = ("multipleAccounts", "singleAccount")
    settings_of({f"rest.response.limit.tokenBalance.{name}": limit for name in names})
    settings_of({"clock.now": JUNE + 86_400.0})
    monkeypatch.setattr(balances, "_FEW_ROWS", few_rows)
    with transaction.atomic():
        build.entity(11, since=MAY * SECOND)
        for number in range(10):
            snapshot(JUNE + number, (11, 1), (12, 1))
        for token_id, at in changes:
            token(JUNE + at, 11, token_id, at)
        listed = api.get(f"{BALANCES}?timestamp={JUNE + until}&account.id=11&account.id=12&order={order}")
        single = api.get(f"/api/v1/accounts/11?timestamp=lte:{JUNE + until}")
        transaction.set_rollback(True)
    latest = {}
    for token_id, at in sorted(changes, key=lambda change: change[1]):
        if at <= until:
            latest[token_id] = {"token_id": f"0.0.{token_id}", "balance": at}
    ascending = [latest[token_id] for token_id in sorted(latest)]
    tokens = {row["account"]: row["tokens"] for row in listed.json()["balances"]}
    assert tokens["0.0.11"] == (ascending if order == "asc" else ascending[::-1])[:limit]
    assert tokens["0.0.12"] == []
    assert single.json()["balance"]["tokens"] == ascending[:limit]


def test_the_treasury_of_the_configured_shard_and_realm_marks_the_snapshots(api, settings_of):
    settings_of({"common.realm": 1, "clock.now": JUNE + 86_400.0})
    treasury = (1 << 38) + 2
    snapshot(JUNE + 1)
    insert("account_balance", consensus_timestamp=JUNE * SECOND, account_id=treasury, balance=5)
    answer = api.get(f"{BALANCES}?timestamp={JUNE + 5}").json()
    assert (answer["timestamp"], answer["balances"][0]["account"]) == (f"{JUNE}.000000000", "0.1.2")


@pytest.mark.usefixtures("two_months", "five")
@pytest.mark.parametrize(
    ("query", "following"),
    [
        ("limit=2", "limit=2&account.id=lt:0.0.14"),
        ("limit=2&order=asc", "limit=2&order=asc&account.id=gt:0.0.12"),
        (f"limit=2&timestamp={JUNE}", f"limit=2&timestamp={JUNE}&account.id=lt:0.0.12"),
        ("account.id=gt:11&limit=1", "account.id=gt:11&account.id=lt:0.0.15&limit=1"),
        (f"account.id={12:040x}&limit=1", f"account.id={12:040x}&limit=1"),
        ("account.id=gte:15&account.id=lte:15&limit=1", None),
        ("limit=6", None),
    ],
)
def test_a_full_page_links_to_the_next_one(api, query, following):
    link = following and f"{BALANCES}?{following}"
    assert api.get(f"{BALANCES}?{query}").json()["links"]["next"] == link


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.sets(st.tuples(st.integers(3, 20), st.integers(1, 9)), max_size=40),
    until=st.integers(0, 10),
    limit=st.integers(1, 5),
    order=st.sampled_from(["asc", "desc"]),
    least=st.sampled_from(["", "&account.balance=gte:5"]),
    few_rows=st.sampled_from([1, 2, 10]),
)
def test_paging_gives_every_account_of_a_snapshot_once_with_its_latest_balance(
    api, build, settings_of, monkeypatch, changes, until, limit, order, least, few_rows
):
    settings_of({"clock.now": JUNE + 86_400.0})
    monkeypatch.setattr(balances, "_FEW_ROWS", few_rows)
    with transaction.atomic():
        for number in range(10):
            snapshot(JUNE + number, *[(account, at) for account, at in changes if at == number])
        url = f"{BALANCES}?timestamp={JUNE + until}&limit={limit}&order={order}{least}"
        found = api.pages(f"{url}&account.id=gt:2", "balances")
        transaction.set_rollback(True)
    latest = {}
    for account, at in sorted(changes, key=lambda change: change[1]):
        if at <= until and (at >= 5 or not least):
            latest[f"0.0.{account}"] = at
    expected = sorted(latest.items(), key=lambda row: int(row[0][4:]), reverse=order == "desc")
    assert [(row["account"], row["balance"]) for row in found] == expected


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.sets(st.integers(1, 60), max_size=12),
    limit=st.integers(1, 5),
    order=st.sampled_from(["asc", "desc"]),
)
def test_paging_gives_every_account_once(api, build, numbers, limit, order):
    with transaction.atomic():
        for number in numbers:
            build.entity(number, type=("ACCOUNT", "CONTRACT", "FILE")[number % 3])
        found = api.pages(f"{BALANCES}?limit={limit}&order={order}", "balances")
        transaction.set_rollback(True)
    expected = sorted((number for number in numbers if number % 3 < 2), reverse=order == "desc")
    assert [row["account"] for row in found] == [f"0.0.{number}" for number in expected]


@pytest.mark.usefixtures("two_months")
def test_tokens_of_a_snapshot_are_found_by_account_in_one_month(api, build):
    build.entity(11, since=MAY * SECOND)
    # Times that are part of the search of an index, after any token, are looked up for each token there is.
    # After one token they are what is looked for.
    token(MAY + 1, 11, 5, 1)
    token(JUNE + 1, 11, 5, 2)
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off; set local enable_bitmapscan = off")
        # The end of an earlier test has undone what its first reader set.
        cursor.execute("set local plan_cache_mode = force_generic_plan")
    for path in ("balances", "accounts/11"):
        for _ in range(2):
            assert api.get(f"/api/v1/{path}?timestamp={JUNE + 2000}").status == 200
    statements = [
        statement
        for statement in prepared(set())
        if f">= {JUNE * SECOND} " in statement.text and ") held" in statement.text
    ]
    scans = [scan for each in statements for scan in scans_of("token_balance", each.plan)]
    assert {scan["Relation Name"] for scan in scans} == {"token_balance_p2023_06"}
    # Index: the primary key (account_id, token_id, consensus_timestamp).
    searches = [scan["Index Cond"] for scan in scans if scan["Index Name"].endswith("pkey")]
    assert searches
    assert not any("consensus_timestamp" in search for search in searches)
    # The tokens of an account may be many.
    (single,) = [each for each in statements if "::bigint as id) a" in each.text]
    assert not list(sorts_of("token_balance", single.plan))


def scans_of(table, plan):
    if plan.get("Relation Name", "").startswith(f"{table}_p"):
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans_of(table, part)


def sorts_of(table, plan):
    for part in plan.get("Plans", ()):
        if plan["Node Type"] in ("Sort", "Incremental Sort") and list(scans_of(table, part)):
            yield plan
        yield from sorts_of(table, part)


@pytest.mark.usefixtures("two_months")
def test_a_snapshot_is_looked_for_in_the_month_of_its_time_first(api):
    # A month is a partition; the rows of several would be sorted.
    with connection.cursor() as cursor:
        cursor.execute("set local plan_cache_mode = force_generic_plan")
    for _ in range(2):
        assert rows(api.get(f"{BALANCES}?timestamp={JUNE + 2000}&account.id=11")) == "11:100"
    (plan,) = [each.plan for each in prepared(set()) if "account_id = 2 and" in each.text]
    assert "account_balance_p2023_06" in str(plan)
    assert "account_balance_p2023_05" not in str(plan)
