"""Schedules that a call makes, signs and deletes."""

from functools import partial
from typing import Any

import pytest
from coincurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eth_abi.abi import decode, encode

from mirror.core.values.hapi.messages import ContractID, Key, SchedulableTransactionBody, SignatureMap
from mirror.core.values.hapi.result_codes import NAMES
from mirror.core.values.hashes import keccak256
from tests.build import insert
from tests.web3sim.engine.world import code
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import BLOCK, CODES, Calls, run, words
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from web3sim.engine import registry
from web3sim.engine.interface import AccountKind, CallRequest, Halt, ScheduledCall, SystemAnswer
from web3sim.state.proxy_code import REDIRECT_FOR_SCHEDULE, SCHEDULE_SERVICE, TOKEN_SERVICE
from web3sim.state.tables.interface import Schedule
from web3sim.system_contracts.contracts import SERVICES, NetworkContracts
from web3sim.system_contracts.signatures import parameters_of, selector_of

PERSON, CONTRACT, TOKEN, SCHEDULE, EXECUTED, DELETED, OURS = 1001, 1002, 3001, 4001, 4002, 4003, 4004
NOBODY = bytes(20)
ADMIN = Key(ed25519=bytes(range(32))).SerializeToString()
BY_CONTRACT = Key(contractID=ContractID(contractNum=CONTRACT)).SerializeToString()
TIMED = "uint256,uint256,uint64,bytes"
CALL, WITH_PAYER = f"scheduleCall(address,{TIMED})", f"scheduleCallWithPayer(address,address,{TIMED})"
ON_SIGNATURE = f"executeCallOnPayerSignature(address,address,{TIMED})"
NATIVE = "scheduleNative(address,bytes,address)"
SIGN = "signSchedule(address,bytes)"
CREATE = "createFungibleToken(HederaTokenV3,int64,int32)"


@pytest.fixture
def ledger(build):
    build.entity(PERSON, key=ADMIN)
    build.entity(CONTRACT, type="CONTRACT")
    build.entity(TOKEN, type="TOKEN", key=ADMIN)
    build.token(TOKEN)
    for number, key in ((SCHEDULE, ADMIN), (EXECUTED, ADMIN), (DELETED, None), (OURS, None)):
        build.entity(number, type="SCHEDULE", key=key, deleted=number == DELETED)
        insert(
            "schedule",
            schedule_id=number,
            consensus_timestamp=number,
            creator_account_id=PERSON,
            payer_account_id=PERSON,
            transaction_body=b"",
            executed_timestamp=5000 if number == EXECUTED else None,
        )
    return build


@pytest.fixture
def calls(ledger):
    return Calls(SCHEDULE_SERVICE, sender=CONTRACT)


def made(calls: Calls, signature: str, *arguments: Any) -> Schedule:
    """The schedule that a call makes."""
    answer = calls(signature, *arguments)
    assert answer.output[:32] == words(CODES["SUCCESS"]), answer
    record = calls.journal.present(answer.output[-20:])
    assert record is not None
    assert record.kind is AccountKind.SCHEDULE
    assert record.code
    assert record.entity_id is not None
    schedule = calls.overlay.schedule(record.entity_id)
    assert schedule is not None
    return schedule


def body_of(schedule: Schedule) -> Any:
    return SchedulableTransactionBody.FromString(schedule.transaction_body)


def creation(**changes: Any) -> bytes:
    members: dict[str, Any] = {"name": "Gold", "symbol": "GLD", "treasury": long_zero(PERSON)}
    members = members | {"memo": "", "finite": True, "max_supply": 9, "freeze_default": False, "keys": []}
    members["expiry"] = (0, long_zero(PERSON), 7_776_000)
    arguments = (tuple((members | changes).values()), 5, 2)
    return selector_of(CREATE) + encode(parameters_of(CREATE), arguments)


# CALLS OF CONTRACTS


def test_a_call_is_scheduled_and_its_contract_pays(calls):
    schedule = made(calls, CALL, long_zero(PERSON), 100, 21_064, 7, b"data")

    body = body_of(schedule).contractCall
    assert (body.contractID.contractNum, body.gas, body.amount) == (PERSON, 21_064, 7)
    assert body.functionParameters == b"data"
    assert (schedule.creator_account_id, schedule.payer_account_id) == (CONTRACT, CONTRACT)
    assert (schedule.expiration_time, schedule.wait_for_expiry) == (100 * 10**9, True)
    assert calls.overlay.signatories(schedule.id) == {BY_CONTRACT}


def test_another_account_may_pay(calls):
    later = made(calls, WITH_PAYER, long_zero(PERSON), long_zero(PERSON), 100, 21_000, 0, b"")
    at_once = made(calls, ON_SIGNATURE, bytes(range(20)), long_zero(PERSON), 100, 21_000, 0, b"")
    assert (later.payer_account_id, later.wait_for_expiry) == (PERSON, True)
    assert (at_once.payer_account_id, at_once.wait_for_expiry) == (PERSON, False)
    assert body_of(at_once).contractCall.contractID.evm_address == bytes(range(20))


@pytest.mark.parametrize(
    ("second", "gas", "expected"),
    [
        (0, 21_000, "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME"),
        (5_356_801, 21_000, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE"),
        (2**255, 21_000, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE"),
        (100, 20_999, "INSUFFICIENT_GAS"),
    ],
)
def test_a_call_that_can_not_be_scheduled_is_refused(calls, second, gas, expected):
    assert calls(CALL, long_zero(PERSON), second, gas, 0, b"").output == words(CODES[expected], 0)


def test_a_payer_has_to_exist(calls):
    answer = calls(WITH_PAYER, long_zero(PERSON), long_zero(999_999), 100, 21_000, 0, b"")
    assert answer.halt is Halt.PRECOMPILE


def test_a_refused_call_is_the_last_that_may_be_scheduled(calls):
    assert calls(CALL, NOBODY, 100, 21_000, 0, b"").output == words(CODES["INVALID_CONTRACT_ID"], 0)
    assert calls(CALL, long_zero(PERSON), 100, 21_000, 0, b"").halt is Halt.NO_SCHEDULING


def test_the_same_is_not_scheduled_twice(calls):
    made(calls, CALL, long_zero(PERSON), 100, 21_000, 7, b"")
    made(calls, CALL, long_zero(PERSON), 100, 21_000, 8, b"")
    answer = calls(CALL, long_zero(PERSON), 100, 21_000, 7, b"")
    assert answer.output == words(CODES["IDENTICAL_SCHEDULE_ALREADY_CREATED"], 0)


@pytest.mark.parametrize(
    ("second", "gas", "expected"),
    [(100, 21_000, True), (0, 21_000, False), (5_356_801, 1, False), (100, 2**255, True)],
)
def test_there_is_room_for_calls_within_limits(calls, second, gas, expected):
    assert calls("hasScheduleCapacity(uint256,uint256)", second, gas).output == words(int(expected))


# TOKENS


def test_the_creation_of_a_token_is_scheduled(calls):
    schedule = made(calls, NATIVE, TOKEN_SERVICE, creation(), long_zero(PERSON))

    body = body_of(schedule).tokenCreation
    assert (body.name, body.symbol, body.treasury.accountNum) == ("Gold", "GLD", PERSON)
    assert (body.initialSupply, body.decimals, body.maxSupply, body.supplyType) == (5, 2, 9, 1)
    assert body.autoRenewPeriod.seconds == 7_776_000
    assert (schedule.payer_account_id, schedule.wait_for_expiry) == (PERSON, False)


def test_the_change_of_a_token_is_scheduled(calls):
    signature = "updateTokenKeys(address,TokenKey[])"
    keys = [(1, (False, NOBODY, bytes(32), b"", NOBODY))]
    data = selector_of(signature) + encode(parameters_of(signature), (long_zero(TOKEN), keys))
    body = body_of(made(calls, NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))).tokenUpdate
    assert (body.token.tokenNum, body.adminKey.ed25519) == (TOKEN, bytes(32))


def test_nothing_else_is_scheduled(calls):
    answer = calls(NATIVE, SCHEDULE_SERVICE, creation(), long_zero(PERSON))
    assert (answer.reverted, answer.output) == (True, b"INVALID_CONTRACT_ID")
    assert calls(NATIVE, TOKEN_SERVICE, bytes.fromhex("12345678"), long_zero(PERSON)) == SystemAnswer()
    assert calls(NATIVE, TOKEN_SERVICE, b"", long_zero(PERSON)).halt is Halt.PRECOMPILE


def test_what_can_not_be_scheduled_is_found_before_a_static_frame_halts(calls):
    static = partial(calls, static=True)
    assert static(NATIVE, TOKEN_SERVICE, bytes.fromhex("12345678"), long_zero(PERSON)) == SystemAnswer()
    assert static(NATIVE, TOKEN_SERVICE, creation(), long_zero(PERSON)).halt is Halt.PRECOMPILE
    answer = static(NATIVE, SCHEDULE_SERVICE, creation(), long_zero(PERSON))
    assert (answer.reverted, answer.child, answer.gas) == (True, "INVALID_CONTRACT_ID", 10**7)
    answer = static("authorizeSchedule(address)", long_zero(TOKEN))
    assert (answer.reverted, answer.child, answer.gas) == (True, "INVALID_SCHEDULE_ID", 10**7)


def test_a_token_that_can_not_be_is_not_scheduled(calls):
    answer = calls(NATIVE, TOKEN_SERVICE, creation(symbol=""), long_zero(PERSON))
    assert answer.output == b"MISSING_TOKEN_SYMBOL"


# SIGNING AND DELETING


def test_a_contract_signs_once_by_its_id(calls):
    assert calls.code("authorizeSchedule(address)", long_zero(SCHEDULE)) == "SUCCESS"
    assert calls.overlay.signatories(SCHEDULE) == {BY_CONTRACT}
    assert calls.code("authorizeSchedule(address)", long_zero(SCHEDULE)) == "NO_NEW_VALID_SIGNATURES"


def test_a_contract_that_calls_a_schedule_signs_it(calls):
    answer = calls.at(long_zero(OURS), REDIRECT_FOR_SCHEDULE, "signSchedule()")
    assert (answer.output, answer.gas) == (words(CODES["SUCCESS"]), 142_044)
    assert calls.overlay.signatories(OURS) == {BY_CONTRACT}


def test_an_account_that_calls_a_schedule_signs_nothing(ledger):
    answer = Calls(SCHEDULE_SERVICE, sender=PERSON).at(
        long_zero(OURS), REDIRECT_FOR_SCHEDULE, "signSchedule()"
    )
    assert (answer.output, answer.gas) == (words(CODES["NO_NEW_VALID_SIGNATURES"]), 142_044)


def test_a_schedule_is_deleted_by_its_admin_key(calls):
    assert calls.code("deleteSchedule(address)", long_zero(SCHEDULE)) == "SUCCESS"
    assert calls.code("deleteSchedule(address)", long_zero(SCHEDULE)) == "SCHEDULE_ALREADY_DELETED"


def test_a_schedule_deletes_itself_for_its_admin(calls):
    answer = calls.at(long_zero(SCHEDULE), REDIRECT_FOR_SCHEDULE, "deleteSchedule()")
    assert (answer.output, answer.gas) == (words(CODES["SUCCESS"]), 71_622)
    answer = calls.at(long_zero(OURS), REDIRECT_FOR_SCHEDULE, "deleteSchedule()")
    assert (answer.reverted, answer.output) == (False, words(CODES["SCHEDULE_IS_IMMUTABLE"]))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (EXECUTED, "SCHEDULE_ALREADY_EXECUTED"),
        (DELETED, "INVALID_SCHEDULE_ID"),
        (TOKEN, "INVALID_SCHEDULE_ID"),
        (999_999, "INVALID_SCHEDULE_ID"),
    ],
)
@pytest.mark.parametrize("signature", ["authorizeSchedule(address)", "deleteSchedule(address)"])
def test_only_a_schedule_that_waits_is_signed_or_deleted(calls, signature, number, expected):
    answer = calls(signature, long_zero(number))
    assert answer.child == expected
    assert answer.reverted is (expected == "INVALID_SCHEDULE_ID" and signature.startswith("authorize"))


def test_the_admin_key_of_another_contract_counts_as_signed(ledger):
    ledger.entity(4005, type="SCHEDULE", key=BY_CONTRACT)
    insert(
        "schedule",
        schedule_id=4005,
        consensus_timestamp=1,
        creator_account_id=PERSON,
        payer_account_id=PERSON,
        transaction_body=b"",
    )
    assert (
        Calls(SCHEDULE_SERVICE, sender=PERSON).code("deleteSchedule(address)", long_zero(4005)) == "SUCCESS"
    )


# LOOKING AT WHAT IS SCHEDULED


FUNGIBLE_INFO = "getScheduledCreateFungibleTokenInfo(address)"
UNIQUE_INFO = "getScheduledCreateNonFungibleTokenInfo(address)"


def info_of(calls: Calls, signature: str, schedule: Schedule) -> Any:
    function = SERVICES[SCHEDULE_SERVICE].functions[selector_of(signature)]
    code, info = decode(function.results, calls(signature, calls.overlay.address_of(schedule.id)).output)
    assert NAMES[code] == "SUCCESS"
    return info


def test_scheduled_token_is_returned(calls):
    fees = ([(5, NOBODY, True, False, long_zero(PERSON))], [(1, 10, 2, 9, True, long_zero(PERSON))])
    signature = "createFungibleTokenWithCustomFees(HederaTokenV3,int64,int32,FixedFeeV2[],FractionalFeeV2[])"
    keys = [(1, (False, NOBODY, bytes(range(32)), b"", NOBODY))]
    struct = ("Gold", "GLD", long_zero(PERSON), "m", True, 9, False, keys, (9, long_zero(PERSON), 7_776_000))
    data = selector_of(signature) + encode(parameters_of(signature), (struct, 5, 2, *fees))
    schedule = made(calls, NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))

    (token, supply, deleted, _, paused, fixed, fractional, royalty, _), decimals = info_of(
        calls, FUNGIBLE_INFO, schedule
    )

    assert token[:2] == ("Gold", "GLD")
    assert token[7][0][1][2] == bytes(range(32))
    assert (supply, decimals, deleted, paused, royalty) == (5, 2, False, False, ())
    assert (fixed[0][0], fixed[0][2]) == (5, True)
    assert fractional[0][:5] == (1, 10, 2, 9, True)
    assert calls(UNIQUE_INFO, calls.overlay.address_of(schedule.id)).output == b"INVALID_SCHEDULE_ID"
    no_expiry = made(calls, NATIVE, TOKEN_SERVICE, creation(), long_zero(PERSON))
    assert calls(FUNGIBLE_INFO, calls.overlay.address_of(no_expiry.id)).halt is Halt.PRECOMPILE


def test_scheduled_unique_token_is_returned(calls):
    signature = "createNonFungibleTokenWithCustomFees(HederaTokenV3,FixedFeeV2[],RoyaltyFeeV2[])"
    keys = [(16, (False, NOBODY, bytes(32), b"", NOBODY))]
    struct = ("Art", "ART", long_zero(PERSON), "", False, 0, False, keys, (9, long_zero(PERSON), 7_776_000))
    royalty = [(1, 10, 7, NOBODY, True, long_zero(PERSON))]
    data = selector_of(signature) + encode(parameters_of(signature), (struct, [], royalty))
    schedule = made(calls, NATIVE, TOKEN_SERVICE, data, long_zero(PERSON))

    (token, *_, royalties, _), *serial = info_of(calls, UNIQUE_INFO, schedule)

    assert token[0] == "Art"
    assert royalties[0][:3] == (1, 10, 7)
    treasury = f"0x{long_zero(PERSON).hex()}"
    assert tuple(serial) == (0, treasury, 0, b"", treasury)


@pytest.mark.parametrize("signature", [FUNGIBLE_INFO, UNIQUE_INFO])
@pytest.mark.parametrize(
    ("number", "code"),
    [(SCHEDULE, "INVALID_SCHEDULE_ID"), (TOKEN, "RECORD_NOT_FOUND"), (999_999, "RECORD_NOT_FOUND")],
)
def test_what_schedules_no_token_has_no_information(calls, signature, number, code):
    answer = calls(signature, long_zero(number))
    assert (answer.reverted, answer.output, answer.gas) == (True, code.encode(), 2_607)


def test_scheduled_token_may_exceed_the_limits_of_tokens(ledger, calls):
    """Nobody looks at what a schedule holds before it is executed."""
    out_of_range = {"shardNum": 2**62, "accountNum": -1}
    creation = {
        "name": "\0",
        "initialSupply": 2**64 - 1,
        "decimals": 2**32 - 1,
        "maxSupply": -1,
        "treasury": out_of_range,
        "autoRenewAccount": out_of_range,
        "autoRenewPeriod": {"seconds": -(2**63)},
        "expiry": {"seconds": 2**63 - 1, "nanos": -5},
        "custom_fees": [
            {"fixed_fee": {"amount": -(2**63), "denominating_token_id": {"tokenNum": -7}}},
            {"fractional_fee": {"minimum_amount": -1}, "fee_collector_account_id": out_of_range},
            {"royalty_fee": {"fallback_fee": {"amount": 2**63 - 1}}},
            {},
        ],
    }
    body = SchedulableTransactionBody(tokenCreation=creation).SerializeToString()
    ledger.entity(4006, type="SCHEDULE")
    ledger.schedule(4006, transaction_body=body)
    answer = calls(FUNGIBLE_INFO, long_zero(4006))
    assert (answer.output[:32], answer.child) == (words(CODES["SUCCESS"]), "SUCCESS")


# SIGNATURES OF PEOPLE


def message_of(number: int) -> bytes:
    return b"".join(part.to_bytes(8, "big") for part in (0, 0, number))


def test_people_sign_by_their_signatures(calls):
    ours, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    ecdsa = PrivateKey()
    digest = keccak256(message_of(SCHEDULE))
    pairs = [
        {"pubKeyPrefix": public(ours), "ed25519": ours.sign(message_of(SCHEDULE))},
        {"pubKeyPrefix": public(other), "ed25519": other.sign(message_of(OURS))},
        {
            "pubKeyPrefix": ecdsa.public_key.format(),
            "ECDSA_secp256k1": ecdsa.sign_recoverable(digest, hasher=None)[:64],
        },
    ]
    signatures = SignatureMap(sigPair=pairs).SerializeToString()

    assert calls.code(SIGN, long_zero(SCHEDULE), signatures) == "SUCCESS"

    assert calls.overlay.signatories(SCHEDULE) == {public(ours), ecdsa.public_key.format()}
    assert calls.code(SIGN, long_zero(SCHEDULE), signatures) == "NO_NEW_VALID_SIGNATURES"


def test_signatures_that_say_nothing_are_refused(calls):
    assert calls.code(SIGN, long_zero(SCHEDULE), b"") == "NO_NEW_VALID_SIGNATURES"
    assert calls(SIGN, long_zero(SCHEDULE), b"\xff").halt is Halt.PRECOMPILE


@pytest.mark.parametrize(
    ("recovery_id", "expected"),
    [(27, "SUCCESS"), (2 * 296 + 35, "SUCCESS"), (2 * 296 + 36, "SUCCESS"), (2 * 295 + 36, None), (35, None)],
)
def test_a_signature_for_another_chain_halts(calls, recovery_id, expected):
    """The tests' network is a testnet, 296."""
    key = PrivateKey()
    signed = key.sign_recoverable(keccak256(message_of(SCHEDULE)), hasher=None)[:64]
    signature = signed + recovery_id.to_bytes(2, "big")
    pair = {"pubKeyPrefix": key.public_key.format(), "ECDSA_secp256k1": signature}
    answer = calls(SIGN, long_zero(SCHEDULE), SignatureMap(sigPair=[pair]).SerializeToString())
    assert (answer.halt, answer.child) == ((None, expected) if expected else (Halt.PRECOMPILE, None))


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


# EXECUTING


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
    pair = {"pubKeyPrefix": public(key), "ed25519": key.sign(message_of(4005))}
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
def test_whoever_has_to_sign_must_exist(ledger, body, columns):
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
