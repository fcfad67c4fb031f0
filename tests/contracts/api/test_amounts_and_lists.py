"""Amounts, prices and lists of contract results: of Ethereum transactions in weibars, and of others."""

from typing import Any

import pytest
import rlp
from psycopg.types.json import Jsonb

from contracts.models import EthereumTransaction
from mirror.core.values.hapi.messages import (
    ContractFunctionResult,
    CurrentAndNextFeeSchedule,
    ExchangeRateSet,
    ServicesConfigurationList,
)
from tests.build import SECOND, START
from tests.contracts.api.rows import (
    AT,
    CONTRACT,
    contract,
    digest,
    ethereum,
    result,
    seconds,
    transaction,
    weibars,
)
from tests.contracts.compose import ethereum_data
from tests.network.files import UNREADABLE, UPDATE, part

ALL = "/api/v1/contracts/results"
BY_HASH = f"{ALL}/{digest(AT).hex()}"
BY_TIME = f"/api/v1/contracts/{CONTRACT}/results/{seconds(AT)}"
EACH = pytest.mark.parametrize("url", [ALL, BY_HASH, BY_TIME], ids=["list", "hash", "time"])
ADDRESS, SLOT = b"\xaa" * 20, b"\xbb" * 32
ACCESS = [{"address": "0x" + "aa" * 20, "storage_keys": ["0x" + "bb" * 32]}]
PAYLOAD = "0x" + rlp.encode([ADDRESS, [SLOT]]).hex()
SIGNED = [298, ADDRESS, 5, 1, b"r" * 32, b"s" * 32]
AUTHORIZATION = {
    "address": "0x" + "aa" * 20,
    "chain_id": "0x12a",
    "nonce": 5,
    "r": "0x" + "72" * 32,
    "s": "0x" + "73" * 32,
    "y_parity": "0x1",
}
ARRAY = {"rest.response.accessList": "array"}
DELEGATION = {"rest.response.enableDelegationAddress": True}


def shown(api, url, query=""):
    answer = api.get(f"{url}?{query}")
    assert answer.status == 200, answer
    json = answer.json()
    return json["results"][0] if "results" in json else json


@EACH
@pytest.mark.parametrize(
    ("value", "tinybars", "in_weibars"),
    [
        ("2e90edd000", 20, 200_000_000_000),
        ("00", 0, 0),
        ("", 0, 0),
        ("09", 0, 9),
        ("00ffffffffffffffffff", 2**72 // 10**10, 2**72 - 1),
        ("ffffffffffffffffff", 0, 2**72 - 1),
        ("80ffffffffffffffff", -((2**71 - 2**64 + 1) // 10**10), 2**71 + 2**64 - 1),
        ("80" + "00" * 31, -(2**255 // 10**10), 2**255),
    ],
    ids=["reference", "zero", "empty", "less than a tinybar", "large", "minus one", "negative", "least"],
)
def test_the_amount_is_that_of_the_transaction(api, url, value, tinybars, in_weibars):
    transaction(amount=7)
    ethereum(value=bytes.fromhex(value))
    for query, expected in (("", tinybars), ("hbar=TRUE", tinybars), ("hbar=False", in_weibars)):
        assert shown(api, url, query)["amount"] == expected


@EACH
@pytest.mark.parametrize(
    ("price", "tinybars", "in_weibars"),
    [
        ("a54f4c3c00", "0x47", "0xa54f4c3c00"),
        ("ad78ebc5ac620000", "0x4a817c80", "0xad78ebc5ac620000"),
        ("0a", "0x0", "0xa"),
        ("00", "0x0", "0x0"),
        ("0059", "0x0", "0x059"),
        ("", "0x", "0x"),
        (None, "0x", "0x"),
    ],
)
@pytest.mark.parametrize("name", ["gas_price", "max_fee_per_gas", "max_priority_fee_per_gas"])
def test_prices_are_quantities(api, url, name, price, tinybars, in_weibars):
    transaction()
    columns: dict[str, Any] = {name: None if price is None else bytes.fromhex(price)}
    ethereum(**columns)
    assert shown(api, url)[name] == tinybars
    assert shown(api, url, "hbar=false")[name] == in_weibars


@EACH
def test_without_an_ethereum_transaction_the_amount_is_that_of_the_result(api, url):
    transaction(amount=5_000_000_000 * 10**8)
    assert shown(api, url)["amount"] == 5 * 10**17
    assert shown(api, url, "hbar=false")["amount"] == 5 * 10**27


@pytest.mark.parametrize("row", ["no row", "no value"])
def test_an_unknown_amount_is_unknown_in_weibars_too(api, row):
    transaction(amount=None)
    if row == "no value":
        ethereum(value=None)
    assert shown(api, ALL, "hbar=false")["amount"] is None


class TestRowsOfAnOlderRelease:
    """Their columns are tinybars and have no lists: the raw transaction has both."""

    @staticmethod
    def old(data, **columns):
        transaction()
        tinybars = {"value": b"\3", "gas_price": b"\x47", "max_fee_per_gas": b"", "chain_id": b"\1\x2a"}
        ethereum(data=data, in_weibars=False, **tinybars | columns)

    @EACH
    def test_the_raw_transaction_is_shown(self, api, url, settings_of):
        settings_of(ARRAY | DELEGATION)
        data = ethereum_data(
            kind=4, value=3 * 10**10 + 5, access_list=[[ADDRESS, [SLOT]]], authorization_list=[SIGNED]
        )
        self.old(data, type=4)
        for query, amount, price, tip in (
            ("", 3, "0x47", "0x7"),
            ("hbar=false", 3 * 10**10 + 5, hex(71 * 10**10), hex(7 * 10**10)),
        ):
            row = shown(api, url, query)
            assert (row["amount"], row["max_fee_per_gas"], row["max_priority_fee_per_gas"]) == (
                *(amount, price, tip),
            )
            assert (row["gas_price"], row["access_list"]) == ("0x", ACCESS)
            assert row["authorization_list"] == [AUTHORIZATION]

    @EACH
    def test_it_is_the_same_before_and_after_the_row_is_converted(self, api, url, settings_of):
        data = ethereum_data(kind=1, access_list=[[ADDRESS, [SLOT]]])
        self.old(data, type=1)
        before = [shown(api, url, query) for query in ("", "hbar=false")]
        EthereumTransaction.objects.update(
            in_weibars=True,
            value=weibars(3),
            gas_price=weibars(71).lstrip(b"\0"),
            max_fee_per_gas=None,
            access_list=ACCESS,
        )
        assert [shown(api, url, query) for query in ("", "hbar=false")] == before

    @EACH
    def test_columns_that_no_raw_transaction_explains_are_tinybars(self, api, url, settings_of):
        settings_of(ARRAY)
        self.old(b"\0\0\0\0", value=b"\0\x80", max_priority_fee_per_gas=b"\0")
        row = shown(api, url)
        assert (row["amount"], row["gas_price"], row["max_fee_per_gas"]) == (128, "0x47", "0x")
        row = shown(api, url, "hbar=false")
        assert (row["amount"], row["gas_price"]) == (128 * 10**10, hex(71 * 10**10))
        assert (row["max_priority_fee_per_gas"], row["access_list"]) == ("0x0", [])

    def test_an_empty_value_is_zero(self, api):
        self.old(b"", value=b"")
        assert shown(api, ALL)["amount"] == 0


@EACH
class TestAccessList:
    def test_it_is_hex_unless_the_setting_says_otherwise(self, api, url, settings_of):
        transaction()
        ethereum(access_list=Jsonb(ACCESS))
        assert shown(api, url)["access_list"] == PAYLOAD
        settings_of(ARRAY)
        assert shown(api, url)["access_list"] == ACCESS

    @pytest.mark.parametrize("stored", [None, []])
    def test_a_transaction_may_have_none(self, api, url, settings_of, stored):
        transaction()
        ethereum(access_list=None if stored is None else Jsonb(stored))
        assert shown(api, url)["access_list"] is None
        settings_of(ARRAY)
        assert shown(api, url)["access_list"] == []

    def test_other_results_have_none(self, api, url, settings_of):
        transaction()
        assert shown(api, url)["access_list"] is None
        settings_of(ARRAY)
        assert shown(api, url)["access_list"] == []


@EACH
def test_authorization_lists_are_shown_on_demand(api, url, settings_of):
    transaction()
    ethereum(type=4, authorization_list=Jsonb([AUTHORIZATION]))
    assert "authorization_list" not in shown(api, url)
    settings_of(DELEGATION)
    assert shown(api, url)["authorization_list"] == [AUTHORIZATION]


@EACH
def test_authorizations_of_an_adopted_database_have_the_same_members(api, url, settings_of):
    settings_of(DELEGATION)
    adopted = {"yparity" if name == "y_parity" else name: value for name, value in AUTHORIZATION.items()}
    transaction()
    ethereum(type=4, authorization_list=Jsonb([adopted]))
    assert shown(api, url)["authorization_list"] == [AUTHORIZATION]


@EACH
def test_an_ethereum_transaction_has_an_authorization_list_though_an_empty_one(api, url, settings_of):
    settings_of(DELEGATION)
    transaction()
    assert "authorization_list" not in shown(api, url)
    ethereum()
    assert shown(api, url)["authorization_list"] == []


def file(number, content, *, at=START, **columns):
    """A version of a system file, so many nanoseconds after `at` that none is at the time of another."""
    part(number, content, at=at + number, **columns)


def properties(values):
    listed = [{"name": name, "value": value} for name, value in values.items()]
    file(121, ServicesConfigurationList(nameValue=listed).SerializeToString())


HOUR = 3600
NOW = AT // SECOND // HOUR * HOUR  # the start of the results' hour


def schedule(gas, next_gas=None, *, expiry=NOW):
    """A fee schedule with the price of a contract call (in thousandths of tinycents), now and then."""
    schedules = CurrentAndNextFeeSchedule()
    for one, price in ((schedules.currentFeeSchedule, gas), (schedules.nextFeeSchedule, next_gas)):
        if price is not None:
            for functionality, factor in ((7, 5), (6, 1), (6, 3)):
                each = one.transactionFeeSchedule.add(hederaFunctionality=functionality)
                each.fees.add().servicedata.gas = price * factor
                each.fees.add().servicedata.gas = price * 7
    schedules.currentFeeSchedule.expiryTime.seconds = expiry
    return schedules.SerializeToString()


def rates(cents, hbars, next_cents=None, *, expiry=NOW):
    rate_set = ExchangeRateSet(currentRate={"centEquiv": cents, "hbarEquiv": hbars})
    rate_set.currentRate.expirationTime.seconds = expiry
    if next_cents is not None:
        rate_set.nextRate.centEquiv, rate_set.nextRate.hbarEquiv = next_cents, hbars
    return rate_set.SerializeToString()


class TestResultsOfOtherTransactions:
    @EACH
    def test_they_have_the_chain_the_type_and_the_price_of_the_network(self, api, url):
        file(111, schedule(852_000))
        file(112, rates(12, 1))
        transaction()
        nothing = dict.fromkeys(("nonce", "r", "s", "v", "max_fee_per_gas", "max_priority_fee_per_gas"))
        expected = nothing | {"chain_id": "0x128", "type": 0, "access_list": None}
        for query, price in (("", "0x47"), ("hbar=false", hex(0x47 * 10**10))):
            row = shown(api, url, query)
            assert {name: row[name] for name in (*expected, "gas_price")} == expected | {"gas_price": price}

    def test_the_chain_is_that_of_the_setting_as_text(self, api, settings_of):
        transaction()
        properties({"contracts.chainId": "298"})
        settings_of({"rest.chainId": "0x127"})
        assert shown(api, ALL)["chain_id"] == "0x127"

    @pytest.mark.parametrize(
        ("told", "chain"),
        [
            ({"contracts.chainId": "298"}, "0x12a"),
            ({"contracts.chainId": "0x12a"}, "0x128"),
            ({"fees": "1"}, "0x128"),
        ],
    )
    def test_without_the_setting_the_chain_is_that_of_the_network_or_else_296(self, api, told, chain):
        transaction()
        properties(told)
        answers = [api.get(ALL) for _ in range(2)]
        assert [answer.json()["results"][0]["chain_id"] for answer in answers] == [chain, chain]
        assert sum("file_data" in statement for statement in answers[1].statements) == 0

    @pytest.mark.parametrize(
        ("files", "price"),
        [
            ((schedule(852_000), rates(580_000, 30_000)), 44),
            ((schedule(1_999), rates(1, 1)), 1),
            ((schedule(1), rates(12, 1)), 1),
            ((schedule(2_000_000, 3_000_000), rates(1, 1)), 2000),
            ((schedule(2_000_000, 3_000_000, expiry=NOW - 1), rates(1, 1)), 3000),
            ((schedule(2_000_000), rates(1, 1, 2)), 2000),
            ((schedule(2_000_000), rates(1, 1, 2, expiry=NOW - 1)), 1000),
            ((schedule(None), rates(1, 1)), None),
            ((schedule(2_000_000), rates(0, 1)), None),
            ((schedule(2_000_000), UNREADABLE), None),
            ((UNREADABLE, rates(1, 1)), None),
        ],
        ids=[
            *("rounded down", "below two", "at least one", "current schedule", "next schedule"),
            *("current rate", "next rate", "no entry", "no cents", "no rates", "no schedule"),
        ],
    )
    def test_the_price_of_gas_is_that_of_the_hour(self, api, files, price):
        for number, content in zip((111, 112), files, strict=True):
            file(number, content)
        result()
        assert shown(api, ALL)["gas_price"] == (None if price is None else hex(price))

    def test_of_a_broken_file_the_last_readable_version_counts(self, api):
        file(111, schedule(2_000_000))
        file(112, rates(1, 1))
        file(111, UNREADABLE, at=START + SECOND, type=UPDATE)
        result()
        assert shown(api, ALL)["gas_price"] == hex(2000)

    def test_files_of_later_do_not_count(self, api):
        file(111, schedule(2_000_000))
        file(112, rates(1, 1), at=AT)
        result()
        assert shown(api, ALL)["gas_price"] is None
        result(AT + HOUR * SECOND)
        assert shown(api, ALL)["gas_price"] == hex(2000)

    def test_a_page_takes_two_statements_for_all_its_hours_and_then_none(self, api):
        file(111, schedule(2_000_000))
        for hour in range(4):
            file(112, rates(1, hour + 1), at=AT + hour * HOUR * SECOND - SECOND, type=UPDATE)
            result(AT + hour * HOUR * SECOND)
            result(AT + hour * HOUR * SECOND + SECOND)
        answers = [api.get(ALL) for _ in range(2)]
        prices = [[row["gas_price"] for row in answer.json()["results"]] for answer in answers]
        assert prices == [[hex(2000 * hbars) for hbars in (4, 4, 3, 3, 2, 2, 1, 1)]] * 2
        first, second = (sum("unnest" in each for each in answer.statements) for answer in answers)
        # And one for the chain id.
        assert (first, second) == (2 + 1, 0)

    @pytest.mark.parametrize(("seconds", "remembered"), [(3600, True), (0, False)])
    def test_a_price_is_remembered_for_the_time_of_the_setting(self, api, settings_of, seconds, remembered):
        settings_of({"rest.cache.feeSchedule.maxAge": seconds})
        file(111, schedule(2_000_000))
        file(112, rates(1, 1))
        result()
        assert shown(api, ALL)["gas_price"] == hex(2000)
        file(112, rates(1, 2), at=START + SECOND, type=UPDATE)
        assert shown(api, ALL)["gas_price"] == (hex(2000) if remembered else hex(4000))


@EACH
def test_a_sender_without_number_is_known_by_its_alias(api, url):
    sender = ContractFunctionResult(sender_id={"alias": ADDRESS}).SerializeToString()
    transaction(sender_id=None, function_result=sender)
    assert shown(api, url)["from"] == "0x" + "aa" * 20


def test_a_contract_is_shown_with_all_of_this(api, build, settings_of):
    settings_of(ARRAY | DELEGATION)
    contract(build)
    transaction()
    ethereum(type=4, access_list=Jsonb(ACCESS), authorization_list=Jsonb([AUTHORIZATION]))
    row = shown(api, BY_TIME)
    assert (row["type"], row["access_list"], row["authorization_list"]) == (4, ACCESS, [AUTHORIZATION])
