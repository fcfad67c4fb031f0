"""A small ledger for the tests of operations on tokens."""

from collections.abc import Sequence
from typing import Any

from mirror.core.values.hapi.messages import ContractID, Key
from mirror.core.values.hapi.result_codes import NAMES
from tests.build import Build
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, SERVICE, data_of, run, words
from tests.web3sim.system_contracts.scripts import Outcome, Step, outcomes, script
from web3sim.engine.interface import CallResult, Status
from web3sim.operations.rejections import Rejection
from web3sim.system_contracts.function_signatures import selector_of
from web3sim.system_contracts.token_service.functions import FUNCTIONS

CODES = {name: number for number, name in NAMES.items()}
SUCCESS = CODES["SUCCESS"]

TREASURY, HOLDER, STRANGER, OTHER_CONTRACT, SCRIPT, INNER = 1001, 2001, 2002, 5001, 5002, 5003
TOKEN, UNIQUE, PLAIN = 3001, 3002, 3003

#: A key of people, which counts as having signed.
PEOPLE = Key(ed25519=bytes(32)).SerializeToString()
#: A key that nobody in the tests can use.
FOREIGN = Key(contractID=ContractID(contractNum=OTHER_CONTRACT)).SerializeToString()
#: What stands for a key that was removed.
REMOVED = Key(keyList={}).SerializeToString()

#: The codes that a function answers although it reverts with all others.
_ANSWERED = {
    "setApprovalForAll(address,address,bool)": ("SUCCESS", "INVALID_ALLOWANCE_SPENDER_ID", "INVALID_TOKEN_ID")
}
_KEYS = ("kyc_key", "freeze_key", "wipe_key", "supply_key", "pause_key", "fee_schedule_key", "metadata_key")


def token(build: Build, number: int, *, admin_key: bytes | None = PEOPLE, **columns: Any) -> None:
    """A token with its entity; keys are those of people, unless a test says otherwise."""
    build.entity(number, type="TOKEN", key=admin_key)
    defaults: dict[str, Any] = dict.fromkeys(_KEYS, PEOPLE) | {
        "freeze_status": 2,
        "kyc_status": 1,
        "pause_status": "UNPAUSED",
    }
    build.token(number, **defaults | columns)


def people(build: Build) -> None:
    build.block(7)
    for number in (TREASURY, HOLDER, STRANGER, CALLER):
        build.entity(number)
    build.entity(OTHER_CONTRACT, type="CONTRACT", key=FOREIGN)


def explicit(signature: str, *values: int | bytes, **options: Any) -> str:
    """Return the code that a function of the service answers, or with which it reverts where it does."""
    result = run(current(), SERVICE, data_of(signature, *values), **options)
    reverts = FUNCTIONS[selector_of(signature)].rejection is Rejection.WORD
    return answered(result, () if not reverts else _ANSWERED.get(signature, ("SUCCESS",)))


def answered(result: CallResult, codes: Sequence[str] = ()) -> str:
    """Return the code that a function answers; with `codes` it reverts with all others."""
    code = NAMES[int.from_bytes(result.output[:32])]
    reverts = bool(codes) and code not in codes
    assert (result.status, reverts) in ((Status.SUCCESS, False), (Status.REVERT, True)), result
    assert not reverts or len(result.output) == 32
    failures = () if code == "SUCCESS" else (code,)
    assert result.child_failures == failures
    return code


def step(signature: str, *values: int | bytes, kind: str = "CALL") -> Step:
    """A call of the service."""
    return Step(SERVICE, data_of(signature, *values), kind)


def ask(token: int, signature: str, *values: int | bytes) -> Step:
    """A call of a token at its own address."""
    return Step(long_zero(token), data_of(signature, *values))


def scripted(build: Build, *steps: Step, number: int = SCRIPT) -> list[Outcome]:
    """Run calls of a contract, one after the other."""
    contract(build, number, script(*steps))
    result = run(current(), long_zero(number), b"", gas=12_000_000)
    assert result.status is Status.SUCCESS, result
    return outcomes(result)


def codes(found: list[Outcome]) -> list[str | int]:
    """Of each step the first word, as a code where it is one; of a revert its whole output."""
    return [_word(outcome) for outcome in found]


def _word(outcome: Outcome) -> Any:
    return int.from_bytes(outcome.output[:32]) if outcome.succeeded else outcome.output


def code_word(name: str) -> bytes:
    return words(CODES[name])
