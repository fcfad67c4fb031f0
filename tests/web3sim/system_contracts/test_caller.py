import hashlib
import json

from tests.web3sim.engine.world import BLOCK, CONTRACT, ENGINES, NOBODY, OTHER, SENDER, World, code
from tests.web3sim.system_contracts.caller import FOLDER, RUNTIME, Outcome, Step, listed, outcomes
from web3sim.engine.interface import AccountKind, AccountRecord, CallRequest, CallResult, Status

ANSWERER = b"\x77" * 20


def test_the_compiled_contract_matches_its_source():
    stored = json.loads((FOLDER / "compiled.json").read_text())["sources"]

    assert stored == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.sol")
    }


def run(data: bytes) -> CallResult:
    world = World()
    for address in (CONTRACT, OTHER):
        world.accounts[address] = AccountRecord(balance=100, nonce=1, code=RUNTIME, kind=AccountKind.CONTRACT)
    # Answers its caller, the value and 32 bytes of its call data.
    world.contract(
        ANSWERER,
        *("CALLER", 0, "MSTORE", "CALLVALUE", 32, "MSTORE", 0, "CALLDATALOAD", 64, "MSTORE"),
        *(96, 0, "RETURN"),
    )
    world.accounts[NOBODY] = AccountRecord(
        code=code(0, 0, "REVERT"), balance=1, nonce=1, kind=AccountKind.CONTRACT
    )
    world.accounts[SENDER] = AccountRecord(balance=10**9)
    return ENGINES["pyevm"].execute(CallRequest(SENDER, CONTRACT, data, 10**8), BLOCK, world)


def words(*values: bytes | int) -> bytes:
    return b"".join(
        value.to_bytes(32) if isinstance(value, int) else value.rjust(32, b"\0") for value in values
    )


def test_a_caller_answers_what_came_of_each_call():
    result = run(
        listed(
            [Step(ANSWERER, b"a" * 32, value=7), Step(NOBODY, b""), Step(ANSWERER, b"b" * 32, "STATICCALL")]
        )
    )

    assert outcomes(result) == [
        Outcome(True, words(CONTRACT, 7, b"a" * 32)),
        Outcome(False, b""),
        Outcome(True, words(CONTRACT, 0, b"b" * 32)),
    ]


def test_callers_nest_and_revert():
    inner = listed([Step(ANSWERER, b"c" * 32)], reverts=True)
    asked = Outcome(True, words(OTHER, 0, b"c" * 32))
    delegated = Outcome(True, words(CONTRACT, 0, b"c" * 32))

    result = run(listed([Step(OTHER, inner), Step(OTHER, inner, "DELEGATECALL")]))

    assert result.status is Status.SUCCESS
    by_call, by_delegate = outcomes(result)
    assert (by_call.succeeded, outcomes(by_call)) == (False, [asked])
    assert (by_delegate.succeeded, outcomes(by_delegate)) == (False, [delegated])
