import pytest

from mirror.values.hapi import CurrentAndNextFeeSchedule, SignedTransaction, Transaction
from tests.api import assert_answer
from tests.build import START
from tests.network.files import UNREADABLE, UPDATE, fee_schedule, part, rates

URL = "/api/v1/network/fees"
CALL, CREATE, ETHEREUM, TRANSFER = 6, 7, 84, 1


def problem(detail, message="Bad Request"):
    return {"_status": {"messages": [{"detail": detail, "message": message}]}}


def listed(answer):
    assert answer.status == 200, answer
    return [(fee["transaction_type"], fee["gas"]) for fee in answer.json()["fees"]]


def test_the_fees_are_those_of_gas_in_order_of_their_names(api, build):
    schedule = fee_schedule((ETHEREUM, 953_000), (CREATE, 1_068_000), (TRANSFER, 5_000), (CALL, 852_000))
    part(111, schedule, at=START + 1)
    part(112, rates(12), at=START + 2)
    answer = api.get(URL)
    fees = [
        {"gas": 71, "transaction_type": "ContractCall"},
        {"gas": 89, "transaction_type": "ContractCreate"},
        {"gas": 79, "transaction_type": "EthereumTransaction"},
    ]
    assert_answer(answer, {"fees": fees, "timestamp": "1700000000.000000001"})
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert len(answer.statements) == 2
    assert api.get(f"{URL}?order=DESC&order=asc&foo=1").json()["fees"] == fees[::-1]


@pytest.mark.parametrize(
    ("schedule", "cents", "hbars", "expected"),
    [
        ([(CALL, 852_000)], 450_000, 30_000, [("ContractCall", 56)]),
        ([(CALL, 11_999)], 12, 1, [("ContractCall", 1)]),
        ([(CALL, 0)], 12, 1, [("ContractCall", 1)]),
        ([(CALL, 24_000)], -12, 1, [("ContractCall", 1)]),
        ([(CALL, 2**62)], 1000, 1, [("ContractCall", 2**62 // 1_000_000)]),
        # Less than a tinycent is nothing before the tinycents become tinybars.
        ([(CALL, 12_999)], 1, 1, [("ContractCall", 12)]),
        ([(CALL, 999)], 1, 1000, [("ContractCall", 1)]),
        ([(CALL, 24_000)], 0, 1, []),
        ([(CALL, None), (TRANSFER, 5)], 12, 1, []),
        ([], 12, 1, []),
    ],
)
def test_a_price_is_in_whole_tinybars_and_at_least_one(api, build, schedule, cents, hbars, expected):
    part(111, fee_schedule(*schedule))
    part(112, rates(cents, hbars), at=START + 1)
    assert listed(api.get(URL)) == expected


def test_a_kind_listed_twice_stays_in_the_order_of_the_file(api, build):
    part(111, fee_schedule((CALL, 24_000), (ETHEREUM, 12_000), (CALL, 36_000)))
    part(112, rates(12), at=START + 1)
    twice = [("ContractCall", 2), ("ContractCall", 3)]
    assert listed(api.get(URL)) == [*twice, ("EthereumTransaction", 1)]
    assert listed(api.get(f"{URL}?order=desc")) == [("EthereumTransaction", 1), *twice]


def test_files_without_a_current_part_have_no_fees(api, build):
    part(111, b"")
    part(112, b"", at=START + 1)
    assert_answer(api.get(URL), {"fees": [], "timestamp": "1700000000.000000000"})


END = 1_700_003_600  # of the current schedule and the current rate in these files


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 24),
        (f"timestamp={END}.999999999", 24),
        (f"timestamp={END + 1}", 2),
        (f"timestamp=lt:{END + 1}", 24),
        (f"timestamp=gt:1&timestamp=lte:{END + 1}", 2),
        ("timestamp=gte:1", 24),
    ],
)
def test_what_follows_counts_once_the_current_schedule_and_rate_have_expired(api, build, query, expected):
    schedules = CurrentAndNextFeeSchedule()
    for each, price in ((schedules.currentFeeSchedule, 24_000), (schedules.nextFeeSchedule, 4_000)):
        each.transactionFeeSchedule.add(hederaFunctionality=CALL).fees.add().servicedata.gas = price
    schedules.currentFeeSchedule.expiryTime.seconds = END
    part(111, schedules.SerializeToString())
    part(112, rates(1, expires=END), at=START + 1)
    assert listed(api.get(f"{URL}?{query}")) == [("ContractCall", expected)]


@pytest.mark.parametrize(
    ("schedule_expires", "rate_expires", "expected"), [(END, 0, 12), (0, END, 1), (0, 0, 1)]
)
def test_schedule_and_rate_expire_each_at_its_own_time(api, build, schedule_expires, rate_expires, expected):
    part(111, fee_schedule((CALL, 24_000), expires=schedule_expires))
    part(112, rates(1, expires=rate_expires), at=START + 1)
    assert listed(api.get(URL)) == [("ContractCall", expected)]


def test_a_file_that_cannot_be_read_is_tried_twelve_times_back(api, build):
    part(111, fee_schedule((CALL, 24_000)))
    part(112, rates(12), at=START + 100)
    for tries in range(1, 13):
        assert listed(api.get(URL)) == [("ContractCall", 2)]
        part(111, UNREADABLE, at=START + tries, type=UPDATE)
    answer = api.get(URL)
    assert (answer.status, answer.json()) == (404, problem("File 0.0.111 not found", "Not Found"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 3),
        ("timestamp=1700000000.21", 2),
        ("timestamp=1700000000.20", 2),
        ("timestamp=lt:1700000000.30", 2),
        ("timestamp=gt:1700000000.0,lt:1700000000.20", 1),
        ("timestamp=gte:1700000000.21", 3),
        ("timestamp=1700000000.9", "File 0.0.111 not found"),
        ("timestamp=1700000000.10", "File 0.0.112 not found"),
        ("timestamp=gt:1700000000.40", "File 0.0.111 not found"),
    ],
)
def test_a_time_chooses_both_files(api, build, query, expected):
    for number in (1, 2, 3):
        part(111, fee_schedule((CALL, 12_000 * number)), at=START + 10 * number, type=UPDATE)
        part(112, rates(12), at=START + 10 * number + 1, type=UPDATE)
    answer = api.get(f"{URL}?{query}")
    if isinstance(expected, str):
        assert (answer.status, answer.json()) == (404, problem(expected, "Not Found"))
    else:
        assert listed(answer) == [("ContractCall", expected)]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("timestamp=x&order=x", "Failed to convert 'timestamp'"),
        ("order=up&timestamp=1,2,3", "Failed to convert 'order'"),
        ("order=eq:asc", "Failed to convert 'order'"),
        ("timestamp=1,2,3", "timestamp size must be between 0 and 2"),
    ],
)
def test_problems_are_told(api, query, detail):
    answer = api.get(f"{URL}?{query}")
    assert (answer.status, answer.json()) == (400, problem(detail))


# Estimates

SIGNED = SignedTransaction(bodyBytes=b"body").SerializeToString()
TRANSACTION = Transaction(signedTransactionBytes=SIGNED).SerializeToString()
PROTOBUF = "application/protobuf"

PART = {
    "base": 100000,
    "extras": [
        {
            "charged": 1,
            "count": 2,
            "fee_per_unit": 10000,
            "included": 1,
            "name": "Test data",
            "subtotal": 10000,
        }
    ],
}


@pytest.mark.parametrize(
    ("query", "content_type", "body"),
    [
        ("", PROTOBUF, TRANSACTION),
        ("", "application/x-protobuf", TRANSACTION),
        ("", "Application/Protobuf; charset=utf-8", TRANSACTION),
        ("?mode=&foo=1", PROTOBUF, TRANSACTION),
        ("?mode=State&mode=x", PROTOBUF, TRANSACTION),
        ("?mode=INTRINSIC", PROTOBUF, TRANSACTION),
        ("", PROTOBUF, Transaction(bodyBytes=b"of the old form").SerializeToString()),
        ("", PROTOBUF, TRANSACTION + bytes.fromhex("f23f0101")),
    ],
)
def test_an_estimate_is_always_the_same(api, build, query, content_type, body):
    answer = api.request("POST", URL + query, body, content_type=content_type)
    expected = {
        "network": {"multiplier": 2, "subtotal": 220000},
        "node": PART,
        "notes": ["This API is not yet implemented and only returns stubbed test data"],
        "service": PART,
        "total": 440000,
    }
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert answer.statements == []


@pytest.mark.parametrize(
    ("query", "content_type", "body", "status", "detail"),
    [
        ("?mode=x", "application/json", b"", 415, "Content-Type 'application/json' is not supported"),
        ("", "", TRANSACTION, 415, "Content-Type 'application/octet-stream' is not supported"),
        ("", ";", TRANSACTION, 415, "Content-Type ';' is not supported"),
        ("?mode=x", PROTOBUF, b"", 400, "Failed to read request"),
        ("", PROTOBUF, UNREADABLE, 400, "Failed to read request"),
        ("", PROTOBUF, b"\xff" * 11, 400, "Failed to read request"),
        ("", PROTOBUF, b"\x2b" * 500, 400, "Failed to read request"),
        ("?mode=x", PROTOBUF, b"\x2a\x04" + UNREADABLE, 400, "Failed to convert 'mode'"),
        ("?mode=eq:state", PROTOBUF, TRANSACTION, 400, "Failed to convert 'mode'"),
        ("", PROTOBUF, b"\x2a\x04" + UNREADABLE, 400, "Unable to parse SignedTransaction"),
    ],
)
def test_a_transaction_that_cannot_be_read_is_refused(api, build, query, content_type, body, status, detail):
    answer = api.request("POST", URL + query, body, content_type=content_type)
    reason = {400: "Bad Request", 415: "Unsupported Media Type"}[status]
    assert (answer.status, answer.json()) == (status, problem(detail, reason))


def test_a_transaction_larger_than_allowed_is_refused(api, build, settings_of):
    settings_of({"rest.request.maxBodySize": 1})
    fits = Transaction(bodyBytes=b"x" * 1021).SerializeToString()
    assert len(fits) == 1024
    assert api.request("POST", URL, fits, content_type=PROTOBUF).status == 200
    answer = api.request("POST", URL, fits + b"\0", content_type=PROTOBUF)
    detail = "The request body is too large: at most 1024 bytes are taken"
    assert (answer.status, answer.json()) == (413, problem(detail, "Request Entity Too Large"))


def test_an_estimate_is_never_unchanged(api, build):
    answer = api.request("POST", URL, TRANSACTION, content_type=PROTOBUF, if_none_match="*")
    assert answer.status == 200
    assert "etag" not in answer.headers
    assert answer.headers["access-control-allow-origin"] == "*"


def test_other_methods_are_not_supported(api, build):
    answer = api.request("PUT", URL)
    detail = "Request method 'PUT' is not supported"
    assert (answer.status, answer.json()) == (405, problem(detail, "Method Not Allowed"))
    assert answer.headers["allow"] == "GET, POST, HEAD"
