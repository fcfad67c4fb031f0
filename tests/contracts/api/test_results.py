"""The two lists of contract results."""

import hashlib

import pytest

from mirror.core.values.hapi.messages import ContractFunctionResult
from tests.api import assert_answer
from tests.build import SECOND
from tests.contracts.api.rows import (
    AT,
    CONTRACT,
    OTHER,
    PAYER,
    SENDER,
    address,
    contract,
    digest,
    ethereum,
    result,
    seconds,
)

ALL = "/api/v1/contracts/results"
OF_CONTRACT = f"/api/v1/contracts/{CONTRACT}/results"
BOTH = pytest.mark.parametrize("url", [ALL, OF_CONTRACT], ids=["all", "of contract"])
EVM_ADDRESS = "70f2b2914a2a4b783faefb75f459a580616fcb5e"

BASE = {
    "address": address(CONTRACT),
    "amount": 30,
    "bloom": "0x05",
    "call_result": "0x0606",
    "contract_id": f"0.0.{CONTRACT}",
    "created_contract_ids": [],
    "error_message": None,
    "from": address(SENDER),
    "function_parameters": "0x07",
    "gas_consumed": None,
    "gas_limit": 1000,
    "gas_used": 100,
    "timestamp": seconds(AT),
    "to": address(CONTRACT),
    "hash": "0x" + digest(AT).hex(),
}
FULL = BASE | {
    "block_hash": "0x" + hashlib.sha384(b"17").hexdigest(),
    "block_number": 17,
    "result": "SUCCESS",
    "transaction_index": 1,
    "status": "0x1",
    "failed_initcode": "0x",
    "access_list": None,
    "block_gas_used": 777,
    "chain_id": "0x128",
    "gas_price": None,
    "max_fee_per_gas": None,
    "max_priority_fee_per_gas": None,
    "r": None,
    "s": None,
    "type": 0,
    "v": None,
    "nonce": None,
}
ETHEREUM = {
    "amount": 10,
    "chain_id": "0x12a",
    "gas_price": "0x",
    "max_fee_per_gas": "0x4b",
    "max_priority_fee_per_gas": "0x",
    "nonce": 5,
    "r": "0xd6",
    "s": "0x24",
    "type": 2,
    "v": 1,
}


def block(build, number=17, *, start=AT, end=AT, **columns):
    build.block(number, end=end, consensus_start=start, gas_used=777, **columns)


def times(answer):
    """When the results came, in seconds after AT."""
    assert answer.status == 200, answer
    return [_after(row) for row in answer.json()["results"]]


def _after(row):
    whole, _, nanos = row["timestamp"].partition(".")
    assert nanos == "000000000"
    return int(whole) - AT // SECOND


def only(answer):
    assert answer.status == 200, answer
    (row,) = answer.json()["results"]
    return row


def test_of_one_contract_the_base_is_shown(api, build):
    contract(build)
    result()
    answer = api.get(OF_CONTRACT)
    assert_answer(answer, {"results": [BASE], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"


def test_of_all_contracts_the_block_is_shown_too(api, build):
    contract(build)
    result()
    block(build)
    answer = api.get(ALL)
    assert_answer(answer, {"results": [FULL], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=10"


def test_of_all_contracts_the_ethereum_transaction_is_shown_too(api, build):
    result(function_parameters=b"")
    ethereum(call_data=b"\xab", to_address=bytes.fromhex(EVM_ADDRESS), call_data_id=2001)
    block(build)
    expected = FULL | ETHEREUM | {"to": f"0x{EVM_ADDRESS}", "function_parameters": "0x"}
    assert only(api.get(ALL)) == expected
    assert only(api.get(OF_CONTRACT))["amount"] == 30


def test_what_is_not_known_is_null_or_nothing(api, build):
    result(
        contract_id=0,
        amount=None,
        bloom=None,
        call_result=None,
        error_message="",
        function_parameters=b"",
        gas_used=None,
        sender_id=None,
        transaction_hash=None,
        transaction_index=None,
    )
    unknown = ("address", "amount", "contract_id", "from", "gas_used", "to", "transaction_index")
    nothing = dict.fromkeys(("bloom", "call_result", "function_parameters", "hash", "block_hash"), "0x")
    without_block = {"block_gas_used": None, "block_number": None}
    assert only(api.get(ALL)) == FULL | dict.fromkeys(unknown) | nothing | without_block


@pytest.mark.parametrize(
    ("columns", "members"),
    [
        ({"bloom": b""}, {"bloom": "0x" + "0" * 512}),
        ({"created_contract_ids": [5003, 5004]}, {"created_contract_ids": ["0.0.5003", "0.0.5004"]}),
        ({"error_message": "fatal"}, {"error_message": "fatal"}),
        ({"gas_consumed": 90}, {"gas_consumed": 90}),
        ({"failed_initcode": b"\6"}, {"failed_initcode": "0x06"}),
        ({"transaction_result": 104}, {"result": "FEE_SCHEDULE_FILE_PART_UPLOADED", "status": "0x1"}),
        ({"transaction_result": 220}, {"result": "SUCCESS_BUT_MISSING_EXPECTED_OPERATION", "status": "0x1"}),
        (
            {"transaction_result": 33},
            {"result": "CONTRACT_REVERT_EXECUTED", "status": "0x0", "error_message": None},
        ),
        ({"transaction_result": 9999}, {"result": "UNKNOWN", "status": "0x0"}),
    ],
    ids=lambda given: ",".join(given),
)
def test_each_column_has_its_members(api, columns, members):
    result(**columns)
    shown = only(api.get(ALL))
    assert {name: shown[name] for name in members} == members


@pytest.mark.parametrize(
    ("columns", "members"),
    [
        ({"type": 0, "signature_v": b"\x01\x00"}, {"type": 0, "v": 256}),
        ({"type": 0, "signature_v": b""}, {"type": 0, "v": 1}),
        ({"type": 2, "signature_v": b"\1"}, {"v": 1}),
        ({"to_address": b""}, {"to": address(CONTRACT)}),
        ({"gas_limit": 2000}, {"gas_limit": 1000}),
    ],
    ids=lambda given: ",".join(given),
)
def test_each_column_of_the_ethereum_transaction_has_its_members(api, columns, members):
    result()
    ethereum(**columns)
    shown = only(api.get(ALL))
    assert {name: shown[name] for name in members} == members


def test_the_ethereum_transaction_of_another_payer_is_none(api):
    result()
    ethereum(payer_account_id=PAYER + 1)
    assert only(api.get(ALL))["nonce"] is None


def test_a_failed_ethereum_transaction_says_why(api):
    result(transaction_result=33)
    ethereum(call_data=b"\xab")
    shown = only(api.get(ALL))
    # The list doesn't read the call data.
    expected = {"error_message": "CONTRACT_REVERT_EXECUTED", "failed_initcode": "0x", "status": "0x0"}
    assert {name: shown[name] for name in expected} == expected


@BOTH
def test_a_sender_without_number_is_known_by_its_alias(api, url):
    alias = bytes.fromhex(EVM_ADDRESS)
    recorded = ContractFunctionResult(sender_id={"alias": alias}).SerializeToString()
    result(sender_id=None, function_result=recorded)
    assert only(api.get(url))["from"] == f"0x{EVM_ADDRESS}"


@BOTH
def test_a_recorded_result_that_makes_no_sense_names_no_sender(api, url):
    result(sender_id=None, function_result=b"\xff")
    assert only(api.get(url))["from"] is None


@BOTH
def test_transactions_with_a_wrong_nonce_never_ran_and_are_left_out(api, url):
    result(AT, transaction_result=312)
    result(AT + SECOND)
    assert times(api.get(url)) == [1]


class TestBlocks:
    def test_a_result_has_the_block_that_holds_it(self, api, build):
        for second in range(4):
            result(AT + second * SECOND)
        block(build, 17, start=AT - SECOND, end=AT)
        block(build, 18, start=AT + SECOND, end=AT + 2 * SECOND)
        block(build, 19, start=AT + 4 * SECOND, end=AT + 5 * SECOND)
        shown = api.get(ALL).json()["results"]
        assert [row["block_number"] for row in shown] == [None, 18, 18, 17]
        assert [row["block_hash"] for row in shown][0] == "0x"

    def test_a_block_that_ends_long_after_the_page_is_not_shown(self, api, build):
        result()
        block(build, start=AT, end=AT + 10 * SECOND + 1)
        assert only(api.get(ALL))["block_number"] is None

    @pytest.mark.parametrize("gas", [None, -1])
    def test_the_gas_of_a_block_may_be_unknown(self, api, build, gas):
        result()
        build.block(17, end=AT, gas_used=gas)
        assert only(api.get(ALL))["block_gas_used"] is None


class TestFilters:
    @pytest.fixture
    def rows(self, build):
        contract(build, evm_address=bytes.fromhex(EVM_ADDRESS))
        build.entity(SENDER, evm_address=b"\xfb" * 20)
        for second in range(1, 7):
            result(AT + second * SECOND, sender_id=SENDER + second % 2, transaction_index=second)
        result(AT + 7 * SECOND, transaction_nonce=1)
        result(AT + 8 * SECOND, contract_id=OTHER, transaction_nonce=2)
        for number in (1, 2):
            block(build, number, start=AT + (3 * number - 2) * SECOND, end=AT + 3 * number * SECOND)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("", [6, 5, 4, 3, 2, 1]),
            ("order=asc", [1, 2, 3, 4, 5, 6]),
            ("internal=false", [6, 5, 4, 3, 2, 1]),
            ("internal=true&timestamp=lt:1700001008", [7, 6, 5, 4, 3, 2, 1]),
            (f"from={SENDER}", [6, 4, 2]),
            (f"from=0.0.{SENDER}&from={SENDER + 1}&limit=2", [6, 5]),
            (f"from={SENDER}&from={SENDER}", [6, 4, 2]),
            (f"from=ne:{SENDER}", [5, 3, 1]),
            (f"from=gt:{SENDER}", [5, 3, 1]),
            (f"from=gte:{SENDER}&from=lt:{SENDER + 1}", [6, 4, 2]),
            (f"from=lte:{SENDER}", [6, 4, 2]),
            (f"from={SENDER}&from=gt:{SENDER}", []),
            (f"from=0x{'fb' * 20}", [6, 4, 2]),
            (f"from={'FB' * 20}&from={SENDER + 1:040x}&order=asc", [1, 2, 3, 4, 5, 6]),
            ("from=9999", []),
            ("timestamp=1700001002", [2]),
            ("timestamp=eq:1700001002&timestamp=1700001005", [5, 2]),
            ("timestamp=1700001002&timestamp=gt:1700001002", []),
            ("timestamp=ne:1700001002&timestamp=ne:1700001003", [6, 5, 4, 1]),
            ("timestamp=gt:1700001004", [6, 5]),
            ("timestamp=gte:1700001004&timestamp=gte:1700001005", [6, 5]),
            ("timestamp=lt:1700001003", [2, 1]),
            ("timestamp=lte:1700001003&timestamp=lt:1700001002", [1]),
            ("timestamp=gt:1700001004&timestamp=lt:1700001004", []),
            ("timestamp=lt:9999999999", [6, 5, 4, 3, 2, 1]),
            ("timestamp=gt:9999999999", []),
            ("timestamp=9999999999", []),
            ("block.number=1", [3, 2, 1]),
            ("block.number=0x2", [6, 5, 4]),
            ("block.number=1&block.number=2", [6, 5, 4]),
            ("block.number=3", []),
            ("block.number=2&timestamp=lt:1700001006", [5, 4]),
            ("block.number=2&timestamp=lt:1700001002", []),
            ("block.number=2&transaction.index=5", [5]),
            ("block.number=2&transaction.index=4&transaction.index=eq:6&transaction.index=1", [6, 4]),
        ],
    )
    @BOTH
    def test_results_are_chosen(self, api, rows, url, query, expected):
        assert times(api.get(f"{url}?{query}")) == expected

    def test_all_contracts_include_the_others(self, api, rows):
        assert times(api.get(f"{ALL}?internal=true&limit=1")) == [8]

    @pytest.mark.parametrize("length", [64, 96])
    @pytest.mark.parametrize("prefix", ["", "0x"])
    @BOTH
    def test_a_block_is_found_by_its_hash(self, api, rows, url, length, prefix):
        start = hashlib.sha384(b"2").hexdigest()[:length]
        assert times(api.get(f"{url}?block.hash={prefix}{start}")) == [6, 5, 4]
        assert times(api.get(f"{url}?block.hash={'0' * length}&block.hash={prefix}{start}")) == [6, 5, 4]
        assert times(api.get(f"{url}?block.hash={prefix}{start.upper()}")) == []
        assert times(api.get(f"{url}?block.hash={'0' * length}")) == []

    @pytest.mark.parametrize(
        ("query", "messages"),
        [
            (
                f"block.hash={'0' * 64}&block.number=1",
                ["Invalid parameter usage: block.hash - cannot combine block.number and block.hash"],
            ),
            (
                "transaction.index=1",
                [
                    "Invalid parameter usage: transaction.index - transaction.index requires block.number or "
                    "block.hash filter to be specified"
                ],
            ),
            (
                "foo=1&limit=x&block.number=gt:1&block.hash=00&transaction.index=ne:1&order=x&internal=1",
                [
                    *("Invalid parameter: limit", "Invalid parameter: block.number"),
                    *("Invalid parameter: block.hash", "Invalid parameter: transaction.index"),
                    *("Invalid parameter: order", "Invalid parameter: internal"),
                    "Unknown query parameter: foo",
                ],
            ),
            ("timestamp=x", ["Invalid parameter: timestamp"]),
            ("from=x", ["Invalid parameter: from"]),
            (f"from=0.{EVM_ADDRESS}", ["Invalid parameter: from"]),
            ("from=-5", ["Invalid parameter: from"]),
            ("from=0.65536.1", ["Invalid parameter: from"]),
            ("from=-5&limit=0", ["Invalid parameter: limit"]),
            ("&".join(["from=1"] * 101), ["Array limit exceeded. Only 100 elements allowed in an array."]),
        ],
    )
    @BOTH
    def test_what_is_wrong_is_named(self, api, url, query, messages):
        answer = api.get(f"{url}?{query}")
        assert (answer.status, answer.messages) == (400, messages)

    @pytest.mark.parametrize("times", ["timestamp=0", "timestamp=lte:0", "timestamp=gte:0&timestamp=lt:1"])
    @BOTH
    def test_time_zero_is_an_end_like_any_other(self, api, rows, url, times):
        assert api.get(f"{url}?{times}").json()["results"] == []

    @BOTH
    def test_the_address_of_nobody_is_not_found(self, api, rows, url):
        for others in ("", "&block.number=99", "&timestamp=gt:2&timestamp=lt:1"):
            answer = api.get(f"{url}?from={SENDER}&from={'ab' * 20}{others}")
            assert (answer.status, answer.messages) == (404, ["Not found"])

    @BOTH
    @pytest.mark.parametrize("word", ["1", "", "gt:true", "ne:false", "eq:1"])
    def test_hbar_is_true_or_false(self, api, url, word):
        answer = api.get(f"{url}?hbar={word}")
        assert (answer.status, answer.messages) == (400, ["Invalid parameter: hbar"])

    def test_hbar_has_no_operator_where_there_are_amounts(self, api):
        answer = api.get(f"{ALL}?hbar=eq:True")
        message = "Invalid hbar parameter value: eq:True. Must be 'true' or 'false'"
        assert (answer.status, answer.messages) == (400, [message])
        assert api.get(f"{OF_CONTRACT}?hbar=eq:True").status == 200
        assert api.get(f"{ALL}?hbar=eq:true&limit=x").messages == ["Invalid parameter: limit"]

    @pytest.mark.parametrize(("word", "amount"), [("true", 30), ("FALSE", 30 * 10**10)])
    def test_amounts_of_one_contract_are_in_weibars_on_demand(self, api, word, amount):
        result()
        assert only(api.get(f"{OF_CONTRACT}?hbar={word}"))["amount"] == amount


class TestPaging:
    @BOTH
    def test_the_link_goes_on_after_the_last_result(self, api, url):
        for second in range(3):
            result(AT + second * SECOND)
        answer = api.get(f"{url}?limit=2&timestamp=gt:1")
        link = f"{url}?limit=2&timestamp=gt:1&timestamp=lt:{seconds(AT + SECOND)}"
        assert answer.json()["links"]["next"] == link
        answer = api.get(f"{url}?limit=2&order=asc&timestamp=gt:1")
        assert (
            answer.json()["links"]["next"] == f"{url}?limit=2&order=asc&timestamp=gt:{seconds(AT + SECOND)}"
        )
        same = f"{url}?limit=1&timestamp={seconds(AT)}"
        assert api.get(same).json()["links"]["next"] == same

    def test_a_search_may_end_with_the_configured_window(self, api, settings_of):
        settings_of({"rest.query.bindTimestampRange": True, "clock.now": 1700001100})
        settings_of({"rest.query.maxTransactionsTimestampRange": 60.0})
        for second in (10, 20, 95):
            result(AT + second * SECOND)
        answer = api.get(f"{ALL}?timestamp=gt:1700001000")
        assert times(answer) == [95]
        link = f"{ALL}?timestamp=gt:1700001000&timestamp=lt:1700001040.000000001"
        assert answer.json()["links"]["next"] == link
        assert [_after(row) for row in api.pages(f"{ALL}?timestamp=gt:1700001000", "results")] == [95, 20, 10]
        assert times(api.get(f"{ALL}?timestamp=1700001010")) == [10]


class TestPath:
    @pytest.mark.parametrize("name", [f"0.0.{CONTRACT}", f"{CONTRACT:040x}", f"0x{EVM_ADDRESS}"])
    def test_a_contract_is_found_by_every_form_of_its_name(self, api, build, name):
        contract(build, evm_address=bytes.fromhex(EVM_ADDRESS))
        result()
        answer = api.get(f"/api/v1/contracts/{name}/results")
        assert only(answer) == BASE | {"address": f"0x{EVM_ADDRESS}"}

    def test_an_unknown_contract_has_no_results(self, api):
        assert_answer(api.get(OF_CONTRACT), {"results": [], "links": {"next": None}})

    def test_the_results_of_no_contract_are_those_of_all(self, api):
        result()
        assert times(api.get("/api/v1/contracts/0.0.0/results")) == [0]

    def test_an_account_is_found_by_its_address_and_may_have_results(self, api, build):
        build.entity(1001, type="ACCOUNT", evm_address=bytes.fromhex(EVM_ADDRESS))
        result(contract_id=1001)
        assert times(api.get(f"/api/v1/contracts/0x{EVM_ADDRESS}/results")) == [0]

    @pytest.mark.parametrize("typed", [EVM_ADDRESS.upper(), f"0x{EVM_ADDRESS}", f"0.0.{EVM_ADDRESS}"])
    def test_an_unknown_address_has_no_results(self, api, build, typed):
        build.entity(1001, type="TOKEN", evm_address=bytes.fromhex(EVM_ADDRESS))
        result(contract_id=1001)
        answer = api.get(f"/api/v1/contracts/{typed}/results")
        assert_answer(answer, {"results": [], "links": {"next": None}})

    def test_the_query_is_checked_before_the_address_is_looked_up(self, api):
        answer = api.get(f"/api/v1/contracts/{EVM_ADDRESS}/results?limit=0")
        assert answer.messages == ["Invalid parameter: limit"]
        assert api.get("/api/v1/contracts/x/results?limit=0").messages == ["Invalid parameter: contractid"]
