from typing import Any

import pytest

from mirror.core.values.hapi.messages import CurrentAndNextFeeSchedule, FeeExtra, FeeSchedule
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
        # No more than an answer can say, and no less than one.
        ([(CALL, 2**63 - 1)], 1, 2**31 - 1, [("ContractCall", 2**63 - 1)]),
        ([(CALL, -(2**63))], 1, 2**31 - 1, [("ContractCall", 1)]),
        ([(CALL, 2**63 - 1)], -1, 2**31 - 1, [("ContractCall", 1)]),
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
        (f"timestamp={END}", 24),
        (f"timestamp={END}.1", 2),
        (f"timestamp={END + 1}", 2),
        (f"timestamp=lt:{END}.1", 24),
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


def test_the_last_readable_version_counts_however_many_follow(api, build):
    part(111, fee_schedule((CALL, 24_000)))
    part(112, rates(12), at=START + 1)
    for tries in range(1, 120):
        part(111, UNREADABLE, at=START + 2 * tries, type=UPDATE)
        part(112, UNREADABLE, at=START + 2 * tries + 1, type=UPDATE)
    assert listed(api.get(URL)) == [("ContractCall", 2)]
    assert api.get("/api/v1/network/exchangerate").json()["current_rate"]["cent_equivalent"] == 12


def simple_fees(gas: int | None, *types: int) -> bytes:
    schedule: Any = FeeSchedule()
    if gas is not None:
        schedule.extras.add(name=FeeExtra.Value("GAS"), fee=gas)
    schedule.extras.add(name=FeeExtra.Value("KEYS"), fee=7)
    service = schedule.services.add(name="Contract")
    for number in types:
        service.schedule.add(name=number, base_fee=5)
    return bytes(schedule.SerializeToString())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            simple_fees(852, ETHEREUM, CREATE, TRANSFER, CALL),
            [("ContractCall", 71), ("ContractCreate", 71), ("EthereumTransaction", 71)],
        ),
        (simple_fees(852, CALL), [("ContractCall", 71)]),
        (simple_fees(0, CALL), [("ContractCall", 1)]),
        (simple_fees(2**64 - 1, CALL), [("ContractCall", (2**63 - 1) // 1000 // 12)]),
        (simple_fees(None, CALL), []),
        (simple_fees(852, TRANSFER), []),
    ],
    ids=["all types", "one type", "free", "most", "no price", "no type"],
)
def test_without_the_file_111_the_price_is_that_of_the_file_113(api, build, content, expected):
    part(113, content, at=START + 1)
    part(112, rates(12), at=START + 2)
    answer = api.get(URL)
    assert listed(answer) == expected
    assert answer.json()["timestamp"] == "1700000000.000000001"


@pytest.mark.parametrize("content", [b"", UNREADABLE], ids=["empty", "unreadable"])
def test_a_file_113_without_entries_has_no_prices(api, build, content):
    part(113, content)
    part(112, rates(12), at=START + 2)
    answer = api.get(URL)
    assert (answer.status, answer.json()) == (404, problem("File 0.0.111 not found", "Not Found"))


def test_the_file_111_counts_until_it_is_retired(api, build):
    part(111, fee_schedule((CALL, 24_000)))
    part(112, rates(12), at=START + 1)
    part(113, simple_fees(852, CALL), at=START + 2)
    assert listed(api.get(URL)) == [("ContractCall", 2)]
    build.entity(111, type="FILE", deleted=True, timestamp_range=f"[{START + 5},)")
    assert listed(api.get(URL)) == [("ContractCall", 71)]
    assert listed(api.get(f"{URL}?timestamp=1700000000.000000005")) == [("ContractCall", 71)]
    assert listed(api.get(f"{URL}?timestamp=1700000000.000000004")) == [("ContractCall", 2)]


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
