"""What a ledger's rules make of calls: to the network's own numbers, with value, of contracts that end."""

from http import HTTPStatus

import pytest

from tests.build import Build
from tests.web3sim.engine.world import code
from tests.web3sim.rows import CALLER, asked, contract, long_zero, network
from web3sim.calls.call import answer
from web3sim.calls.messages import CallAnswer, Problem

ALIAS = bytes.fromhex("0b461b89bd728b62b427c68f6a1ba87fc5d94b8b")
ALIASED, SIGNS, TOKEN, UNIQUE, SCHEDULE, HOLDER = 1009, 1010, 3001, 3002, 3003, 5009
MISSING, TOO_HIGH = long_zero(99_999), bytes(12) + b"\xff" * 8
GAS = 100_000

pytestmark = pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])


@pytest.fixture
def ledger(build: Build) -> Build:
    network(build)
    build.entity(ALIASED, alias=ALIAS)
    build.entity(SIGNS, receiver_sig_required=True)
    for number in (TOKEN, UNIQUE):
        build.entity(number, type="TOKEN")
    build.token(TOKEN, name="Ledger Gold")
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE")
    build.entity(SCHEDULE, type="SCHEDULE")
    return build


def called(engine: str, to: bytes, *, value: int = 0, data: str = "", **given: object) -> CallAnswer:
    sender = long_zero(CALLER) if value else None
    asks = {"to": to, "value": value, "data": bytes.fromhex(data), "gas": GAS, "sender": sender}
    return answer(asked(engine=engine, **(asks | given)))


def outcome(found: CallAnswer) -> str:
    """The result in hex, or the name of what went wrong."""
    return found.result.hex() if found.status is HTTPStatus.OK else found.problems[0].message


@pytest.mark.parametrize("num", [0x167, 0x168, 0x169, 0x16A, 0x16B, 0x16C], ids=hex)
def test_system_contracts_halt_without_a_selector(ledger, engine, num):
    for data in ("", "06fdde"):
        found = called(engine, long_zero(num), data=data)
        assert (outcome(found), found.used) == ("CONTRACT_EXECUTION_EXCEPTION", GAS)
    found = called(engine, long_zero(num), data="00000000")
    is_service = num in (0x167, 0x16A, 0x16B)
    assert outcome(found) == ("" if is_service else "CONTRACT_EXECUTION_EXCEPTION")


@pytest.mark.parametrize("num", [11, 98, 700, 750, 0x16D])
def test_the_networks_own_accounts_take_all_gas_and_answer_nothing(ledger, engine, num):
    found = called(engine, long_zero(num), data="06fdde03")
    assert (outcome(found), found.used) == ("", GAS)
    estimate = called(engine, long_zero(num), estimate=True)
    assert int.from_bytes(estimate.result, "big") == GAS


@pytest.mark.parametrize(
    "to", [long_zero(751), long_zero(1000), MISSING, TOO_HIGH, long_zero(ALIASED), ALIAS]
)
def test_call_without_code_costs_its_message(ledger, engine, to):
    found = called(engine, to)
    assert (outcome(found), found.used) == ("", 21_000)


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        *((long_zero(num), "INVALID_CONTRACT_ID") for num in (1, 10, 98, 750, 0x167, 0x169, 0x16C, 0x16D)),
        *((to, "INVALID_ALIAS_KEY") for to in (long_zero(1000), MISSING, TOO_HIGH)),
        *((to, "") for to in (long_zero(751), long_zero(999), ALIAS, long_zero(ALIASED))),
        (bytes([9]) * 20, ""),
        (long_zero(TOKEN), "LOCAL_CALL_MODIFICATION_EXCEPTION"),
        (long_zero(SCHEDULE), "LOCAL_CALL_MODIFICATION_EXCEPTION"),
        (long_zero(SIGNS), ""),
    ],
    ids=lambda given: given.hex() if isinstance(given, bytes) else given,
)
def test_value_is_sent_only_where_allowed(ledger, engine, to, expected):
    found = called(engine, to, value=1, gas=10 * GAS)
    assert outcome(found) == expected
    if expected:
        assert found.problems == (Problem(expected, "", "0x"),)


@pytest.mark.parametrize("to", [MISSING, bytes([9]) * 20])
def test_value_to_a_missing_account_needs_the_gas_of_its_creation(ledger, engine, to):
    assert outcome(called(engine, to, value=1, gas=21_000 + 586_853)) == "INSUFFICIENT_GAS"


@pytest.mark.parametrize(
    ("beneficiary", "expected"),
    [
        (long_zero(CALLER), ""),
        (ALIAS, ""),
        (long_zero(ALIASED), "INVALID_SOLIDITY_ADDRESS"),
        (MISSING, "INVALID_SOLIDITY_ADDRESS"),
        (long_zero(98), "INVALID_SOLIDITY_ADDRESS"),
        (long_zero(TOKEN), "INVALID_SOLIDITY_ADDRESS"),
        (long_zero(SCHEDULE), "INVALID_SOLIDITY_ADDRESS"),
        (long_zero(HOLDER), "OBTAINER_SAME_CONTRACT_ID"),
    ],
    ids=lambda given: given.hex() if isinstance(given, bytes) else given,
)
def test_a_contract_leaves_only_to_whom_can_inherit(ledger, engine, beneficiary, expected):
    contract(ledger, HOLDER, code(beneficiary, "SELFDESTRUCT"), balance=5)
    assert outcome(called(engine, long_zero(HOLDER))) == expected


def test_a_contract_that_holds_tokens_does_not_leave(ledger, engine):
    contract(ledger, HOLDER, code(long_zero(CALLER), "SELFDESTRUCT"))
    ledger.holding(TOKEN, account=HOLDER, balance=1)
    assert outcome(called(engine, long_zero(HOLDER))) == "CONTRACT_EXECUTION_EXCEPTION"


BALANCE_OF = "70a08231" + MISSING.hex().rjust(64, "0")
OWNER_OF = "6352211e" + "7".rjust(64, "0")


def test_refusals_of_system_contracts_follow_the_failure_once(ledger, engine):
    assert called(engine, long_zero(TOKEN), data=BALANCE_OF).problems == (
        Problem("CONTRACT_REVERT_EXECUTED", "", "0x"),
        Problem("INVALID_ACCOUNT_ID"),
    )
    question = bytes.fromhex(OWNER_OF)
    stored = (question[:32], 0, "MSTORE", question[32:] + bytes(28), 32, "MSTORE")
    asks = (0, 0, len(question), 0, 0, long_zero(UNIQUE), 20_000, "CALL", "POP")
    contract(ledger, 5001, code(*stored, *asks, *stored, *asks, 0, 0, "REVERT"))
    assert called(engine, long_zero(5001)).problems == (
        Problem("CONTRACT_REVERT_EXECUTED", "", "0x"),
        Problem("INVALID_TOKEN_NFT_SERIAL_NUMBER"),
    )


def test_a_wrong_question_to_a_token_reverts_without_data(ledger, engine):
    for token, data in ((TOKEN, OWNER_OF), (UNIQUE, "313ce567"), (TOKEN, "70a08231"), (TOKEN, "")):
        assert called(engine, long_zero(token), data=data).problems == (
            Problem("CONTRACT_REVERT_EXECUTED", "", "0x"),
        )
