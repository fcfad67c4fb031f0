import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api import assert_answer
from tests.build import SECOND, START, insert
from tests.contract.reads import rows_read

TOKEN = 1500
BALANCES = f"/api/v1/tokens/0.0.{TOKEN}/balances"
KEY, OTHER_KEY = "ab" * 32, "cd" * 32
MAY, JUNE = 1_682_899_200, 1_685_577_600  # the first seconds of these months of 2023


def held(answer):
    assert answer.status == 200, answer
    return " ".join(
        f"{row['account'].removeprefix('0.0.')}:{row['balance']}" for row in answer.json()["balances"]
    )


def snapshot(seconds, *balances, token=TOKEN):
    """A snapshot, of which the treasury is always part, with these (account, balance) of the token."""
    insert("account_balance", consensus_timestamp=seconds * SECOND, account_id=2, balance=1)
    for account, balance in balances:
        insert(
            "token_balance",
            consensus_timestamp=seconds * SECOND,
            account_id=account,
            token_id=token,
            balance=balance,
        )


@pytest.fixture
def five(build):
    """Accounts 11 to 15 hold 110 to 150; 16 no longer does, 17 holds another token."""
    build.token(TOKEN)
    for account in range(11, 16):
        build.holding(TOKEN, account=account, balance=account * 10, balance_timestamp=START + account)
        key = KEY if account < 14 else OTHER_KEY
        build.entity(account, type="CONTRACT" if account == 13 else "ACCOUNT", public_key=key)
    build.holding(TOKEN, account=16, associated=False, balance=160)
    build.holding(1600, account=17, balance=170)


@pytest.fixture
def two_months(build, settings_of):
    """Snapshots of May and June; each first one has all holders, the others what changed."""
    settings_of({"clock.now": JUNE + 20 * 86_400.0})
    build.token(TOKEN)
    snapshot(MAY + 1, (11, 1), (12, 2), (13, 3))
    snapshot(MAY + 900, (12, 20))
    snapshot(JUNE + 1, (11, 1), (12, 200))
    snapshot(JUNE + 900, (11, 100))
    snapshot(JUNE + 1800, (12, 2000), (14, 4))
    for account in (11, 12, 14):
        build.entity(account, public_key=KEY if account < 14 else OTHER_KEY)


def test_balances_have_all_members_in_order(api, build):
    build.token(TOKEN, decimals=7)
    build.holding(TOKEN, account=1001, balance=9_007_199_254_740_993, balance_timestamp=START + 5)
    build.holding(TOKEN, account=1002, balance=0, balance_timestamp=None)
    answer = api.get(BALANCES)
    assert_answer(
        answer,
        {
            "timestamp": "1700000000.000000005",
            "balances": [
                {"account": "0.0.1002", "balance": 0, "decimals": 7},
                {"account": "0.0.1001", "balance": 9_007_199_254_740_993, "decimals": 7},
            ],
            "links": {"next": None},
        },
    )
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


def test_balances_of_a_token_that_is_not_known_have_no_decimals(api, build):
    build.holding(TOKEN, account=1001, balance=5)
    assert api.get(BALANCES).json() == {
        "timestamp": None,
        "balances": [{"account": "0.0.1001", "balance": 5, "decimals": None}],
        "links": {"next": None},
    }


@pytest.mark.parametrize("query", ["", "?timestamp=1700000000", "?account.id=5", f"?account.publickey={KEY}"])
def test_an_unknown_token_is_held_by_nobody(api, query):
    assert api.get(f"{BALANCES}{query}").json() == {
        "timestamp": None, "balances": [], "links": {"next": None}
    }  # fmt: skip


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "accounts"),
    [
        ("", "15:150 14:140 13:130 12:120 11:110"),
        ("order=asc", "11:110 12:120 13:130 14:140 15:150"),
        ("limit=2", "15:150 14:140"),
        ("account.id=13", "13:130"),
        (f"account.id=eq:0x{13:040x}", "13:130"),
        ("account.id=13&account.id=14", ""),
        ("account.id=13&account.id=13", "13:130"),
        ("account.id=ne:13", "15:150 14:140 12:120 11:110"),
        ("account.id=gt:13", "15:150 14:140"),
        ("account.id=gte:13", "15:150 14:140 13:130"),
        ("account.id=lt:13", "12:120 11:110"),
        ("account.id=lte:13&order=asc", "11:110 12:120 13:130"),
        ("account.id=gt:11&account.id=lt:14", "13:130 12:120"),
        (f"account.id={'ab' * 20}", ""),
        ("account.balance=130", "13:130"),
        ("account.balance=ne:130", "15:150 14:140 12:120 11:110"),
        ("account.balance=gt:130", "15:150 14:140"),
        ("account.balance=gte:130", "15:150 14:140 13:130"),
        ("account.balance=lt:130", "12:120 11:110"),
        ("account.balance=lte:130&account.balance=gt:110", "13:130 12:120"),
        ("account.balance=130&account.balance=140", ""),
        (f"account.publickey={KEY}", "12:120 11:110"),
        (f"account.publickey={OTHER_KEY}&account.publickey={KEY}&order=asc", "11:110 12:120"),
        (f"account.publickey=gt:{KEY}", "12:120 11:110"),
        (f"account.publickey={KEY}&limit=1", "12:120"),
        (f"account.publickey={KEY}&account.id=lt:12", "11:110"),
        (f"account.publickey={KEY}&account.balance=gt:110", "12:120"),
        (f"account.publickey={'00' * 32}", ""),
    ],
)
def test_holders_are_narrowed_by_every_parameter(api, query, accounts):
    answer = api.get(f"{BALANCES}?{query}")
    assert held(answer) == accounts
    newest = max((int(row.split(":")[0]) for row in accounts.split()), default=None)
    assert answer.json()["timestamp"] == (None if newest is None else f"1700000000.{newest:09}")


@pytest.mark.usefixtures("two_months")
@pytest.mark.parametrize(
    ("query", "at", "accounts"),
    [
        (f"timestamp={MAY}", None, ""),
        (f"timestamp={MAY + 1}", MAY + 1, "13:3 12:2 11:1"),
        (f"timestamp={MAY + 899}", MAY + 1, "13:3 12:2 11:1"),
        (f"timestamp=lt:{MAY + 900}", MAY + 1, "13:3 12:2 11:1"),
        (f"timestamp=lte:{MAY + 900}", MAY + 900, "13:3 12:20 11:1"),
        (f"timestamp={JUNE}", MAY + 900, "13:3 12:20 11:1"),
        (f"timestamp={JUNE + 2}", JUNE + 1, "12:200 11:1"),
        (f"timestamp={JUNE + 900}", JUNE + 900, "12:200 11:100"),
        (f"timestamp={JUNE + 9999}", JUNE + 1800, "14:4 12:2000 11:100"),
        ("timestamp=gt:0", JUNE + 1800, "14:4 12:2000 11:100"),
        (f"timestamp=gt:{JUNE + 1}&timestamp=lt:{JUNE + 1800}", JUNE + 900, "12:200 11:100"),
        (f"timestamp=gte:{JUNE + 1800}", JUNE + 1800, "14:4 12:2000 11:100"),
        (f"timestamp=gt:{JUNE + 1800}", None, ""),
        (f"timestamp=ne:{JUNE + 1800}", JUNE + 900, "12:200 11:100"),
        ("timestamp=lt:9999999999.999999999", JUNE + 1800, "14:4 12:2000 11:100"),
        ("timestamp=gt:9999999999.999999999", None, ""),
        (f"timestamp=gt:{JUNE}&timestamp=lt:{MAY}", None, ""),
        (f"timestamp={JUNE + 9999}&order=asc", JUNE + 1800, "11:100 12:2000 14:4"),
        (f"timestamp={JUNE + 9999}&limit=2", JUNE + 1800, "14:4 12:2000"),
        (f"timestamp={JUNE + 9999}&account.id=12", JUNE + 1800, "12:2000"),
        (f"timestamp={JUNE + 9999}&account.id=12&account.id=14", None, ""),
        (f"timestamp={JUNE + 9999}&account.id=lt:14", JUNE + 1800, "12:2000 11:100"),
        (f"timestamp={JUNE + 9999}&account.id=gt:11&account.id=ne:12", JUNE + 1800, "14:4"),
        (f"timestamp={JUNE + 9999}&account.id={'ab' * 20}", None, ""),
        (f"timestamp={JUNE + 9999}&account.balance=gt:4", JUNE + 1800, "12:2000 11:100"),
        (f"timestamp={JUNE + 9999}&account.balance=200", None, ""),
        (f"timestamp={JUNE + 9999}&account.balance=lt:2000&order=asc", JUNE + 1800, "11:100 14:4"),
        (f"timestamp={JUNE + 9999}&account.balance=ne:4&limit=1", JUNE + 1800, "12:2000"),
        (f"timestamp={JUNE + 9999}&account.publickey={KEY}", JUNE + 1800, "12:2000 11:100"),
        (f"timestamp={JUNE + 9999}&account.publickey={KEY}&account.id=gt:11", JUNE + 1800, "12:2000"),
        (f"timestamp={JUNE + 9999}&account.publickey={KEY}&account.balance=100", JUNE + 1800, "11:100"),
    ],
)
def test_balances_are_those_of_the_last_snapshot(api, query, at, accounts):
    answer = api.get(f"{BALANCES}?{query}")
    assert held(answer) == accounts
    assert answer.json()["timestamp"] == (None if at is None else f"{at}.000000000")
    # At the first moment of a month the snapshot is looked for in it, and then in the month before.
    assert len(answer.statements) <= (3 if query == f"timestamp={JUNE}" else 2), answer.statements
    assert all(row["decimals"] == 2 for row in answer.json()["balances"])


def test_a_snapshot_before_the_month_before_is_too_old(api, build, settings_of):
    settings_of({"clock.now": JUNE + 40 * 86_400.0})
    snapshot(MAY + 1, (11, 1))
    assert held(api.get(f"{BALANCES}?timestamp=lte:{JUNE + 5}")) == "11:1"
    assert held(api.get(f"{BALANCES}?timestamp=gt:{MAY}")) == ""


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("query", ["", "account.id=lte:4900&", "account.id=gt:4900&account.id=lt:5500&"])
def test_holders_of_a_snapshot_are_found_one_after_the_other(api, two_months, query, order):
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into token_balance (consensus_timestamp, account_id, token_id, balance) "
            "select %(at)s, 4000 + n, %(token)s, n from generate_series(1, 2000) n "
            # A token has few holders on average.
            "union all select %(at)s, 7, 10000 + n, n from generate_series(1, 20000) n",
            {"at": (JUNE + 1) * SECOND, "token": TOKEN},
        )
        cursor.execute("analyze token_balance")
    before = rows_read()
    answer = api.get(f"{BALANCES}?{query}timestamp={JUNE + 3600}&order={order}&limit=25")
    assert len(answer.json()["balances"]) == 25
    assert rows_read() - before < 500


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", "limit=2&account.id=lt:0.0.14"),
        ("limit=2&order=asc", "limit=2&order=asc&account.id=gt:0.0.12"),
        ("limit=1&account.id=gt:13", "limit=1&account.id=gt:13&account.id=lt:0.0.15"),
        ("limit=1&account.id=gt:14", None),
        (f"limit=1&account.publickey={KEY}", f"limit=1&account.publickey={KEY}&account.id=lt:0.0.12"),
        ("limit=6", None),
    ],
)
def test_the_next_page_goes_on_behind_the_last_account(api, query, link):
    next_link = api.get(f"{BALANCES}?{query}").json()["links"]["next"]
    assert next_link == (None if link is None else f"{BALANCES}?{link}")


holdings = st.dictionaries(st.integers(1, 9), st.lists(st.integers(0, 3), min_size=1, max_size=4))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    found=holdings,
    limit=st.integers(1, 4),
    order=st.sampled_from(["asc", "desc"]),
    narrower=st.sampled_from(["", "&account.balance=gt:0", "&account.id=gt:3", "&account.id=lt:8"]),
)
def test_paging_a_past_time_gives_every_holder_once(api, build, settings_of, found, limit, order, narrower):
    settings_of({"clock.now": JUNE + 20 * 86_400.0})
    with transaction.atomic():
        for step in range(4):
            changed = [(account, steps[step]) for account, steps in found.items() if step < len(steps)]
            snapshot(JUNE + 1 + step, *changed)
        snapshot(JUNE + 99, *((account, 9) for account in found))
        rows = api.pages(
            f"{BALANCES}?timestamp={JUNE + 50}&limit={limit}&order={order}{narrower}", "balances"
        )
        transaction.set_rollback(True)
    expected = {account: steps[-1] for account, steps in found.items()}
    if "balance" in narrower:
        expected = {account: balance for account, balance in expected.items() if balance > 0}
    if "gt:3" in narrower:
        expected = {account: balance for account, balance in expected.items() if account > 3}
    if "lt:8" in narrower:
        expected = {account: balance for account, balance in expected.items() if account < 8}
    in_order = sorted(expected.items(), reverse=order == "desc")
    assert [(row["account"], row["balance"]) for row in rows] == [
        (f"0.0.{account}", balance) for account, balance in in_order
    ]


def test_all_problems_are_named(api):
    query = "account.id=x&account.balance=-1&account.publickey=1&timestamp=x&order=x&limit=0&foo=1"
    query += "&account.balance=x"
    answer = api.get(f"{BALANCES}?{query}")
    assert answer.status == 400
    assert answer.messages == [
        "Invalid parameter: account.id",
        "Invalid parameter: account.balance",
        "Invalid parameter: account.balance",
        "Invalid parameter: account.publickey",
        "Invalid parameter: timestamp",
        "Invalid parameter: order",
        "Invalid parameter: limit",
        "Unknown query parameter: foo",
    ]
    assert api.get(f"{BALANCES}?account.id=1024.0.1").messages == ['Invalid entity ID "1024.0.1"']


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_few_holders_are_found_at_once_however_many_accounts_have_the_key(api, build, order):
    build.token(TOKEN)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into entity (id, num, realm, shard, type, public_key, timestamp_range) "
            "select n, n, 0, 0, 'ACCOUNT'::entity_type, %s, '[1,)'::int8range "
            "from generate_series(2001, 4000) n",
            [KEY],
        )
        cursor.execute("analyze entity")
    holders = [2100, 2900, 3999, 5000]
    for account in holders:
        build.holding(TOKEN, account=account, balance=account)
    before = _scans()
    answer = api.get(f"{BALANCES}?account.publickey={KEY}&order={order}")
    found = [f"{account}:{account}" for account in holders[:3]]
    assert held(answer) == " ".join(found if order == "asc" else reversed(found))
    assert _scans() - before < 50


def _scans():
    """How often an index of accounts or holders has been searched."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select sum(idx_scan)::bigint from pg_stat_xact_user_tables "
            "where relname in ('token_account', 'entity')"
        )
        (scans,) = cursor.fetchone()
        return scans
