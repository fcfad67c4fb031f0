"""One contract result: of a transaction by id or hash, and of a contract at a time."""

from typing import Any

import pytest

from tests.api import assert_answer
from tests.build import SECOND, insert
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
    found_by,
    hash_of,
    log,
    result,
    seconds,
    state_change,
    transaction,
    word,
)

URL = "/api/v1/contracts/results"
BY_HASH = f"{URL}/{digest(AT).hex()}"
BY_TIME = f"/api/v1/contracts/{CONTRACT}/results/{seconds(AT)}"
VALID_START = AT - SECOND
BY_ID = f"{URL}/0.0.{PAYER}-{VALID_START // SECOND}-{VALID_START % SECOND:09}"
EACH = pytest.mark.parametrize("url", [BY_HASH, BY_TIME, BY_ID], ids=["hash", "time", "id"])
EVM_ADDRESS = "70f2b2914a2a4b783faefb75f459a580616fcb5e"

EXPECTED = {
    "address": f"0x{EVM_ADDRESS}",
    "amount": 10,
    "bloom": "0x05",
    "call_result": "0x0606",
    "contract_id": f"0.0.{CONTRACT}",
    "created_contract_ids": ["0.0.5003"],
    "error_message": None,
    "from": address(SENDER),
    "function_parameters": "0xabcd",
    "gas_consumed": 90,
    "gas_limit": 2000,
    "gas_used": 100,
    "timestamp": seconds(AT),
    "to": address(CONTRACT),
    "hash": "0x" + digest(AT).hex(),
    "block_hash": "0x" + "ab" * 48,
    "block_number": 17,
    "logs": [
        {
            "address": f"0x{EVM_ADDRESS}",
            "bloom": "0x01",
            "contract_id": f"0.0.{CONTRACT}",
            "data": word(2),
            "index": 0,
            "topics": [word(0x97), word(0xE801), word(0)],
        },
        {
            "address": address(OTHER),
            "bloom": "0x",
            "contract_id": f"0.0.{OTHER}",
            "data": "0x",
            "index": 1,
            "topics": [],
        },
    ],
    "result": "SUCCESS",
    "transaction_index": 1,
    "state_changes": [
        {
            "address": f"0x{EVM_ADDRESS}",
            "contract_id": f"0.0.{CONTRACT}",
            "slot": word(0),
            "value_read": word(0x0101),
            "value_written": None,
        },
        {
            "address": f"0x{EVM_ADDRESS}",
            "contract_id": f"0.0.{CONTRACT}",
            "slot": word(1),
            "value_read": word(0),
            "value_written": word(2),
        },
        {
            "address": address(OTHER),
            "contract_id": f"0.0.{OTHER}",
            "slot": word(1),
            "value_read": word(1),
            "value_written": word(0),
        },
    ],
    "status": "0x1",
    "failed_initcode": "0x",
    "access_list": None,
    "block_gas_used": 777,
    "chain_id": "0x12a",
    "gas_price": "0x",
    "max_fee_per_gas": "0x4b",
    "max_priority_fee_per_gas": "0x",
    "r": "0xd6",
    "s": "0x24",
    "type": 2,
    "v": 1,
    "nonce": 5,
}


@pytest.fixture
def call(build):
    """A call that another contract took part in, with everything that belongs to it."""
    build.transaction(AT, payer=PAYER, transfers=[])
    contract(build, evm_address=bytes.fromhex(EVM_ADDRESS))
    build.block(17, end=AT, gas_used=777, hash="ab" * 48)
    transaction(involved=(CONTRACT, OTHER), created_contract_ids=[5003], gas_consumed=90)
    ethereum(call_data=b"\xab\xcd")
    log(index=1, contract_id=OTHER, bloom=b"", data=b"", topic0=None, topic1=None)
    log(topic2=b"")
    log(index=2, contract_id=7777)
    state_change(b"\1", value_read=b"", value_written=b"\2")
    state_change(b"", value_read=b"\1\1")
    state_change(b"\1", contract_id=OTHER, value_written=b"")
    state_change(b"\1", contract_id=7777)


def messages(answer):
    return answer.status, answer.messages


class TestObject:
    @EACH
    def test_it_has_everything_that_belongs_to_the_transaction(self, api, call, url):
        answer = api.get(url)
        assert_answer(answer, EXPECTED)
        assert answer.headers["cache-control"] == "public, max-age=600"

    @EACH
    def test_history_may_have_nothing_but_the_result(self, api, build, url):
        build.transaction(AT, payer=PAYER, transfers=[])
        transaction(call_result=None)
        shown = api.get(url)
        assert shown.status == 200
        nothing: dict[str, Any] = {
            "block_hash": "0x",
            "call_result": "0x",
            "logs": [],
            "state_changes": [],
            "type": 0,
        }
        assert {name: shown.json()[name] for name in nothing} == nothing
        assert shown.json()["address"] == address(CONTRACT)

    @pytest.mark.parametrize("url", [BY_HASH, BY_ID], ids=["hash", "id"])
    def test_a_transaction_that_failed_its_checks_is_found_without_participants(self, api, build, url):
        build.transaction(AT, payer=PAYER, result=10, transfers=[])
        build.block(17, end=AT)
        result(contract_id=0, transaction_result=10, transaction_index=3, gas_used=0)
        hash_of(contract_id=0, transaction_result=10)
        ethereum()
        shown = api.get(url).json()
        expected = {
            "block_number": 17,
            "gas_used": 0,
            "logs": [],
            "nonce": 5,
            "result": "INSUFFICIENT_PAYER_BALANCE",
            "state_changes": [],
            "status": "0x0",
            "transaction_index": 3,
        }
        assert {name: shown[name] for name in expected} == expected

    def test_changes_by_a_migration_are_shown_of_the_contract_alone(self, api, call):
        state_change(b"\2", migration=True)
        state_change(b"\2", contract_id=OTHER, migration=True)
        assert len(api.get(BY_HASH).json()["state_changes"]) == 3
        assert [row["slot"] for row in api.get(BY_TIME).json()["state_changes"]] == [
            *(word(0), word(1), word(2), word(1))
        ]

    def test_the_block_is_the_first_that_ends_no_earlier(self, api, build):
        transaction()
        build.block(17, end=AT - 1)
        build.block(18, end=AT + 50 * SECOND, consensus_start=AT + 1)
        build.block(19, end=AT + 60 * SECOND)
        assert api.get(BY_HASH).json()["block_number"] == 18

    @pytest.mark.parametrize(
        ("columns", "of_ethereum", "members"),
        [
            (
                {"transaction_result": 33},
                {"call_data": b"\xab"},
                {
                    "error_message": "CONTRACT_REVERT_EXECUTED",
                    "failed_initcode": "0xab",
                    "function_parameters": "0xab",
                    "result": "CONTRACT_REVERT_EXECUTED",
                    "status": "0x0",
                },
            ),
            (
                {"transaction_result": 33, "failed_initcode": b"\6", "error_message": "fatal"},
                {"call_data": b"\xab"},
                {"error_message": "fatal", "failed_initcode": "0x06"},
            ),
            ({}, {"call_data": b""}, {"function_parameters": "0x07", "failed_initcode": "0x"}),
            ({}, {"to_address": b"\xab" * 20}, {"to": "0x" + "ab" * 20}),
            ({"transaction_result": 33}, None, {"error_message": None, "failed_initcode": "0x"}),
        ],
        ids=["failed", "failed and told", "succeeded", "receiver", "no ethereum"],
    )
    def test_each_column_has_its_members(self, api, columns, of_ethereum, members):
        transaction(**columns)
        if of_ethereum is not None:
            ethereum(**of_ethereum)
        shown = api.get(BY_HASH).json()
        assert {name: shown[name] for name in members} == members

    @pytest.mark.parametrize(
        ("file_id", "parameters", "expected"),
        [(2001, b"", "0x60616263"), (2001, b"\7", "0x07"), (1000, b"", "0x"), (2002, b"", "0x")],
    )
    def test_call_data_may_lie_in_a_file(self, api, file_id, parameters, expected):
        transaction(function_parameters=parameters)
        ethereum(call_data_id=file_id)
        for owner in (1000, 2001):
            chunks(owner, (AT - 20 - owner, 17, b"`a"), (AT - 10 - owner, 16, b"bc"))
        assert api.get(BY_HASH).json()["function_parameters"] == expected

    @pytest.mark.parametrize("prefix", [b"", b"0x"])
    @pytest.mark.parametrize("later", [(19, b"ffff"), (16, b"ffff"), (17, b"ffff")], ids=str)
    def test_call_data_of_a_file_are_its_hex_at_the_time(self, api, prefix, later):
        transaction(function_parameters=b"")
        ethereum(call_data_id=2001)
        chunks(2001, (AT - 20, 17, prefix + b"6f"), (AT - 10, 16, b"Fe01\n"), (AT + 1, *later))
        for url in (BY_HASH, BY_TIME):
            assert api.get(url).json()["function_parameters"] == "0x6ffe01"

    @EACH
    def test_amounts_are_in_weibars_on_demand(self, api, call, url):
        answer = api.get(f"{url}?hbar=true&hbar=false")
        assert_answer(answer, EXPECTED | {"amount": 10 * 10**10, "max_fee_per_gas": hex(0x4B * 10**10)})
        in_words = "Invalid hbar parameter value: {}. Must be 'true' or 'false'"
        message = in_words.format(0) if url == BY_TIME else "Invalid parameter: hbar"
        assert messages(api.get(f"{url}?hbar=0")) == (400, [message])
        assert messages(api.get(f"{url}?hbar=eq:true")) == (400, [in_words.format("eq:true")])


@pytest.mark.parametrize(
    ("outcome", "gas_used", "expected"), [(10, 0, 0), (33, 0, 0), (33, None, None), (22, 0, None)]
)
def test_a_result_that_never_ran_consumed_no_gas(api, outcome, gas_used, expected):
    transaction(transaction_result=outcome, gas_used=gas_used, gas_consumed=None)
    for url in (BY_HASH, BY_TIME):
        assert api.get(url).json()["gas_consumed"] == expected


def chunks(file_id, *parts):
    for at, kind, data in parts:
        insert("file_data", entity_id=file_id, consensus_timestamp=at, file_data=data, transaction_type=kind)


class TestHash:
    @pytest.mark.parametrize("prefix", ["", "0x"])
    def test_a_hash_has_32_bytes_or_48(self, api, prefix):
        transaction()
        for text in (digest(AT).hex(), digest(AT).hex().upper(), digest(AT).hex() + "ab" * 16):
            answer = api.get(f"{URL}/{prefix}{text}")
            assert (answer.status, answer.json()["timestamp"]) == (200, seconds(AT))

    def test_of_several_transactions_the_last_successful_counts(self, api):
        for second, outcome in enumerate((22, 22, 33)):
            result(AT + second * SECOND)
            found_by(AT + second * SECOND, transaction_hash=b"\1" * 32, transaction_result=outcome)
        assert api.get(f"{URL}/{'01' * 32}").json()["timestamp"] == seconds(AT + SECOND)

    def test_a_hash_needs_no_nonce_but_a_valid_one(self, api):
        transaction()
        assert api.get(f"{BY_HASH}?nonce=3").status == 200
        assert messages(api.get(f"{BY_HASH}?nonce=-3")) == (400, ["Invalid parameter: nonce"])

    def test_an_unknown_hash_is_not_found(self, api):
        result()
        assert messages(api.get(BY_HASH)) == (404, ["Not found"])

    def test_a_transaction_without_result_is_not_found(self, api):
        found_by(AT)
        assert messages(api.get(BY_HASH)) == (404, ["Not found"])

    def test_the_result_of_an_uninvolved_contract_is_none_of_it(self, api):
        result(contract_id=OTHER)
        found_by(AT)
        assert messages(api.get(BY_HASH)) == (404, ["Not found"])


class TestId:
    @pytest.fixture
    def repeated(self, build):
        """Transactions of one id: two failed, one successful, its child, and one long after."""
        for second, outcome, nonce in ((1, 22, 0), (2, 33, 0), (3, 22, 1), (36 * 60, 22, 0)):
            at = VALID_START + second * SECOND
            build.transaction(
                at, payer=PAYER, valid_start_ns=VALID_START, nonce=nonce, result=outcome, transfers=[]
            )
            transaction(at)

    @pytest.mark.parametrize(
        ("query", "second"),
        [("", 1), ("?nonce=0", 1), ("?nonce=1", 3), ("?nonce=0&nonce=1", 3), ("?nonce=eq:1&nonce=0", 1)],
    )
    def test_the_last_nonce_counts_and_success_comes_first(self, api, repeated, query, second):
        answer = api.get(f"{BY_ID}{query}")
        assert answer.json()["timestamp"] == seconds(VALID_START + second * SECOND)

    def test_of_failed_ones_the_last_counts(self, api, build):
        for second in (1, 2):
            at = VALID_START + second * SECOND
            build.transaction(at, payer=PAYER, valid_start_ns=VALID_START, result=33, transfers=[])
            transaction(at)
        assert api.get(BY_ID).json()["timestamp"] == seconds(VALID_START + 2 * SECOND)

    @pytest.mark.parametrize(
        "path",
        [
            f"0.0.{PAYER}-{VALID_START // SECOND}-1",
            f"0.0.{PAYER + 1}-{VALID_START // SECOND}-000000000",
            f"0.0.{PAYER}-9223372036854775807-0",
            f"0.0.{PAYER}-9223372036-854775807",
        ],
    )
    def test_another_id_is_not_found(self, api, repeated, path):
        assert messages(api.get(f"{URL}/{path}")) == (404, ["Not found"])

    def test_another_nonce_is_not_found(self, api, repeated):
        assert messages(api.get(f"{BY_ID}?nonce=2")) == (404, ["Not found"])

    @pytest.mark.parametrize("nonce", ["-1", "x", "2147483648", "gt:0", "1&nonce=x", "eq:eq:1"])
    def test_a_nonce_is_a_small_number(self, api, nonce):
        assert messages(api.get(f"{BY_ID}?nonce={nonce}")) == (400, ["Invalid parameter: nonce"])

    @pytest.mark.parametrize("path", ["1", "x", "0.0.x-1-1", "ab" * 31, "0.0.5-1-1234567890", "0.0.5@1.1"])
    def test_other_texts_are_no_id(self, api, path):
        message = (
            'Invalid Transaction id. Please use "shard.realm.num-sss-nnn" format where sss are seconds and '
            "nnn are nanoseconds"
        )
        assert messages(api.get(f"{URL}/{path}")) == (400, [message])

    def test_the_parts_of_an_id_have_their_range(self, api):
        assert messages(api.get(f"{URL}/1024.0.5-1-1")) == (400, ['Invalid entity ID "1024.0.5"'])

    def test_the_query_is_checked_before_the_path(self, api):
        assert messages(api.get(f"{URL}/x?foo=1")) == (400, ["Unknown query parameter: foo"])

    def test_every_problem_is_named_in_the_order_of_the_request_an_unknown_name_once(self, api):
        answer = api.get(f"{URL}/x?foo=1&nonce=-1&bar=2&foo=3&hbar=x&nonce=eq:eq:1")
        expected = ["Unknown query parameter: foo", *["Invalid parameter: nonce"] * 2]
        expected += ["Unknown query parameter: bar", "Invalid parameter: hbar"]
        assert messages(answer) == (400, expected)


class TestTime:
    @pytest.mark.parametrize(
        "name", [str(OTHER), str(PAYER), EVM_ADDRESS, f"0x{EVM_ADDRESS}", f"{CONTRACT:040x}"]
    )
    def test_any_contract_that_took_part_will_do(self, api, call, name):
        answer = api.get(f"/api/v1/contracts/{name}/results/{seconds(AT)}")
        assert (answer.status, answer.json()["contract_id"]) == (200, f"0.0.{CONTRACT}")

    @pytest.mark.parametrize("time", ["1700001000", "1700001000.0", "1700001000.000000000"])
    def test_the_fraction_may_be_short(self, api, call, time):
        assert api.get(f"/api/v1/contracts/{CONTRACT}/results/{time}").status == 200

    @pytest.mark.parametrize(
        "path",
        [f"7777/results/{seconds(AT)}", f"{CONTRACT}/results/1", f"{CONTRACT}/results/9999999999.999999999"],
    )
    def test_others_are_not_found(self, api, call, path):
        assert messages(api.get(f"/api/v1/contracts/{path}")) == (404, ["Not found"])

    def test_a_contract_that_took_part_may_have_no_result(self, api):
        found_by(AT)
        assert messages(api.get(BY_TIME)) == (404, ["Not found"])

    def test_all_problems_of_the_path_are_named(self, api):
        expected = ["Invalid parameter: contractid", "Invalid parameter: timestamp"]
        assert messages(api.get("/api/v1/contracts/x/results/1.2.3?foo=1")) == (400, expected)
        assert messages(api.get("/api/v1/contracts/1/results/x")) == (400, expected[1:])
        assert messages(api.get("/api/v1/contracts/-1.0.1/results/1")) == (400, expected[:1])

    def test_other_parameters_are_unknown(self, api):
        expected = ["Unknown query parameter: index", "Unknown query parameter: limit"]
        assert messages(api.get(f"{BY_TIME}?index=3&limit=2&index=4&hbar=true")) == (400, expected)
        expected.append("Invalid hbar parameter value: x. Must be 'true' or 'false'")
        assert messages(api.get(f"{BY_TIME}?index=3&limit=2&hbar=x")) == (400, expected)

    def test_an_unknown_address_is_not_found(self, api):
        assert messages(api.get(f"/api/v1/contracts/{EVM_ADDRESS}/results/1")) == (404, ["Not found"])
