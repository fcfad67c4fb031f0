"""GET /api/v1/contracts/results/{transactionIdOrHash}/opcodes, as a client sees it."""

import itertools
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import StreamingHttpResponse
from django.test import RequestFactory
from django.urls import resolve

from mirror.core.rest.limits.buckets import SharedBuckets
from mirror.core.values.hapi import result_codes
from tests.api import Answer, Api, assert_answer
from tests.build import SECOND, Build, insert
from tests.web3sim.engine.world import RETURN_TOP, calling, code
from tests.web3sim.past import rows as past_rows
from tests.web3sim.past.rows import AT, CREATE, REVERTED, digest, transaction_id
from tests.web3sim.rows import ANSWERS, CALLER, ENDLESS, contract, hex_address, long_zero
from web3sim.processes import pool

URL = "/api/v1/contracts/results"
WORD_42 = f"0x{42:064x}"
IDENTITY = long_zero(4)
# Processes keep the code of a contract: each test has one of its own.
NUMBERS = itertools.count(5001)
WRONG_NONCE = 312
# What stops a call before it runs: MAX_GAS_LIMIT_EXCEEDED, INSUFFICIENT_TX_FEE, and so on.
NEVER_RAN = [
    result_codes.NUMBERS[name]
    for name in (
        *("MAX_GAS_LIMIT_EXCEEDED", "INSUFFICIENT_TX_FEE", "INSUFFICIENT_PAYER_BALANCE"),
        *("INSUFFICIENT_GAS", "CONTRACT_REVERT_EXECUTED"),
    )
]


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    pool.stop()


@pytest.fixture(autouse=True)
def _full_buckets(still: SharedBuckets) -> None:
    pass


@pytest.fixture
def client(ledger_tables: None) -> Api:
    past_rows.network(Build())
    return Api()


def get(client: Api, query: str = "", *, name: str = "", **headers: str) -> Answer:
    return client.get(f"{URL}/{name or transaction_id()}/opcodes?{query}", **headers)


def ran(runtime_code: bytes, **columns: Any) -> int:
    """Somebody called a contract with this code; returns its number."""
    to = contract(Build(), next(NUMBERS), runtime_code)
    past_rows.result(contract_id=to, **columns)
    return to


def problem(answer: Answer) -> tuple[int, str, str, str]:
    (told,) = answer.json()["_status"]["messages"]
    return answer.status, told["message"], told["detail"], told["data"]


def entry(pc: int, op: str, gas: int, cost: int, stack: list[int]) -> dict[str, object]:
    words = [f"0x{value:064x}" for value in stack]
    told = {"pc": pc, "op": op, "gas": gas, "gas_cost": cost, "depth": 0}
    return told | {"stack": words, "memory": [], "storage": {}, "reason": None}


# ANSWERS


@pytest.mark.parametrize("name", [transaction_id(), digest(AT).hex(), f"0x{digest(AT).hex().upper()}"])
def test_transaction_is_traced_by_operation(client, name):
    to = ran(ANSWERS)

    answer = get(client, name=name)

    assert_answer(
        answer,
        {
            "address": hex_address(to),
            "contract_id": f"0.0.{to}",
            "failed": False,
            "gas": 21_018,
            "opcodes": [
                entry(0, "PUSH1", 78_997, 3, [42]),
                entry(2, "PUSH1", 78_994, 3, [42, 0]),
                entry(4, "MSTORE", 78_988, 6, []),
                entry(5, "PUSH1", 78_985, 3, [32]),
                entry(7, "PUSH1", 78_982, 3, [32, 0]),
                entry(9, "RETURN", 78_982, 0, []),
            ],
            "return_value": WORD_42,
        },
    )
    assert {name: answer.headers[name] for name in ("content-type", "is-modularized", "cache-control")} == {
        "content-type": "application/json",
        "is-modularized": "true",
        "cache-control": "public, max-age=60",
    }
    assert answer.headers["access-control-allow-origin"] == "*"


def test_conditional_request_is_answered_not_modified(client):
    ran(ANSWERS)
    first = get(client)
    assert get(client, if_none_match=first.headers["etag"]).status == 304


def test_flags_choose_what_is_shown(client):
    ran(code(7, 1, "SSTORE", *RETURN_TOP[:2]))
    everything = get(client, "stack=no&memory=ON&storage=1").json()["opcodes"]
    assert {json.dumps(each["stack"]) for each in everything} == {"[]"}
    assert everything[2]["storage"] == {f"0x{1:064x}": f"0x{7:064x}"}
    nothing = get(client, "stack=false&memory=&unknown=1").json()["opcodes"]
    assert all(each["stack"] == each["memory"] == [] and each["storage"] == {} for each in nothing)
    # Of a flag that is repeated the first counts.
    assert get(client, "stack=0&stack=1").json()["opcodes"][0]["stack"] == []


def test_the_second_of_a_block_sees_what_the_first_did(client):
    to = ran(code(0, "SLOAD", "ADDRESS", "BALANCE", 1_000, "MUL", "ADD", *RETURN_TOP))
    past_rows.result(AT + 1, contract_id=to, transaction_index=1)
    insert(
        "contract_state_change",
        consensus_timestamp=AT,
        contract_id=to,
        payer_account_id=CALLER,
        slot=b"",
        value_read=b"",
        value_written=b"\5",
    )
    Build().crypto_transfer(AT, to, 7)
    assert int(get(client).json()["return_value"], 16) == 0
    assert int(get(client, name=transaction_id(AT + 1)).json()["return_value"], 16) == 7_005


def test_accounts_and_addresses_are_those_of_the_time(client):
    """The contract and its caller have changed since: its balance, and the address of the caller."""
    to = contract(
        Build(),
        next(NUMBERS),
        code("CALLER", *RETURN_TOP),
        balance=99,
        receiver_sig_required=True,
        timestamp_range=f"[{AT + SECOND},)",
    )
    Build().entity(to, table="entity_history", type="CONTRACT", until=AT + SECOND)
    later = bytes([0xAB]) * 20
    Build().entity(1003, evm_address=later, timestamp_range=f"[{AT + SECOND},)")
    Build().entity(1003, table="entity_history", until=AT + SECOND)
    past_rows.result(contract_id=to, sender_id=1003)
    assert get(client).json()["return_value"] == f"0x{1003:064x}"


def test_what_a_contract_wrote_later_does_not_count(client):
    to = ran(code(0, "SLOAD", *RETURN_TOP))
    for at, value in ((AT - 1, b"\5"), (AT, b"\6")):
        insert(
            "contract_state_change",
            consensus_timestamp=at,
            contract_id=to,
            payer_account_id=CALLER,
            slot=b"",
            value_read=b"",
            value_written=value,
        )
    assert get(client).json()["return_value"] == f"0x{5:064x}"


def test_a_failure_is_an_answer_with_its_recipient(client):
    to = ran(code(0xAA, 0, "MSTORE8", 1, 0, "REVERT"), transaction_result=REVERTED, gas_used=9)
    told = get(client).json()
    assert told["failed"] is True
    assert (told["address"], told["contract_id"]) == (hex_address(to), f"0.0.{to}")
    assert (told["return_value"], told["opcodes"][-1]["reason"]) == ("0x", "0xaa")


@pytest.mark.parametrize("function_result", [None, b"\x10\x00"])
@pytest.mark.parametrize("code_of_result", [*NEVER_RAN, WRONG_NONCE])
def test_a_transaction_that_failed_its_checks_took_no_gas(client, code_of_result, function_result):
    ran(ANSWERS, transaction_result=code_of_result, gas_used=0, function_result=function_result)
    assert get(client).json() == {
        "address": hex_address(0),
        "contract_id": None,
        "failed": True,
        "gas": 0,
        "opcodes": [],
        "return_value": "0x",
    }


def test_a_transaction_with_logs_that_no_contract_made_ran_no_code(client):
    build = Build()
    build.transaction(AT, payer=CALLER, valid_start_ns=AT - 5 * SECOND)
    insert("transaction_hash", consensus_timestamp=AT, hash=digest(AT), payer_account_id=CALLER)
    insert(
        "contract_log",
        **{"consensus_timestamp": AT, "contract_id": 7001, "payer_account_id": CALLER, "index": 0},
        **{"bloom": b"", "data": b"", "root_contract_id": 7001, "synthetic": True},
    )
    for name in (transaction_id(), digest(AT).hex()):
        assert get(client, name=name).json() == {
            "address": hex_address(7001),
            "contract_id": "0.0.7001",
            "failed": False,
            "gas": 0,
            "opcodes": [],
            "return_value": "0x",
        }


def test_creation_returns_the_new_contract(client):
    created = Build().entity(next(NUMBERS), type="CONTRACT", since=AT)
    initcode = code(len(ANSWERS), 12, 0, "CODECOPY", len(ANSWERS), 0, "RETURN").ljust(12, b"\0") + ANSWERS
    insert("contract", id=created, initcode=initcode, runtime_bytecode=ANSWERS)
    past_rows.result(type=CREATE, contract_id=created, gas_limit=500_000)
    told = get(client).json()
    assert (told["address"], told["contract_id"]) == (hex_address(created), f"0.0.{created}")
    assert told["return_value"] == f"0x{ANSWERS.hex()}"
    assert told["opcodes"][3]["op"] == "CODECOPY"


def test_a_precompiled_contract_has_an_entry_of_its_own(client):
    ran(code(*calling(IDENTITY, data=b"abc"), "STOP"), gas_limit=1_000_000)
    inside = [each for each in get(client).json()["opcodes"] if each["depth"] == 1]
    assert [(each["op"], each["gas_cost"]) for each in inside] == [("CALL", 100), ("CALL", 18)]


def test_failed_system_contract_has_the_recorded_reason(client):
    token = Build().entity(next(NUMBERS), type="TOKEN")
    Build().token(token)
    # balanceOf of nobody, by the proxy code at the token's address.
    asked = bytes.fromhex("70a08231").ljust(32, b"\0")
    at_token = (asked, 0, "MSTORE", 0, 0, 36, 0, 0, long_zero(token), 100_000, "CALL", "STOP")
    ran(code(*at_token), gas_limit=1_000_000)
    insert(
        "contract_action",
        consensus_timestamp=AT,
        index=2,
        call_depth=2,
        call_type=4,
        gas=1,
        gas_used=1,
        result_data=b"INVALID_ACCOUNT_ID",
        result_data_type=12,
        value=0,
        payer_account_id=CALLER,
    )
    _, inside = [each for each in get(client).json()["opcodes"] if each["depth"] == 2]
    assert (inside["op"], inside["stack"]) == ("DELEGATECALL", [])
    assert inside["reason"].startswith("0x08c379a0")
    assert bytes.fromhex(inside["reason"][2:]).rstrip(b"\0").endswith(b"INVALID_ACCOUNT_ID")


def test_a_receiver_that_is_gone_since_is_named_as_it_was(client):
    to = contract(Build(), next(NUMBERS), ANSWERS, deleted=True, timestamp_range=f"[{AT + SECOND},)")
    Build().entity(to, table="entity_history", type="CONTRACT", until=AT + SECOND)
    past_rows.result(contract_id=to)
    assert get(client).json()["contract_id"] == f"0.0.{to}"


# LONG ANSWERS


def test_a_long_answer_comes_in_pieces(client):
    ran(ENDLESS, gas_limit=300_000)
    answer = get(client)
    assert "content-length" not in answer.headers
    assert "etag" not in answer.headers
    assert answer.headers["is-modularized"] == "true"
    told = answer.json()
    assert (told["failed"], told["gas"]) == (True, 300_000)
    assert len(told["opcodes"]) > 60_000
    assert len(answer.body) > 5_000_000


def test_a_long_answer_is_compressed_as_it_comes(client):
    ran(ENDLESS, gas_limit=100_000)
    answer = get(client, accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
    told = json.loads(zlib.decompress(answer.body, wbits=31))
    assert len(told["opcodes"]) > 10_000
    assert len(answer.body) < 500_000


def _stream(query: str = "") -> StreamingHttpResponse:
    """The response before anything of it is read."""
    request = RequestFactory().get(f"{URL}/{transaction_id()}/opcodes?{query}")
    found = resolve(request.path_info)
    response = found.func(request, *found.args, **found.kwargs)
    assert isinstance(response, StreamingHttpResponse)
    return response


def test_a_client_that_leaves_ends_the_process_that_works_for_it(client):
    ran(ENDLESS, gas_limit=3_000_000)
    response = _stream()
    assert next(iter(response)).startswith(b'{"address"')
    response.close()
    response = _stream("stack=false")
    response.close()
    past_rows.result(AT + 1, gas_limit=30_000)
    assert get(client, name=transaction_id(AT + 1)).status == 200


def test_while_one_is_made_another_is_refused(client):
    ran(ENDLESS, gas_limit=3_000_000)
    response = _stream()
    try:
        assert problem(get(client)) == (
            503,
            "Service Unavailable",
            "Not simulated: all processes are busy with long calls",
            "",
        )
    finally:
        response.close()


def test_an_answer_that_takes_too_long_breaks_off(client, settings_of):
    # So long since it began; until then it may take as long as the processes take to start.
    settings_of({"web3.opcode.tracer.timeout": 1})
    pool.stop()
    ran(ENDLESS, gas_limit=15_000_000)
    received = b""
    with pytest.raises(pool.CallUnavailable):
        for piece in _stream():
            received += piece
    assert b"return_value" not in received
    assert get(client, name="0.0.1-1-1").status == 404


# ERRORS


@pytest.mark.parametrize("name", ["abc", "0.0.5", "0.0.5-1", "0x1234", "0.0.5@1-1", "1-2-3", "ab" * 31])
def test_other_names_are_refused(client, name):
    assert problem(get(client, name=name)) == (400, "Bad Request", f"Unsupported ID format: '{name}'", "")


def test_a_blank_name_is_none(client):
    assert problem(get(client, name="%20")) == (400, "Bad Request", "Missing transaction ID or hash", "")


@pytest.mark.parametrize("flag", ["stack", "memory", "storage"])
def test_a_flag_is_true_or_false(client, flag):
    told = problem(get(client, f"{flag}=maybe"))
    assert told == (400, "Bad Request", "Invalid boolean value 'maybe'", "")


def test_unknown_transactions_are_not_found(client):
    unknown = "5a" * 32
    assert problem(get(client, name=unknown))[2] == f"Contract transaction hash not found: 0x{unknown}"
    assert problem(get(client, name="0.0.1-1-1"))[2] == "Transaction not found: 0.0.1-1-000000001"
    assert get(client, name=f"0.0.1-{2**63 - 1}-999999999").status == 404
    Build().transaction(AT, payer=CALLER, valid_start_ns=AT - 5 * SECOND)
    assert problem(get(client)) == (404, "Not Found", f"Contract result not found: {AT}", "")


def test_without_its_block_or_code_there_is_nothing_to_run(client):
    past_rows.result(AT + 9 * SECOND)
    told = problem(get(client, name=transaction_id(AT + 9 * SECOND)))
    assert told == (404, "Not Found", f"Block not found: {AT + 9 * SECOND}", "")
    past_rows.result(type=CREATE, contract_id=0, transaction_result=REVERTED, gas_used=9)
    assert problem(get(client)) == (404, "Not Found", f"Contract code not found: {AT}", "")


def test_a_call_of_a_system_contract_is_traced(client):
    is_token = bytes.fromhex("19f37361") + bytes(32)  # isToken(address)
    ran(code(*calling(long_zero(0x167), data=is_token), "STOP"), gas_limit=2_000_000)
    answer = get(client)
    assert answer.status == 200


def test_it_shares_the_limit_of_requests(client, settings_of):
    settings_of({"web3.throttle.requestsPerSecond": 1})
    answers = [get(client, name="0.0.1-1-1") for _ in range(3)]
    assert problem(answers[-1]) == (429, "Too Many Requests", "Requests per second rate limit exceeded", "")


def test_it_may_have_a_limit_of_its_own(client, settings_of):
    refused = (429, "Too Many Requests", "Requests per second rate limit exceeded", "")
    assert [get(client, name="0.0.1-1-1").status for _ in range(5)] == [404] * 5
    settings_of({"web3.throttle.opcodeRequestsPerSecond": 1})
    answers = [get(client, name="0.0.1-1-1") for _ in range(2)]
    assert (answers[0].status, problem(answers[1])) == (404, refused)


def test_a_client_that_reads_no_compressed_answers_is_answered(client):
    ran(ANSWERS)
    for accepted in ("", "identity", "br"):
        assert get(client, accept_encoding=accepted).status == 200
    assert get(client, accept_encoding="gzip, br").status == 200


def test_switched_off_there_is_no_such_path(client, settings_of):
    settings_of({"web3.opcode.tracer.enabled": False})
    ran(ANSWERS)
    path = f"{URL}/{transaction_id()}/opcodes"
    assert problem(get(client)) == (404, "Not Found", f"No static resource {path[1:]}.", "")
    assert get(client, name="abc").status == 404
    assert client.request("POST", path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_other_methods_are_not_allowed(client, method):
    answer = client.request(method, f"{URL}/{transaction_id()}/opcodes")
    detail = f"Request method '{method}' is not supported"
    assert problem(answer) == (405, "Method Not Allowed", detail, "")
    assert (answer.headers["allow"], answer.headers["is-modularized"]) == ("GET, HEAD", "true")
