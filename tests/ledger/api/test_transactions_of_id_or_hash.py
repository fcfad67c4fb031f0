from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from mirror.core.values import entity_id
from tests.build import SECOND, START

TRANSACTIONS = "/api/v1/transactions"
ID = f"0.0.1001-{START // SECOND}-000000001"
MINUTE = 60 * SECOND
NEITHER = (
    'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are seconds and nnn are '
    "nanoseconds"
)


def found(answer):
    """(nonce, scheduled) of the transactions found."""
    assert answer.status == 200, answer
    return [(one["nonce"], one["scheduled"]) for one in answer.json()["transactions"]]


@pytest.fixture
def of_id(build):
    """Inserts a transaction of ID; `after` is its consensus after the valid start."""

    def insert(after, **columns):
        return build.transaction(START + 1 + after, valid_start_ns=START + 1, **columns)

    return insert


def test_all_transactions_of_an_id_are_found_in_order_of_time(api, of_id, build):
    of_id(3 * SECOND, nonce=1)
    of_id(2 * SECOND)
    of_id(4 * SECOND, scheduled=True)
    build.transaction(START + 5 * SECOND, payer=1002, valid_start_ns=START + 1)
    build.transaction(START + 6 * SECOND, valid_start_ns=START)
    answer = api.get(f"{TRANSACTIONS}/{ID}")
    assert found(answer) == [(0, False), (1, False), (0, True)]
    assert list(answer.json()) == ["transactions"]
    assert answer.headers["cache-control"] == "public, max-age=600"
    assert len(answer.statements) == 1
    assert found(api.get(f"{TRANSACTIONS}/{ID[: -len('000000001')]}1")) == found(answer)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("nonce=0", [(0, False), (0, True)]),
        ("nonce=1", [(1, False)]),
        ("nonce=2&nonce=eq:1", [(1, False)]),
        ("scheduled=true", [(0, True)]),
        ("scheduled=true&scheduled=FALSE", [(0, False), (1, False)]),
        ("scheduled=false&nonce=1", [(1, False)]),
    ],
)
def test_nonce_and_scheduled_narrow_and_the_last_one_counts(api, of_id, query, expected):
    of_id(SECOND)
    of_id(2 * SECOND, nonce=1)
    of_id(3 * SECOND, scheduled=True)
    assert found(api.get(f"{TRANSACTIONS}/{ID}?{query}")) == expected
    assert api.get(f"{TRANSACTIONS}/{ID}?nonce=3").messages == ["Not found"]


@pytest.mark.parametrize(
    ("after", "status"), [(-SECOND - 1, 404), (-SECOND, 200), (35 * MINUTE, 200), (35 * MINUTE + 1, 404)]
)
def test_a_transaction_is_looked_for_near_its_valid_start(api, of_id, after, status):
    of_id(after)
    assert api.get(f"{TRANSACTIONS}/{ID}").status == status


class TestLateExecution:
    """A schedule's execution has the id of its creation, and may come 62 days later."""

    LATE = 89_285 * MINUTE - SECOND

    @pytest.mark.parametrize(
        ("query", "creation", "expected"),
        [
            ("", {"type": 42}, [(0, False), (0, True)]),
            ("", {"type": 42, "result": 104}, [(0, False), (0, True)]),
            ("", {"type": 42, "result": 10}, [(0, False)]),
            ("", {"type": 14}, [(0, False)]),
            ("?scheduled=false", {"type": 42}, [(0, False)]),
            ("?scheduled=true", {"type": 42}, [(0, True)]),
            ("?scheduled=true", {"type": 14}, [(0, True)]),
            ("?nonce=0", {"type": 42}, [(0, False), (0, True)]),
        ],
    )
    def test_it_is_found_where_it_may_be_missing(self, api, of_id, query, creation, expected):
        of_id(SECOND, **creation)
        of_id(self.LATE, scheduled=True)
        assert found(api.get(f"{TRANSACTIONS}/{ID}{query}")) == expected

    def test_it_is_not_looked_for_when_one_was_found_soon(self, api, of_id):
        of_id(SECOND, type=42)
        of_id(2 * SECOND, scheduled=True)
        of_id(self.LATE, scheduled=True, nonce=1)
        assert found(api.get(f"{TRANSACTIONS}/{ID}")) == [(0, False), (0, True)]
        assert found(api.get(f"{TRANSACTIONS}/{ID}?scheduled=true")) == [(0, True)]

    def test_later_still_is_too_late(self, api, of_id):
        of_id(SECOND, type=42)
        of_id(self.LATE + 1, scheduled=True)
        assert found(api.get(f"{TRANSACTIONS}/{ID}")) == [(0, False)]
        assert api.get(f"{TRANSACTIONS}/{ID}?scheduled=true").status == 404

    @pytest.mark.parametrize(
        ("query", "columns", "days", "max_age"),
        [
            ("", {"type": 42}, 1, 5),
            ("", {"type": 42}, 61, 5),
            ("", {"type": 42}, 63, 600),
            ("", {"type": 42, "result": 10}, 1, 600),
            ("", {"type": 14}, 1, 600),
            ("?scheduled=false", {"type": 42}, 1, 600),
        ],
    )
    def test_an_answer_that_waits_for_it_is_kept_for_a_short_time(
        self, api, of_id, settings_of, query, columns, days, max_age
    ):
        settings_of({"clock.now": float(START // SECOND + days * 86_400)})
        of_id(SECOND, **columns)
        answer = api.get(f"{TRANSACTIONS}/{ID}{query}")
        assert answer.headers["cache-control"] == f"public, max-age={max_age}"

    def test_the_answer_with_the_execution_is_kept_long(self, api, of_id, settings_of):
        settings_of({"clock.now": float(START // SECOND + 1)})
        of_id(SECOND, type=42)
        of_id(2 * SECOND, scheduled=True)
        assert api.get(f"{TRANSACTIONS}/{ID}").headers["cache-control"] == "public, max-age=600"


class TestBatch:
    def test_inner_transactions_follow_the_batch(self, api, of_id, build):
        of_id(10 * SECOND, type=74, inner_transactions=[1002, START + 5, 1001, START + 7])
        build.transaction(START + 11 * SECOND, payer=1002, valid_start_ns=START + 5, nonce=8)
        build.transaction(START + 9 * SECOND, payer=1001, valid_start_ns=START + 7, nonce=9)
        build.transaction(START + 9 * SECOND + 1, payer=1002, valid_start_ns=START + 7)
        answer = api.get(f"{TRANSACTIONS}/{ID}")
        assert found(answer) == [(0, False), (9, False), (8, False)]
        assert len(answer.statements) == 2
        assert found(api.get(f"{TRANSACTIONS}/{ID}?nonce=0")) == [(0, False)]
        assert api.get(f"{TRANSACTIONS}/{ID}?nonce=8").status == 404
        assert found(api.get(f"{TRANSACTIONS}/0.0.1002-{START // SECOND}-5")) == [(8, False)]

    def test_inner_transactions_far_away_in_time_are_others(self, api, of_id, build):
        of_id(10 * SECOND, type=74, inner_transactions=[1002, START + 5])
        build.transaction(START + 36 * MINUTE, payer=1002, valid_start_ns=START + 5, nonce=8)
        assert found(api.get(f"{TRANSACTIONS}/{ID}")) == [(0, False)]


def test_assessed_custom_fees_are_shown_where_there_are_any(api, of_id, build):
    at = of_id(SECOND)
    build.assessed_custom_fee(at, 8902, 13, token_id=10_015, effective_payer_account_ids=[7, 8])
    build.assessed_custom_fee(at, 8901, 17)
    build.assessed_custom_fee(at, 8901, 11)
    build.assessed_custom_fee(at + 1, 8901, 9)
    (one,) = api.get(f"{TRANSACTIONS}/{ID}").json()["transactions"]
    assert next(iter(one)) == "assessed_custom_fees"
    assert one["assessed_custom_fees"] == [
        {
            "amount": 11,
            "collector_account_id": "0.0.8901",
            "effective_payer_account_ids": [],
            "token_id": None,
        },
        {
            "amount": 17,
            "collector_account_id": "0.0.8901",
            "effective_payer_account_ids": [],
            "token_id": None,
        },
        {
            "amount": 13,
            "collector_account_id": "0.0.8902",
            "effective_payer_account_ids": ["0.0.7", "0.0.8"],
            "token_id": "0.0.10015",
        },
    ]
    (listed,) = api.get(TRANSACTIONS).json()["transactions"]
    assert "assessed_custom_fees" not in listed


# A hash whose base64 has both of the characters that need care in a path.
DIGEST = bytes.fromhex("fbefbe") + bytes.fromhex("ffffff") + bytes(range(42))


@pytest.mark.parametrize(
    "text",
    [
        DIGEST.hex(),
        "0x" + DIGEST.hex(),
        "0x" + DIGEST.hex().upper(),
        urlsafe_b64encode(DIGEST).decode(),
        b64encode(DIGEST).decode(),
        quote(b64encode(DIGEST).decode(), safe=""),
    ],
)
def test_a_transaction_is_found_by_its_hash(api, build, text):
    at = build.transaction(transaction_hash=DIGEST, nonce=4)
    build.transaction_hash(at, DIGEST)
    answer = api.get(f"{TRANSACTIONS}/{text}")
    assert found(answer) == [(4, False)]
    assert answer.headers["cache-control"] == "public, max-age=600"
    assert len(answer.statements) == 1


def test_a_hash_has_all_its_transactions_of_the_first_ones_payer(api, build):
    for at, payer in ((START + 3, 1001), (START + 1, 1001), (START + 2, 1002)):
        build.transaction(at, payer=payer, nonce=at - START)
        build.transaction_hash(at, DIGEST, payer=payer)
    build.transaction(START + 4, nonce=4)
    build.transaction_hash(START + 4, DIGEST[:47] + b"\x00")
    assert found(api.get(f"{TRANSACTIONS}/{DIGEST.hex()}")) == [(1, False), (3, False)]


def test_a_hash_without_payer_is_followed_by_time_alone(api, build):
    at = build.transaction(payer=1005)
    build.transaction_hash(at, DIGEST, payer=None)
    assert found(api.get(f"{TRANSACTIONS}/{DIGEST.hex()}")) == [(0, False)]


def test_nonce_and_scheduled_narrow_what_a_hash_finds(api, build):
    at = build.transaction(nonce=1, type=42)
    build.transaction_hash(at, DIGEST)
    url = f"{TRANSACTIONS}/{DIGEST.hex()}"
    assert found(api.get(f"{url}?nonce=1&scheduled=false")) == [(1, False)]
    assert api.get(f"{url}?nonce=0").messages == ["Not found"]
    assert api.get(f"{url}?scheduled=true").status == 404
    # By hash the answer is complete, whatever the transaction is.
    assert api.get(url).headers["cache-control"] == "public, max-age=600"


@pytest.mark.parametrize(
    "text",
    [
        DIGEST.hex(),
        DIGEST[:32].hex(),
        "A" * 64,
        ID,
        "0.0.1001-9223372037-0",
        "0.0.1001-9223372036854775807-999999999",
    ],
)
def test_what_is_not_there_is_not_found(api, text):
    answer = api.get(f"{TRANSACTIONS}/{text}")
    assert (answer.status, answer.messages) == (404, ["Not found"])


@pytest.mark.parametrize(
    "text",
    [
        "5-1-1",
        "0.1.10-1234567891.000000000",
        "0.0.5@1.1",
        "0.0.5-1-1-1",
        "0.0.5-1-1234567890",
        "0.0.5-12345678901234567890-1",
        "0.0.5-9223372036854775808-1",
        "0.0.5--1-1",
        "x",
        "%zz",
        "%00",
        "izUDXqZ8gOhKlL5vbFInnw2VObTXzNWEH2QOg7XOUQwl9Mp2SVil8lufZIU6xJEEk===",
        "ab" * 47,
        "0X" + "ab" * 48,
        "0.0.5-1-1%0A",
    ],
)
def test_what_is_neither_id_nor_hash_is_invalid(api, text):
    answer = api.get(f"{TRANSACTIONS}/{text}")
    assert (answer.status, answer.messages) == (400, [NEITHER])


@pytest.mark.parametrize("payer", ["1024.0.5", "0.65536.5", "0.0.274877906944", "0.0." + "9" * 5000])
def test_a_payer_out_of_range_is_named(api, payer):
    answer = api.get(f"{TRANSACTIONS}/{payer}-1-1")
    assert (answer.status, answer.messages) == (400, [f'Invalid entity ID "{payer}"'])


def test_a_payer_of_another_shard_is_found(api, build):
    payer = entity_id.encode(600, 1, 2)
    build.transaction(START + SECOND, payer=payer, valid_start_ns=START)
    assert found(api.get(f"{TRANSACTIONS}/600.1.2-{START // SECOND}-0")) == [(0, False)]


def test_problems_of_the_query_come_before_those_of_the_path(api):
    query = "scheduled=ne:true&scheduled=1&scheduled=&nonce=-1&nonce=2147483648&nonce=x&nonce=lt:10&foo=1"
    answer = api.get(f"{TRANSACTIONS}/x?{query}")
    assert answer.status == 400
    assert answer.messages == [
        *["Invalid parameter: scheduled"] * 3,
        *["Invalid parameter: nonce"] * 4,
        "Unknown query parameter: foo",
    ]
