"""Schedules that a call executes, as they have all signatures."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eth_abi.abi import encode

from mirror.core.values.hapi.messages import Key, SchedulableTransactionBody, SignatureMap
from tests.web3sim.engine.world import code
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import BLOCK, CODES, Calls, run, words
from tests.web3sim.system_contracts.schedules import (
    ADMIN,
    BY_CONTRACT,
    CALL,
    CONTRACT,
    NATIVE,
    NOBODY,
    ON_SIGNATURE,
    PERSON,
    SIGN,
    calls,
    creation,
    ledger,
    made,
    parse_body,
    public,
)
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from web3sim.engine import registry
from web3sim.engine.interface import CallRequest, ScheduledCall
from web3sim.state.proxy_code import SCHEDULE_SERVICE, TOKEN_SERVICE
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

__all__ = ["calls", "ledger"]


CALLED, SCRIPT, SIGNER = 5001, 5002, 1003
#: Answers how often it was called before.
COUNTS = code(0, "SLOAD", 0, "MSTORE", 1, 0, "SLOAD", "ADD", 0, "SSTORE", 32, 0, "RETURN")
SCHEDULED = SchedulableTransactionBody(contractCall={"contractID": {"contractNum": CALLED}, "gas": 100_000})


def encoded(signature: str, *arguments: Any) -> bytes:
    return selector_of(signature) + encode(parameters_of(signature), arguments)


def scheduling(payer: int = SCRIPT, *, to: int = CALLED, gas: int = 100_000) -> bytes:
    return encoded(ON_SIGNATURE, long_zero(to), long_zero(payer), 100, gas, 0, b"")


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
@pytest.mark.parametrize(
    ("called", "data", "runs"),
    [
        (COUNTS, scheduling(), 1),
        # The code of the schedule's creation is the same whatever comes of the call.
        (code(1, 0, "SSTORE", 0, 0, "REVERT"), scheduling(), 0),
        (COUNTS, scheduling(gas=21_000), 0),
        (COUNTS, scheduling(gas=15_000_001), 0),
        (COUNTS, scheduling(payer=PERSON), 0),
        (COUNTS, encoded(CALL, long_zero(CALLED), 100, 100_000, 0, b""), 0),
    ],
    ids=["runs", "reverts", "out of gas", "too much gas", "payer has not signed", "waits"],
)
def test_a_call_that_needs_no_other_signature_runs_at_once(ledger, engine, called, data, runs):
    contract(ledger, CALLED, called)
    steps = (Step(SCHEDULE_SERVICE, data), Step(long_zero(CALLED), b""))
    contract(ledger, SCRIPT, script(*steps))
    state = current()
    request = CallRequest(long_zero(PERSON), long_zero(SCRIPT), b"", 10_000_000)
    result = registry.engine(engine).execute(request, BLOCK, state, NetworkContracts(state))
    made, counted = outcomes(result)
    assert made == (True, words(CODES["SUCCESS"], state.next_contract_address()))
    assert counted == ((True, words(runs)) if called == COUNTS else (False, b""))
    assert result.execution_gas < 2_000_000


def test_what_a_scheduled_call_did_is_undone_with_its_frame(ledger):
    contract(ledger, CALLED, COUNTS)
    contract(ledger, 5003, script(Step(SCHEDULE_SERVICE, scheduling(payer=5003)), reverts=True))
    contract(ledger, SCRIPT, script(Step(long_zero(5003), b"", gas=3_000_000), Step(long_zero(CALLED), b"")))
    result = run(current(), long_zero(SCRIPT), b"", gas=10_000_000)
    assert outcomes(result)[1] == (True, words(0))


def test_a_scheduled_call_runs_no_other_one(ledger):
    contract(ledger, SCRIPT, script(Step(SCHEDULE_SERVICE, scheduling(to=SCRIPT, gas=10_000_000))))
    result = run(current(), long_zero(SCRIPT), b"", gas=10_000_000)
    assert outcomes(result)[0].succeeded


def test_what_was_executed_is_not_signed_or_deleted(ledger):
    contract(ledger, CALLED, COUNTS)
    contract(ledger, SCRIPT, b"\0")
    calls = Calls(SCHEDULE_SERVICE, sender=SCRIPT)
    answer = calls(ON_SIGNATURE, long_zero(CALLED), long_zero(SCRIPT), 100, 100_000, 0, b"data")
    call = ScheduledCall(long_zero(SCRIPT), long_zero(CALLED), 0, b"data", 100_000)
    assert answer.scheduled == call
    for signature in ("authorizeSchedule(address)", "deleteSchedule(address)"):
        assert calls.code(signature, answer.output[-20:]) == "SCHEDULE_ALREADY_EXECUTED"


@pytest.mark.parametrize(
    ("changes", "executed"),
    [
        ({}, True),
        ({"treasury": long_zero(PERSON)}, False),
        ({"keys": [(1, (False, NOBODY, bytes(32), b"", NOBODY))]}, False),
    ],
    ids=["its own", "another treasury", "another admin key"],
)
def test_a_contract_creates_its_own_token_at_once(calls, changes, executed):
    own = {"treasury": long_zero(CONTRACT), "expiry": (0, long_zero(CONTRACT), 7_776_000)} | changes
    schedule = made(calls, NATIVE, TOKEN_SERVICE, creation(**own), long_zero(CONTRACT))
    token = calls.overlay.token(schedule.id + 1)
    assert (token is not None, schedule.executed_timestamp is not None) == (executed, executed)


def stored(ledger: Any, body: Any = SCHEDULED, **columns: Any) -> Ed25519PrivateKey:
    """A schedule that its payer has to sign."""
    key = Ed25519PrivateKey.generate()
    ledger.entity(SIGNER, key=Key(ed25519=public(key)).SerializeToString())
    ledger.entity(4005, type="SCHEDULE", key=ADMIN)
    ledger.schedule(4005, transaction_body=body.SerializeToString(), **{"payer": SIGNER} | columns)
    return key


def signed(key: Ed25519PrivateKey) -> bytes:
    pair = {"pubKeyPrefix": public(key), "ed25519": key.sign(parse_body(4005))}
    return bytes(SignatureMap(sigPair=[pair]).SerializeToString())


@pytest.mark.parametrize(
    ("columns", "executed"), [({}, True), ({"wait_for_expiry": True}, False)], ids=["at once", "later"]
)
def test_the_last_signature_executes_a_schedule(ledger, columns, executed):
    signatures = signed(stored(ledger, **columns))
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    assert calls("authorizeSchedule(address)", long_zero(4005)).scheduled is None
    answer = calls(SIGN, long_zero(4005), signatures)
    assert (answer.child, answer.scheduled is not None) == ("SUCCESS", executed)
    again = "SCHEDULE_ALREADY_EXECUTED" if executed else "NO_NEW_VALID_SIGNATURES"
    assert calls.code(SIGN, long_zero(4005), signatures) == again


def test_a_deleted_schedule_is_not_signed(ledger):
    signatures = signed(stored(ledger))
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    assert calls.code("deleteSchedule(address)", long_zero(4005)) == "SUCCESS"
    assert calls.code(SIGN, long_zero(4005), signatures) == "SCHEDULE_ALREADY_DELETED"


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        (SCHEDULED, {"payer": 999_999}),
        (SchedulableTransactionBody(tokenCreation={"treasury": {"accountNum": 999_999}}), {}),
        (SchedulableTransactionBody(tokenCreation={"treasury": {"shardNum": 2**62, "accountNum": -1}}), {}),
        (SchedulableTransactionBody(tokenUpdate={"token": {"tokenNum": 999_999}}), {}),
    ],
    ids=["payer", "treasury", "impossible treasury", "token"],
)
def test_missing_signer_is_unresolvable(ledger, body, columns):
    signatures = signed(stored(ledger, body, **columns))
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    assert calls.code(SIGN, long_zero(4005), signatures) == "UNRESOLVABLE_REQUIRED_SIGNERS"


def test_a_schedule_changes_a_token_once_its_keys_have_signed(ledger):
    body = SchedulableTransactionBody(tokenUpdate={"token": {"tokenNum": 3003}, "name": "New"})
    key = stored(ledger, body)
    admin = Key(keyList={"keys": [Key(ed25519=public(key)), Key.FromString(BY_CONTRACT)]})
    ledger.entity(3003, type="TOKEN", key=admin.SerializeToString())
    ledger.token(3003)
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    assert calls.code(SIGN, long_zero(4005), signed(key)) == "SUCCESS"
    assert calls.token(3003).name != "New"
    assert calls.code("authorizeSchedule(address)", long_zero(4005)) == "SUCCESS"
    assert calls.token(3003).name == "New"


UPDATE = {"token": {"tokenNum": 3003}}
OTHER = Key(ed25519=bytes(range(1, 33)))


@pytest.mark.parametrize(
    ("update", "keys", "executed"),
    [
        ({"expiry": {"seconds": 10_000}}, {}, True),
        ({"metadata_key": OTHER}, {"metadata_key": "ours"}, False),
        ({"metadata_key": OTHER}, {"metadata_key": "other"}, False),
        ({"metadata_key": OTHER}, {"admin_key": "ours", "metadata_key": "other"}, True),
        ({"name": "New", "metadata_key": OTHER}, {"admin_key": "ours", "metadata_key": "other"}, True),
    ],
    ids=["expiry", "by the old key alone", "by no key", "by the admin key", "name and key"],
)
def test_scheduled_update_needs_the_admin_key_or_those_it_changes(ledger, update, keys, executed):
    key = stored(ledger, SchedulableTransactionBody(tokenUpdate=UPDATE | update))
    ours = Key(ed25519=public(key)).SerializeToString()
    kinds = {"ours": ours, "other": OTHER.SerializeToString()}
    ledger.entity(3003, type="TOKEN", key=kinds.get(keys.get("admin_key", "")))
    ledger.token(3003, metadata_key=kinds.get(keys.get("metadata_key", "")))
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    assert calls.code(SIGN, long_zero(4005), signed(key)) == "SUCCESS"
    schedule = calls.overlay.schedule(4005)
    assert schedule is not None
    assert (schedule.executed_timestamp is not None) is executed


def test_both_forms_of_a_key_that_is_changed_sign(ledger):
    key = stored(ledger)
    ours = Key(ed25519=public(key))
    body = SchedulableTransactionBody(tokenUpdate=UPDATE | {"metadata_key": ours})
    ledger.entity(4006, type="SCHEDULE")
    ledger.schedule(4006, transaction_body=body.SerializeToString(), payer=SIGNER)
    ledger.entity(3003, type="TOKEN")
    ledger.token(3003, metadata_key=ours.SerializeToString())
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    pair = {"pubKeyPrefix": public(key), "ed25519": key.sign(parse_body(4006))}
    signatures = SignatureMap(sigPair=[pair]).SerializeToString()
    assert calls.code(SIGN, long_zero(4006), signatures) == "SUCCESS"
    schedule = calls.overlay.schedule(4006)
    assert schedule is not None
    assert schedule.executed_timestamp is not None


@pytest.mark.parametrize(
    ("update", "has_admin_key"),
    [({"metadata_key": OTHER}, True), ({"metadata_key": OTHER}, False), ({"name": "New"}, False)],
    ids=["no such key", "no key at all", "no admin key"],
)
def test_what_no_key_of_the_token_allows_is_unresolvable(ledger, update, has_admin_key):
    key = stored(ledger, SchedulableTransactionBody(tokenUpdate=UPDATE | update))
    ours = Key(ed25519=public(key)).SerializeToString()
    ledger.entity(3003, type="TOKEN", key=ours if has_admin_key else None)
    ledger.token(3003)
    calls = Calls(SCHEDULE_SERVICE, sender=CONTRACT)
    assert calls.code(SIGN, long_zero(4005), signed(key)) == "UNRESOLVABLE_REQUIRED_SIGNERS"


@pytest.mark.parametrize("key", [b"", b"\x32\x00", b"\xff"], ids=["none", "empty list", "unreadable"])
def test_contract_without_a_usable_key_signs_by_its_id(ledger, key):
    ledger.entity(4005, type="SCHEDULE")
    contract(ledger, SCRIPT, b"\0", key=key)
    ledger.schedule(4005, transaction_body=SCHEDULED.SerializeToString(), payer=SCRIPT)
    calls = Calls(SCHEDULE_SERVICE, sender=SCRIPT)
    assert calls("authorizeSchedule(address)", long_zero(4005)).scheduled is not None


@pytest.mark.parametrize("call", [{"amount": -1}, {"contractID": {"evm_address": b"short"}}])
def test_stored_call_that_can_not_run_moves_nothing(ledger, call):
    body = {"contractID": {"contractNum": CALLED}, "gas": 100_000} | call
    signatures = signed(stored(ledger, SchedulableTransactionBody(contractCall=body)))
    answer = Calls(SCHEDULE_SERVICE, sender=CONTRACT)(SIGN, long_zero(4005), signatures)
    assert (answer.child, answer.scheduled) == ("SUCCESS", None)
