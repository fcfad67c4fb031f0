"""POST /api/v1/contracts/call, as a client sees it."""

import json
from collections.abc import Iterator

import pytest
from django.urls import resolve

from mirror.core.rest.limits.buckets import SharedBuckets
from tests.api import Answer, Api
from tests.build import Build
from tests.logs import events
from tests.waiting import PATIENCE_SECONDS
from tests.web3sim.engine.world import LONG_PRECOMPILES, RETURN_TOP, code
from tests.web3sim.rows import ANSWERS, CALLER, ENDLESS, REVERTS, contract, hex_address, network
from web3sim.api import call
from web3sim.models import ContractCallFilter
from web3sim.processes import pool

URL = "/api/v1/contracts/call"
WORD_42 = f"0x{42:064x}"


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    pool.stop()


@pytest.fixture(autouse=True)
def _fresh(still: SharedBuckets) -> None:
    """Full buckets and no filters."""
    call._filters.cache_clear()


@pytest.fixture
def client(ledger_tables: None) -> Api:
    network(Build())
    return Api()


def post(client: Api, body: object = None, **headers: str) -> Answer:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    content_type = headers.pop("content_type", "application/json")
    return client.request("POST", URL, text, content_type=content_type, **headers)


def problems(answer: Answer) -> list[tuple[str, str, str]]:
    return [(each["message"], each["detail"], each["data"]) for each in answer.json()["_status"]["messages"]]


def test_a_call_is_answered_with_its_headers(client):
    contract(Build(), 5101, ANSWERS)
    answer = post(client, {"to": hex_address(5101)})
    assert (answer.status, answer.json()) == (200, {"result": WORD_42})
    assert answer.headers == {
        "access-control-allow-origin": "*",
        "content-length": str(len(answer.body)),
        "content-type": "application/json",
        "is-modularized": "true",
        "vary": "Accept-Encoding",
    }


def test_a_block_that_is_null_is_the_latest(client):
    number = contract(Build(), 5108, code("NUMBER", *RETURN_TOP))
    for body in ({}, {"block": None}, {"block": "latest"}, {"block": "7"}):
        assert post(client, {"to": hex_address(number), **body}).json() == {"result": f"0x{7:064x}"}


def test_calls_bypass_the_response_cache(client):
    cached = Api(cached=True)
    contract(Build(), 5102, ANSWERS)
    assert [post(cached, {"to": hex_address(5102)}).status for _ in range(2)] == [200, 200]
    assert cached.get(URL).status == 405


def test_a_long_answer_is_compressed_for_those_who_like(client):
    contract(Build(), 5103, code(4000, 0, "RETURN"))
    answer = post(client, {"to": hex_address(5103)}, accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.body) < 200
    assert len(post(client, {"to": hex_address(5103)}).json()["result"]) == 8002


def test_an_estimate_is_eight_bytes(client):
    answer = post(client, {"to": hex_address(CALLER), "estimate": True})
    assert answer.status == 200
    assert len(answer.json()["result"]) == 18
    assert 21_000 <= int(answer.json()["result"], 16) < 27_000


def test_failing_call_has_code_reason_and_data(client):
    contract(Build(), 5104, REVERTS)
    answer = post(client, {"to": hex_address(5104)})
    assert (answer.status, problems(answer)) == (400, [("CONTRACT_REVERT_EXECUTED", "", "0x")])
    assert answer.headers["is-modularized"] == "true"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_other_methods_are_not_allowed(client, method):
    answer = client.request(method, URL)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    detail = f"Request method '{method}' is not supported"
    assert problems(answer) == [("Method Not Allowed", detail, "")]


def test_browsers_may_send_calls(client):
    answer = client.request("OPTIONS", URL, origin="http://example.com")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (204, "*")


@pytest.mark.parametrize(
    ("content_type", "named"),
    [
        ("text/plain", "text/plain;charset=UTF-8"),
        ("application/xml; charset=utf-8", "application/xml; charset=utf-8"),
        ("text/json", "text/json;charset=UTF-8"),
        ("", "application/octet-stream;charset=UTF-8"),
    ],
)
def test_other_kinds_of_bodies_are_not_supported(client, content_type, named):
    answer = post(client, {}, content_type=content_type)
    assert answer.status == 415
    assert problems(answer) == [("Unsupported Media Type", f"Content-Type '{named}' is not supported", "")]


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.api+json"]
)
def test_json_has_several_names(client, content_type):
    assert post(client, {"to": hex_address(CALLER)}, content_type=content_type).status == 200


def test_a_body_must_be_there_and_may_not_be_too_large(client, settings_of):
    assert problems(post(client, b"")) == [("Bad Request", "Required request body is missing", "")]
    settings_of({"rest.request.maxBodySize": 1})
    assert post(client, b" " * 1025).status == 413


def test_all_broken_rules_are_listed(client):
    answer = post(client, {"to": "x", "gas": 5})
    assert answer.status == 400
    assert problems(answer) == [
        ("Bad Request", "gas field must be greater than or equal to 21000", ""),
        ("Bad Request", "to field invalid hexadecimal string", ""),
    ]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (
            {"gas": 15_000_001, "data": "0x1", "block": "99"},
            "gas field must be less than or equal to 15000000",
        ),
        ({"gas": 2**63 - 1}, "gas field must be less than or equal to 15000000"),
        ({"data": "0x123", "block": "99"}, "Odd number of characters 3."),
        ({"block": "99"}, "Unknown block number"),
    ],
    ids=str,
)
def test_later_rules_are_reported_alone_in_order(client, body, detail):
    answer = post(client, {"to": hex_address(CALLER), **body})
    assert (answer.status, problems(answer)) == (400, [("Bad Request", detail, "")])


def test_gas_beyond_the_limit_is_refused(client, settings_of):
    call_ = {"to": hex_address(CALLER), "gas": 30_000}
    settings_of({"web3.throttle.gasPerSecond": 29_999})
    answer = post(client, call_)
    assert answer.status == 429
    assert problems(answer) == [("Too Many Requests", "Gas per second rate limit exceeded.", "")]


def test_requests_beyond_the_limit_are_refused(client, settings_of):
    call_ = {"to": hex_address(CALLER), "gas": 30_000}
    settings_of({"web3.throttle.requestsPerSecond": 1})
    answer = [post(client, call_), post(client, call_)][-1]
    assert problems(answer) == [("Too Many Requests", "Requests per second rate limit exceeded", "")]


def test_a_refused_call_takes_no_request(client, settings_of):
    settings_of({"web3.throttle.requestsPerSecond": 1, "web3.throttle.gasPerSecond": 50_000})
    call_ = {"to": hex_address(CALLER), "gas": 30_000}
    ContractCallFilter.objects.create(name="no", action="REJECT", conditions="DATA EQUALS 0x77")
    try:
        assert post(client, {**call_, "gas": 60_000}).status == 429
        assert post(client, {**call_, "data": "0x1"}).status == 400
        assert post(client, {**call_, "data": "0x77"}).status == 429
        assert post(client, call_).status == 200
    finally:
        ContractCallFilter.objects.all().delete()


def test_a_call_that_no_process_has_begun_takes_no_request_and_no_gas(client, settings_of):
    settings_of(
        {
            "web3.requestTimeout": 0,
            "web3.throttle.requestsPerSecond": 1,
            "web3.throttle.gasPerSecond": 50_000,
            "web3.throttle.gasLimitRefundPercent": 0,
        }
    )
    call_ = {"to": hex_address(CALLER), "gas": 50_000}
    assert [post(client, call_).status for _ in range(3)] == [503] * 3
    settings_of({"web3.requestTimeout": PATIENCE_SECONDS})
    assert post(client, call_).status == 200


def test_gas_that_was_not_used_is_given_back(client, settings_of):
    settings_of({"web3.throttle.gasPerSecond": 15_000_000})
    # Each takes nearly all there is, and uses a thousandth of it; the refused take nothing.
    given = {"to": hex_address(CALLER), "gas": 14_000_000}
    for _ in range(10):
        assert post(client, given).status == 200
        assert post(client, {**given, "data": "0x1"}).status == 400


def test_a_filter_of_the_admin_refuses(client):
    ContractCallFilter.objects.create(name="no", action="REJECT", conditions="GAS EQUALS 30000")
    try:
        answer = post(client, {"to": hex_address(CALLER), "gas": 30_000})
        assert (answer.status, problems(answer)) == (429, [("Too Many Requests", "Invalid request", "")])
        assert post(client, {"to": hex_address(CALLER), "gas": 30_001}).status == 200
    finally:
        ContractCallFilter.objects.all().delete()


@pytest.mark.parametrize("engine", ["MONOLITHIC", "MODULARIZED"])
def test_a_filter_chooses_the_engine(client, settings_of, engine):
    settings_of({"web3.throttle.request": json.dumps([{"action": engine}])})
    contract(Build(), 5105, ANSWERS)
    assert post(client, {"to": hex_address(5105)}).json() == {"result": WORD_42}


@pytest.mark.parametrize(
    "operations",
    [ENDLESS, *(code(*each) for each in LONG_PRECOMPILES.values())],
    ids=["a loop", *LONG_PRECOMPILES],
)
def test_a_call_that_takes_too_long_is_ended(client, settings_of, operations):
    settings_of({"web3.evm.maxGasLimit": 10**14, "web3.throttle.gasUnit": 10**14})
    pool.stop()
    contract(Build(), 5106, operations)
    # The first waits for the processes to start.
    assert post(client, {"to": hex_address(CALLER)}).status == 200
    settings_of({"web3.requestTimeout": 0.3})
    answer = post(client, {"to": hex_address(5106), "gas": 10**14})
    assert (answer.status, problems(answer)) == (
        503,
        [("Service Unavailable", "The simulation takes too long", "")],
    )
    pool.stop()


def test_silent_database_is_reported(client, settings_of):
    settings_of({"web3.db.statementTimeout": 0.001})
    pool.stop()
    try:
        found = {post(client, {"to": hex_address(number)}).status for number in range(6000, 6030)}
        assert found <= {200, 503}
    finally:
        pool.stop()


def test_unexpected_error_is_logged_and_hidden(client, settings_of, caplog):
    settings_of({"web3.throttle.request": "nonsense"})
    answer = post(client, {"to": hex_address(CALLER)})
    assert (answer.status, problems(answer)) == (500, [("Internal Server Error", "", "")])
    assert "unexpected_error" in caplog.text


def test_unexpected_failure_of_a_call_is_logged(client, settings_of, caplog, capfd):
    settings_of({"web3.evm.evmVersions": "nonsense", "web3.maxPayloadLogSize": 20})
    pool.stop()
    answer = post(client, {"to": hex_address(CALLER), "block": "7"}, x_request_id="mine")
    pool.stop()
    assert (answer.status, problems(answer)) == (500, [("Internal Server Error", "", "")])
    assert {"event": "call_failed", "request": "block=7 data=null es…"} in events(caplog)
    (line,) = [line for line in capfd.readouterr().err.splitlines() if " unexpected_error " in line]
    assert " request_id=mine " in line


def test_the_examples_of_the_description_are_requests(client):
    examples = call.ContractCall.posted.examples
    assert set(examples) == {"call", "estimate", "override", "create"}
    answers = {name: post(client, body) for name, body in examples.items()}
    assert answers["call"].json() == answers["override"].json() == {"result": "0x"}
    assert answers["create"].json() == {"result": "0x602a60005260206000f3"}
    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(examples, 200)


def test_process_caches_no_overrides(client):
    stored = contract(Build(), 5107, code(0, "SLOAD", *RETURN_TOP))
    address = hex_address(stored)
    slot = {"key": f"0x{0:064x}", "value": f"0x{9:064x}"}
    assumptions: list[dict[str, object]] = [
        {"state": [slot]},
        {"state_diff": [slot]},
        {"code": f"0x{ANSWERS.hex()}"},
    ]
    plain = {"to": address}
    for assumed in assumptions:
        told = post(client, {**plain, "state_overrides": [{"address": address, **assumed}]}).json()["result"]
        assert told in (f"0x{9:064x}", WORD_42)
        assert post(client, plain).json() == {"result": f"0x{0:064x}"}


def test_overrides_can_be_switched_off(client, settings_of):
    assumed = [{"address": hex_address(CALLER), "balance": "0x1"}]
    settings_of({"web3.enableStateOverrides": False})
    answer = post(client, {"to": hex_address(CALLER), "state_overrides": assumed})
    assert (answer.status, problems(answer)) == (
        400,
        [("Bad Request", "State overrides are not supported.", "")],
    )
    assert post(client, {"to": hex_address(CALLER), "state_overrides": []}).status == 200


def test_the_path_is_matched_exactly():
    assert resolve(URL).url_name == "contracts/call"
    assert resolve("/api/v1/contracts/call/").url_name == "contracts/{contractIdOrAddress}"
