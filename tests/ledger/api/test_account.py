import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.build import SECOND, START, insert, time_range

ACCOUNT = "/api/v1/accounts"
ADDRESS = bytes.fromhex("ac384c53f03855fa1b3616052f8ba32c6c2a2fec")
KEY_ALIAS = b"\x12\x20" + b"\xa5" * 32
KEY_ALIAS_TEXT = "CIQKLJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJI"
NEWEST = 1_793_600_000
SNAPSHOTS = (1_790_812_801, 1_791_000_000, 1_793_491_201, 1_793_500_000)


def stake(since, until=None, *, reward, table="entity_stake"):
    insert(
        table,
        id=1001,
        end_stake_period=10,
        pending_reward=reward,
        staked_node_id_start=4,
        staked_to_me=0,
        stake_total_start=0,
        timestamp_range=time_range(since, until),
    )


def balance(seconds, account, tinybars):
    insert("account_balance", consensus_timestamp=seconds * SECOND, account_id=account, balance=tinybars)


def token_balance(seconds, account, token, amount):
    insert(
        "token_balance",
        consensus_timestamp=seconds * SECOND,
        account_id=account,
        token_id=token,
        balance=amount,
    )


@pytest.fixture
def two_versions(build, settings_of):
    """Account 1001, another one since 1791000000; snapshots of the treasury around it."""
    settings_of({"clock.now": float(NEWEST)})
    split = 1_791_000_000 * SECOND
    columns = {"staked_node_id": 4, "stake_period_start": 5, "balance_timestamp": 7, "created_timestamp": 9}
    build.entity(1001, table="entity_history", since=START, until=split, memo="old", balance=1, **columns)
    build.entity(1001, since=split, memo="new", balance=2, **columns)
    stake(START, split, reward=11, table="entity_stake_history")
    stake(split, reward=12)
    for snapshot in SNAPSHOTS:
        balance(snapshot, 2, 1)


def seen(api, query):
    """(state, pending reward, balance, its time in seconds) at a time."""
    answer = api.get(f"{ACCOUNT}/1001?{query}")
    assert answer.status == 200, answer
    account = answer.json()
    found = account["balance"]
    return account["memo"], account["pending_reward"], found["balance"], found["timestamp"].split(".")[0]


def test_an_account_has_the_members_of_the_list_and_its_transactions(api, build):
    build.entity(1001, balance=555, balance_timestamp=START + 1)
    build.entity(1002)
    build.holding(7001, account=1001, balance=5)
    first = build.transaction(payer=1001)
    second = build.transaction(payer=3, transfers=[(3, -5), (1001, 5)])
    build.transaction(payer=1002)
    answer = api.get(f"{ACCOUNT}/1001")
    (listed,) = api.get(f"{ACCOUNT}?account.id=1001").json()["accounts"]
    transactions = api.get("/api/v1/transactions?account.id=1001").json()["transactions"]
    assert len(transactions) == 2 and second > first
    assert answer.json() == {**listed, "transactions": transactions, "links": {"next": None}}
    assert list(answer.json()) == [*listed, "transactions", "links"]
    assert answer.headers["cache-control"] == "public, max-age=2"
    assert len(answer.statements) == 2


@pytest.mark.parametrize(
    "path",
    [
        *("1001", "0.1001", "0.0.1001", "00000001001", f"0x{1001:040x}", f"0.0.{1001:040x}"),
        *(ADDRESS.hex(), "0x" + ADDRESS.hex().upper(), f"0.{ADDRESS.hex()}"),
        *(KEY_ALIAS_TEXT, f"0.{KEY_ALIAS_TEXT}", f"0.0.{KEY_ALIAS_TEXT}"),
    ],
)
def test_an_account_is_found_by_every_name_and_links_keep_it(api, build, path):
    build.entity(1001, alias=KEY_ALIAS, evm_address=ADDRESS)
    at = build.transaction(payer=1001)
    answer = api.get(f"{ACCOUNT}/{path}/?limit=1&order=desc")
    assert answer.json()["account"] == "0.0.1001"
    expected = f"{ACCOUNT}/{path}?limit=1&order=desc&timestamp=lt:{at // SECOND}.000000000"
    assert answer.json()["links"]["next"] == expected
    assert answer.headers["link"] == f'<{expected}>; rel="next"'


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("9999", 404, "Not found"),
        (f"0x{9999:040x}", 404, "Not found"),
        (ADDRESS.hex(), 404, "Not found"),
        (KEY_ALIAS_TEXT, 404, "No account with a matching alias found"),
        ("5", 404, "Not found"),
        ("2", 404, "Not found"),
        ("x", 400, "Invalid parameter: idOrAliasOrEvmAddress"),
        ("-5", 400, "Invalid parameter: idOrAliasOrEvmAddress"),
        ("274877906944", 400, "Invalid parameter: idOrAliasOrEvmAddress"),
        ("1.AA", 400, "Invalid parameter: idOrAliasOrEvmAddress"),
        ("%zz", 400, "Invalid parameter: idOrAliasOrEvmAddress"),
        ("x?foo=1", 400, "Unknown query parameter: foo"),
        ("x?limit=1", 400, "Invalid parameter: idOrAliasOrEvmAddress"),
    ],
)
def test_what_is_no_account_is_refused(api, build, path, status, message):
    build.entity(5, type="TOPIC")
    build.entity(2, memo="Mirror node created synthetic treasury account")
    answer = api.get(f"{ACCOUNT}/{path}")
    assert (answer.status, answer.messages) == (status, [message])


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("foo=1&limit=0&foo=2", ["Invalid parameter: limit", *["Unknown query parameter: foo"] * 2]),
        ("order=x", ["Invalid parameter: order"]),
        ("timestamp=x", ["Invalid parameter: timestamp"]),
        ("timestamp=", ["Invalid parameter: timestamp"]),
        ("transactions=maybe", ["Invalid parameter: transactions"]),
        ("transactions=ne:true", ["Invalid parameter: transactions"]),
        ("transactiontype=x", ["Invalid parameter: transactiontype"]),
        ("account.id=5", ["Unknown query parameter: account.id"]),
        ("balance=true", ["Unknown query parameter: balance"]),
        ("result=success", ["Unknown query parameter: result"]),
    ],
)
def test_every_problem_of_the_query_is_named(api, query, messages):
    answer = api.get(f"{ACCOUNT}/1001?{query}")
    assert (answer.status, answer.messages) == (400, messages)


def test_a_deleted_account_is_shown_by_number_alone(api, build):
    build.entity(1001, alias=KEY_ALIAS, evm_address=ADDRESS, deleted=True)
    assert api.get(f"{ACCOUNT}/1001").json()["deleted"] is True
    assert api.get(f"{ACCOUNT}/{KEY_ALIAS_TEXT}").status == 404
    assert api.get(f"{ACCOUNT}/{ADDRESS.hex()}").status == 404


def test_transactions_can_be_left_out(api, build):
    build.entity(1001)
    build.transaction(payer=1001)
    for query in ("transactions=FALSE&limit=1", "transactions=true&transactions=eq:false&limit=1"):
        answer = api.get(f"{ACCOUNT}/1001?{query}")
        assert (answer.json()["transactions"], answer.json()["links"]) == ([], {"next": None})
        assert len(answer.statements) == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [3, 2, 1]),
        ("order=asc", [1, 2, 3]),
        ("limit=2", [3, 2]),
        ("transactiontype=cryptotransfer", [3, 1]),
        ("transactiontype=CRYPTODELETE&transactiontype=ETHEREUMTRANSACTION", [2]),
        ("transactiontype=TOKENMINT", []),
    ],
)
def test_parameters_apply_to_the_transactions(api, build, query, found):
    build.entity(1001)
    types = {1: 14, 2: 12, 3: 14}
    for number, type in types.items():
        build.transaction(START + number * SECOND, payer=1001, type=type)
    transactions = api.get(f"{ACCOUNT}/1001?{query}").json()["transactions"]
    times = [float(transaction["consensus_timestamp"]) - START / SECOND for transaction in transactions]
    assert times == found


def test_tokens_are_ascending_whatever_the_order_and_limited(api, build, settings_of):
    settings_of({"rest.response.limit.tokenBalance.singleAccount": 2})
    build.entity(1001)
    for token in (7003, 7001, 7002):
        build.holding(token, account=1001, balance=token)
    tokens = api.get(f"{ACCOUNT}/1001?order=desc").json()["balance"]["tokens"]
    assert [token["token_id"] for token in tokens] == ["0.0.7001", "0.0.7002"]


@pytest.mark.usefixtures("two_versions")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("timestamp=1791000000", ("new", 12, 0, "1791000000")),
        ("timestamp=1790999999", ("old", 11, 0, "1790812801")),
        ("timestamp=1790812800", ("old", 11, 1, "0")),
        ("timestamp=lt:1791000000", ("old", 11, 0, "1790812801")),
        ("timestamp=lte:1791000000", ("new", 12, 0, "1791000000")),
        ("timestamp=gte:1791000000", ("new", 12, 0, "1793500000")),
        ("timestamp=gt:5&timestamp=gt:6", ("new", 12, 0, "1793500000")),
        ("timestamp=gt:5&timestamp=lt:1790812802", ("old", 11, 0, "1790812801")),
        ("timestamp=gt:1793500000", ("new", 12, 2, "0")),
        ("timestamp=ne:1795000000", ("old", 11, 0, "1793500000")),
        ("timestamp=ne:1790999999", ("new", 12, 0, "1793500000")),
        ("timestamp=ne:1793500000&timestamp=lt:1794000000", ("old", 11, 0, "1793491201")),
        ("timestamp=1791000000&timestamp=1790999999", ("old", 11, 0, "1790812801")),
        ("timestamp=9999999999.999999999", ("new", 12, 0, "1793500000")),
        ("timestamp=lt:9999999999", ("new", 12, 0, "1793500000")),
        ("timestamp=gt:9999999999", ("new", 12, 2, "0")),
        ("timestamp=ne:9999999999", ("new", 12, 0, "1793500000")),
    ],
)
def test_state_reward_and_balance_are_those_of_the_time(api, query, expected):
    assert seen(api, query) == expected


@pytest.mark.usefixtures("two_versions")
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("timestamp=1400000000", "Not found"),
        ("timestamp=lt:0", "Not found"),
        ("timestamp=gte:1791000000&timestamp=1790999999", "Not found"),
        ("timestamp=gt:5&timestamp=lt:3", "Timestamp range is empty"),
        ("timestamp=gt:5&timestamp=lt:6&timestamp=lt:5.000000001", "Timestamp range is empty"),
    ],
)
def test_there_is_no_account_before_its_first_version_or_in_an_empty_range(api, query, message):
    answer = api.get(f"{ACCOUNT}/1001?{query}")
    assert (answer.status, answer.messages) == (404, [message])


@pytest.mark.usefixtures("two_versions")
def test_a_version_of_the_stake_before_the_first_is_no_reward(api):
    with connection.cursor() as cursor:
        cursor.execute("delete from entity_stake_history")
    assert seen(api, "timestamp=1790999999")[:2] == ("old", 0)


@pytest.mark.usefixtures("two_versions")
def test_balances_are_the_latest_of_the_month_of_the_snapshot(api, settings_of):
    for seconds, tinybars in ((1_790_812_801, 10), (1_791_000_000, 20), (1_793_491_201, 30)):
        balance(seconds, 1001, tinybars)
    balance(1_793_500_001, 1001, 40)
    for seconds, token, amount in (
        *((1_790_812_801, 7001, 1), (1_790_812_801, 7002, 2)),
        *((1_791_000_000, 7001, 3), (1_793_491_201, 7003, 4)),
    ):
        token_balance(seconds, 1001, token, amount)

    def held(query):
        found = api.get(f"{ACCOUNT}/1001?{query}&transactions=false&order=desc").json()["balance"]
        tokens = [(token["token_id"], token["balance"]) for token in found["tokens"]]
        return found["balance"], found["timestamp"], tokens

    assert held("timestamp=1790812801") == (10, "1790812801.000000000", [("0.0.7001", 1), ("0.0.7002", 2)])
    assert held("timestamp=1791000001") == (20, "1791000000.000000000", [("0.0.7001", 3), ("0.0.7002", 2)])
    assert held("timestamp=1793500009") == (30, "1793500000.000000000", [("0.0.7003", 4)])
    settings_of({"rest.response.limit.tokenBalance.singleAccount": 1})
    assert held("timestamp=1790812801") == (10, "1790812801.000000000", [("0.0.7001", 1)])


@pytest.mark.usefixtures("two_versions")
def test_transactions_are_those_of_the_time_to_the_letter(api, build):
    at = [build.transaction(START + number * SECOND, payer=1001) for number in (1, 2, 3)]

    def times(query):
        answer = api.get(f"{ACCOUNT}/1001?{query}").json()
        return [transaction["consensus_timestamp"] for transaction in answer["transactions"]]

    one, two, three = (f"{number // SECOND}.000000000" for number in at)
    assert times(f"timestamp={two}") == [two]
    assert times("timestamp=1790000000") == []
    assert times(f"timestamp=lt:{three}") == [two, one]
    assert times(f"timestamp=ne:{two}") == [three, one]
    assert times(f"timestamp={one}&timestamp={two}") == []
    link = api.get(f"{ACCOUNT}/1001?timestamp=gt:5&limit=1").json()["links"]["next"]
    assert link == f"{ACCOUNT}/1001?timestamp=gt:5&timestamp=lt:{three}&limit=1"


def test_a_cut_search_goes_on_at_its_end(api, build, settings_of):
    settings_of({"rest.query.bindTimestampRange": True, "clock.now": START / SECOND + 100 * 86_400})
    build.entity(1001)
    build.transaction(START + SECOND, payer=1001)
    url = f"{ACCOUNT}/1001"
    first = api.get(url).json()
    assert (
        first["transactions"] == [] and first["links"]["next"] == f"{url}?timestamp=lt:1703456000.000000001"
    )
    assert len(api.pages(url, "transactions")) == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ends=st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True).map(sorted),
    operator=st.sampled_from(["eq", "lt", "lte", "gt", "gte"]),
    moment=st.integers(0, 61),
)
def test_the_state_is_the_newest_version_that_fits(api, build, ends, operator, moment):
    versions = list(zip(ends, [*ends[1:], None], strict=True))
    with transaction.atomic():
        for since, until in versions:
            table = "entity" if until is None else "entity_history"
            build.entity(1001, table=table, since=since, until=until, memo=str(since))
        answer = api.get(f"{ACCOUNT}/1001?timestamp={operator}:0.{moment:09}&transactions=false")
        transaction.set_rollback(True)
    last = {"eq": moment, "lte": moment, "lt": moment - 1}.get(operator, 10**9)
    first = {"gt": moment + 1, "gte": moment}.get(operator, 0)
    fitting = [since for since, until in versions if since <= last and (until is None or until > first)]
    if fitting:
        assert answer.json()["memo"] == str(max(fitting))
    else:
        assert answer.status == 404
