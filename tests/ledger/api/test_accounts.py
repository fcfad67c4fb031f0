import random

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirror.core.values import entity_id
from tests.build import SECOND, START, insert
from tests.contract.reads import rows_read

ACCOUNTS = "/api/v1/accounts"
ED25519 = "0aa8e21064c61eab86e2a9c164565b4e7a9a4146106e0a6cd03a8c395a110e92"
ECDSA = "02b5ffadf88d625cd9074fa01e5280b773a60ed2de55b0d6f94460c0b5a001a258"
DER = "302a300506032b6570032100"
ADDRESS = bytes.fromhex("ac384c53f03855fa1b3616052f8ba32c6c2a2fec")
TREASURY_MEMO = "Mirror node created synthetic treasury account"


def ids(answer):
    assert answer.status == 200, answer
    return [account["account"].removeprefix("0.0.") for account in answer.json()["accounts"]]


def found(api, query):
    return " ".join(ids(api.get(f"{ACCOUNTS}?{query}")))


def only(api):
    (account,) = api.get(ACCOUNTS).json()["accounts"]
    return account


@pytest.fixture
def five(build):
    """Accounts 11 to 15 with balances 110 to 150; 14 is a contract, 13 is deleted and has no balance."""
    for number in range(11, 16):
        build.entity(number, balance=number * 10, public_key=f"{number:064x}")
    build.entity(1, type="FILE")
    build.entity(12_000, type="TOKEN")
    with connection.cursor() as cursor:
        cursor.execute("update entity set type = 'CONTRACT' where id = 14")
        cursor.execute("update entity set deleted = true, balance = null where id = 13")


def test_an_account_has_all_members_in_order(api, build):
    build.entity(
        1001,
        alias=b"\x12\x20" + b"\xa5" * 32,
        auto_renew_period=7_776_000,
        balance=555,
        balance_timestamp=START + 1,
        decline_reward=False,
        ethereum_nonce=3,
        evm_address=ADDRESS,
        key=bytes.fromhex("1220" + ED25519),
        max_automatic_token_associations=-1,
        memo="hello",
        public_key=ED25519,
        receiver_sig_required=True,
        staked_account_id=0,
        staked_node_id=4,
        stake_period_start=17_000,
    )
    insert(
        "entity_stake",
        id=1001,
        end_stake_period=17_002,
        pending_reward=77,
        staked_node_id_start=4,
        staked_to_me=0,
        stake_total_start=555,
        timestamp_range="[1,)",
    )
    build.holding(7002, account=1001, balance=0)
    build.holding(7001, account=1001, balance=9_007_199_254_740_993)
    build.holding(7003, account=1001, balance=5, associated=False)
    answer = api.get(ACCOUNTS)
    expected = {
        "account": "0.0.1001",
        "alias": "CIQKLJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJI",
        "auto_renew_period": 7_776_000,
        "balance": {
            "balance": 555,
            "timestamp": "1700000000.000000001",
            "tokens": [
                {"token_id": "0.0.7001", "balance": 9_007_199_254_740_993},
                {"token_id": "0.0.7002", "balance": 0},
            ],
        },
        "created_timestamp": "1700000000.000000000",
        "decline_reward": False,
        "deleted": False,
        "ethereum_nonce": 3,
        "evm_address": "0x" + ADDRESS.hex(),
        "expiry_timestamp": "1707776000.000000000",
        "key": {"_type": "ED25519", "key": ED25519},
        "max_automatic_token_associations": -1,
        "memo": "hello",
        "pending_reward": 77,
        "receiver_sig_required": True,
        "staked_account_id": None,
        "staked_node_id": 4,
        "stake_period_start": "1468800000.000000000",
    }
    assert answer.json() == {"accounts": [expected], "links": {"next": None}}
    assert list(answer.json()["accounts"][0]) == list(expected)
    assert answer.headers["cache-control"] == "public, max-age=10"
    assert len(answer.statements) == 1


def test_what_is_not_known_is_null(api, build):
    build.entity(
        1001, type="CONTRACT", created_timestamp=None, deleted=None, ethereum_nonce=None, staked_node_id=None
    )
    assert only(api) == {
        "account": "0.0.1001",
        "alias": None,
        "auto_renew_period": None,
        "balance": {"balance": None, "timestamp": None, "tokens": []},
        "created_timestamp": None,
        "decline_reward": False,
        "deleted": None,
        "ethereum_nonce": None,
        "evm_address": "0x00000000000000000000000000000000000003e9",
        "expiry_timestamp": None,
        "key": None,
        "max_automatic_token_associations": None,
        "memo": "",
        "pending_reward": 0,
        "receiver_sig_required": None,
        "staked_account_id": None,
        "staked_node_id": None,
        "stake_period_start": None,
    }


def test_a_20_byte_alias_is_the_evm_address_of_an_account_without_one(api, build):
    build.entity(1001, alias=ADDRESS)
    assert only(api)["evm_address"] == "0x" + ADDRESS.hex()


def test_an_immutable_key_is_null(api, build):
    build.entity(1001, key=bytes.fromhex("3200"))
    assert only(api)["key"] is None


@pytest.mark.parametrize(
    ("columns", "expiry"),
    [
        ({"expiration_timestamp": 5 * SECOND, "auto_renew_period": 7}, "5.000000000"),
        ({"auto_renew_period": 7}, "1700000007.000000000"),
        ({"auto_renew_period": 2**63 - 1}, "9223372038554775807.000000000"),
        ({}, None),
    ],
)
def test_an_account_expires_when_it_says_or_a_period_after_its_creation(api, build, columns, expiry):
    build.entity(1001, **columns)
    assert only(api)["expiry_timestamp"] == expiry


@pytest.mark.parametrize(
    ("columns", "reward"),
    [
        ({"staked_node_id": 4, "stake_period_start": 9}, 77),
        ({"staked_node_id": 4, "stake_period_start": -1}, 77),
        ({"staked_node_id": 4, "stake_period_start": None}, 77),
        ({"staked_node_id": 4, "stake_period_start": 10}, 0),
        ({"staked_node_id": 4, "stake_period_start": 11}, 0),
        ({"staked_node_id": 4, "stake_period_start": 9, "decline_reward": True}, 0),
        ({"staked_node_id": -1, "stake_period_start": 9}, 0),
        ({"staked_node_id": None, "stake_period_start": 9}, 0),
        ({"staked_account_id": 5, "staked_node_id": None}, 0),
    ],
)
def test_a_reward_is_pending_for_who_stakes_to_a_node_since_before_the_period(api, build, columns, reward):
    build.entity(1001, **columns)
    insert(
        "entity_stake",
        id=1001,
        end_stake_period=10,
        pending_reward=77,
        staked_node_id_start=4,
        staked_to_me=0,
        stake_total_start=0,
        timestamp_range="[1,)",
    )
    assert only(api)["pending_reward"] == reward


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({"staked_account_id": 5}, ("0.0.5", None, None)),
        ({"staked_node_id": 0, "stake_period_start": 0}, (None, 0, "0.000000000")),
        ({"staked_node_id": 3, "stake_period_start": -1}, (None, 3, None)),
        ({"staked_node_id": -1, "stake_period_start": 8}, (None, None, None)),
    ],
)
def test_a_stake_is_to_an_account_or_a_node(api, build, columns, shown):
    build.entity(1001, **columns)
    account = only(api)
    assert (account["staked_account_id"], account["staked_node_id"], account["stake_period_start"]) == shown


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "11 12 13 14 15"),
        ("order=asc", "11 12 13 14 15"),
        ("order=DESC", "15 14 13 12 11"),
        ("order=asc&order=desc", "15 14 13 12 11"),
        ("Limit=2&limit=3", "11 12 13"),
        ("limit=1000", "11 12 13 14 15"),
        ("limit=eq:2", "11 12"),
        ("account.id=12", "12"),
        ("account.id=eq:0.0.12", "12"),
        ("account.id=12&account.id=0.14&account.id=12", "12 14"),
        ("account.id=ne:12", "11 13 14 15"),
        ("account.id=gt:12", "13 14 15"),
        ("account.id=gte:0.0.12", "12 13 14 15"),
        ("account.id=lt:12", "11"),
        ("account.id=lte:12", "11 12"),
        ("account.id=gt:11&account.id=gt:12&account.id=lte:14&account.id=lt:15", "13 14"),
        ("account.id=12&account.id=14&account.id=gt:12", "14"),
        ("account.id=gt:14&account.id=lt:12", ""),
        ("account.id=0x000000000000000000000000000000000000000c", "12"),
        ("account.id=0.0.000000000000000000000000000000000000000c", "12"),
        (f"account.id={ADDRESS.hex()}", ""),
        (f"account.id={ADDRESS.hex()}&account.id=12", "12"),
        (f"account.id=ne:{ADDRESS.hex()}", ""),
        ("account.id=0.1.12", ""),
        ("account.balance=120", "12"),
        ("account.balance=eq:120", "12"),
        ("account.balance=120&account.balance=140", ""),
        ("account.balance=ne:120", "11 14 15"),
        ("account.balance=gt:120", "14 15"),
        ("account.balance=gte:120", "12 14 15"),
        ("account.balance=lt:120", "11"),
        ("account.balance=lte:120&account.balance=gte:120", "12"),
        ("account.balance=gt:9223372036854775807", ""),
        ("account.balance=120&balance=false", "11 12 13 14 15"),
        (f"account.publickey={12:064x}", "12"),
        (f"account.publickey=eq:{12:064X}", "12"),
        (f"account.publickey=0x{12:064x}", "12"),
        (f"account.publickey={DER}{12:064x}", "12"),
        (f"account.publickey=0x{DER.upper()}{12:064x}", "12"),
        (f"account.publickey={12:064x}&account.publickey={13:064x}", ""),
        (f"account.publickey={12:064x}&account.publickey=lt:{13:064x}", "12"),
        (f"account.publickey={14:064x}&account.id=gt:12&order=desc", "14"),
        (f"account.publickey={12:064x}&account.balance=gt:500", ""),
        (f"account.publickey=ne:{12:064x}", "11 13 14 15"),
        (f"account.publickey=gt:{12:064x}", "13 14 15"),
        (f"account.publickey=gte:{12:064x}", "12 13 14 15"),
        (f"account.publickey=lt:{12:064x}", "11"),
        (f"account.publickey=lte:{12:064x}&limit=1", "11"),
        (f"account.publickey={ECDSA}", ""),
        (f"account.publickey={'ab' * 44}", ""),
    ],
)
def test_parameters_narrow_and_order_the_list(api, query, expected):
    assert found(api, query) == expected


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("limit=0", ["Invalid parameter: limit"]),
        ("limit=x&limit=1", ["Invalid parameter: limit"]),
        ("order=up", ["Invalid parameter: order"]),
        ("balance=yes", ["Invalid parameter: balance"]),
        ("balance=ne:true", ["Invalid parameter: balance"]),
        ("account.balance=-1", ["Invalid parameter: account.balance"]),
        ("account.balance=9223372036854775808", ["Invalid parameter: account.balance"]),
        ("account.id=x&account.id=", ["Invalid parameter: account.id"] * 2),
        ("account.id=eq:gt:5", ["Invalid parameter: account.id"]),
        ("account.id=GT:5", ["Invalid parameter: account.id"]),
        ("account.id=AAAA", ["Invalid parameter: account.id"]),
        (f"account.id={2**63}", [f'Invalid entity ID "0.0.{2**63}"']),
        (f"account.id={2**63}&limit=x", ["Invalid parameter: limit"]),
        ("account.id=274877906944", ['Invalid entity ID "0.0.274877906944"']),
        ("account.id=-5&account.id=1024.0.5", ['Invalid entity ID "0.0.-5"']),
        (f"account.publickey={'a' * 63}", ["Invalid parameter: account.publickey"]),
        (f"account.publickey=0X{'a' * 64}", ["Invalid parameter: account.publickey"]),
        (f"account.publickey={'g' * 64}", ["Invalid parameter: account.publickey"]),
        (
            "foo=3&limit=0&foo=4&order=x&account.id=-5",
            ["Unknown query parameter: foo", "Invalid parameter: limit", "Invalid parameter: order"],
        ),
        ("timestamp=5", ["Unknown query parameter: timestamp"]),
    ],
)
def test_every_problem_of_the_query_is_named(api, query, messages):
    answer = api.get(f"{ACCOUNTS}?{query}")
    assert (answer.status, answer.messages) == (400, messages)
    assert "cache-control" not in answer.headers


def test_too_many_values_are_refused(api):
    answer = api.get(f"{ACCOUNTS}?" + "&".join(["account.id=5"] * 101))
    message = "Array limit exceeded. Only 100 elements allowed in an array."
    assert (answer.status, answer.messages) == (400, [message])


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("times", [2, 20, 21, 22, 100])
def test_repeated_values_stay_a_list_however_many_they_are(api, times):
    for name in ("account.id", "account.id[]"):
        query = "&".join([f"{name}=11", *[f"{name}=12"] * (times - 1)])
        assert [row["account"] for row in api.get(f"{ACCOUNTS}?{query}").json()["accounts"]] == [
            "0.0.11",
            "0.0.12",
        ]


@pytest.mark.usefixtures("five")
def test_without_balances_neither_they_nor_tokens_are_shown(api, build):
    build.holding(7001, account=11)
    for query in ("balance=false", "balance=true&balance=FALSE", "balance=eq:false"):
        accounts = api.get(f"{ACCOUNTS}?{query}").json()["accounts"]
        assert [account["balance"] for account in accounts] == [None] * 5
    assert api.get(f"{ACCOUNTS}?balance=false&balance=true").json()["accounts"][0]["balance"]["tokens"]


@pytest.mark.parametrize(
    ("delegation", "expected"),
    [(b"\xaa" * 20, "0x" + "aa" * 20), (bytes(20), "0x"), (b"", "0x"), (None, "0x")],
    ids=["delegated", "zero address", "empty", "none"],
)
def test_delegation_addresses_are_shown_on_demand(api, build, settings_of, delegation, expected):
    build.entity(11, delegation_address=delegation)
    assert "delegation_address" not in api.get(ACCOUNTS).json()["accounts"][0]
    assert "delegation_address" not in api.get(f"{ACCOUNTS}/11").json()
    settings_of({"rest.response.enableDelegationAddress": True})
    assert api.get(ACCOUNTS).json()["accounts"][0]["delegation_address"] == expected
    assert api.get(f"{ACCOUNTS}/11").json()["delegation_address"] == expected


def test_a_delegation_is_shown_as_it_was_at_a_time(api, build, settings_of):
    settings_of({"rest.response.enableDelegationAddress": True})
    split = START + SECOND
    build.entity(11, table="entity_history", since=START, until=split, delegation_address=b"\xaa" * 20)
    build.entity(11, since=split, delegation_address=b"\xbb" * 20)
    for at, digits in ((START, "aa"), (split, "bb")):
        account = api.get(f"{ACCOUNTS}/11?timestamp={at // SECOND}").json()
        assert account["delegation_address"] == "0x" + digits * 20


def test_the_stand_in_for_the_treasury_is_only_shown_without_balances(api, build):
    build.entity(2, memo=TREASURY_MEMO)
    build.entity(3, memo=TREASURY_MEMO)
    assert found(api, "") == "3"
    assert found(api, "balance=false") == "2 3"


def test_tokens_are_in_the_order_of_the_list_and_limited(api, build, settings_of):
    settings_of({"rest.response.limit.tokenBalance.multipleAccounts": 2})
    for account in (11, 12):
        build.entity(account)
        for token in (7003, 7001, 7002):
            build.holding(token, account=account, balance=token)
    for order, tokens in (("asc", [7001, 7002]), ("desc", [7003, 7002])):
        for account in api.get(f"{ACCOUNTS}?order={order}").json()["accounts"]:
            assert [token["balance"] for token in account["balance"]["tokens"]] == tokens


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "following"),
    [
        ("limit=2", "limit=2&account.id=gt:0.0.12"),
        ("limit=2&order=desc", "limit=2&order=desc&account.id=lt:0.0.14"),
        (
            "account.balance=gte:0&limit=2&account.id=gt:11",
            "account.balance=gte:0&limit=2&account.id=gt:0.0.14",
        ),
        ("account.id=lt:15&limit=1&account.id=gt:11", "account.id=lt:15&account.id=gt:0.0.12&limit=1"),
        ("account.id=12&limit=1", "account.id=12&limit=1"),
        ("account.id=gte:12&account.id=lte:12&limit=1", None),
        ("limit=6", None),
    ],
)
def test_a_full_page_links_to_the_next_one(api, query, following):
    answer = api.get(f"{ACCOUNTS}/?{query}")
    link = following and f"{ACCOUNTS}?{following}"
    assert answer.json()["links"]["next"] == link
    assert answer.headers.get("link") == (link and f'<{link}>; rel="next"')


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(
        st.builds(
            entity_id.encode, st.sampled_from([0, 1, 512]), st.sampled_from([0, 7]), st.integers(1, 2**38 - 1)
        ),
        max_size=12,
        unique=True,
    ),
    limit=st.integers(1, 5),
    order=st.sampled_from(["asc", "desc"]),
)
def test_paging_gives_every_account_once(api, build, numbers, limit, order):
    with transaction.atomic():
        for position, number in enumerate(numbers):
            build.entity(number, type=("ACCOUNT", "CONTRACT", "TOPIC")[position % 3])
        accounts = [number for position, number in enumerate(numbers) if position % 3 < 2]
        rows = api.pages(f"{ACCOUNTS}?limit={limit}&order={order}", "accounts")
        transaction.set_rollback(True)
    expected = sorted(accounts, reverse=order == "desc")
    assert [row["account"] for row in rows] == [entity_id.text(number) for number in expected]


@pytest.fixture
def of_one_key(db):
    """2,000 accounts of a key, with balances from 1."""
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into entity (id, num, realm, shard, type, balance, public_key, timestamp_range) "
            "select 1000 + n, 1000 + n, 0, 0, 'ACCOUNT'::entity_type, n, repeat('ab', 32), '[1,)'::int8range "
            "from generate_series(1, 2000) n"
        )
        cursor.execute("analyze entity")


@pytest.mark.usefixtures("of_one_key")
@pytest.mark.parametrize("path", ["accounts", "balances"])
@pytest.mark.parametrize("query", ["order=asc", "order=desc", "account.balance=gt:10&order=asc"])
def test_page_of_a_key_reads_no_more_than_it_shows(api, path, query):
    before = rows_read()
    answer = api.get(f"/api/v1/{path}?account.publickey={'ab' * 32}&{query}")
    assert len(answer.json()[path]) == 25
    assert rows_read() - before < 100


@pytest.mark.usefixtures("of_one_key")
def test_accounts_of_a_key_without_the_balance_are_read_once(api):
    before = rows_read()
    answer = api.get(f"{ACCOUNTS}?account.publickey={'ab' * 32}&account.balance=gt:1995")
    assert len(ids(answer)) == 5
    assert rows_read() - before < 2500


@pytest.mark.parametrize(("order", "first"), [("asc", 1000), ("desc", 10_000)])
def test_contracts_behind_a_full_page_of_accounts_are_not_read(api, monkeypatch, order, first):
    """Poor accounts come first in either order; then rich contracts."""
    monkeypatch.setattr("mirror.core.db.reading.scans.MAX_ROWS", 100)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into entity (id, num, realm, shard, type, balance, timestamp_range) "
            "select %s + n, %s + n, 0, 0, 'ACCOUNT'::entity_type, 1, '[1,)'::int8range "
            "from generate_series(1, 2000) n "
            "union all select 5000 + n, 5000 + n, 0, 0, 'CONTRACT', 1000, '[1,)' "
            "from generate_series(1, 2000) n",
            (first, first),
        )
        cursor.execute("analyze entity")
    before = rows_read()
    answer = api.get(f"{ACCOUNTS}?account.balance=lt:10&order={order}")
    assert len(ids(answer)) == 25
    assert rows_read() - before < 500


@pytest.mark.parametrize("path", ["accounts", "balances"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_accounts_of_a_key_are_those_of_a_plain_statement(api, path, order):
    dice = random.Random(order)
    with connection.cursor() as cursor:
        for number in dice.sample(range(1001, 3000), 400):
            cursor.execute(
                "insert into entity (id, num, realm, shard, type, balance, public_key, timestamp_range) "
                "values (%s, %s, 0, 0, %s, %s, %s, '[1,)')",
                [
                    *(number, number, dice.choice(["ACCOUNT", "ACCOUNT", "CONTRACT", "TOKEN"])),
                    *(dice.randrange(100), dice.choice("abc") * 64),
                ],
            )
        for _ in range(20):
            key, balance, number = dice.choice("abcd") * 64, dice.randrange(100), dice.randrange(1001, 3000)
            filters = dice.choice(["", f"&account.balance=gt:{balance}", f"&account.id=lt:{number}"])
            cursor.execute(
                "select id from entity where type in ('ACCOUNT', 'CONTRACT') and public_key = %s "
                "and balance > %s and id < %s",
                [key, balance if "balance" in filters else -1, number if "id" in filters else 3000],
            )
            expected = sorted((row[0] for row in cursor.fetchall()), reverse=order == "desc")
            url = f"/api/v1/{path}?account.publickey={key}&order={order}&limit=7{filters}"
            assert [row["account"] for row in api.pages(url, path)] == [f"0.0.{each}" for each in expected]
