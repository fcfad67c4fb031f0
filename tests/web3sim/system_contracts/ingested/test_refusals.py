"""What functions refuse, however they are called: the code, and nothing changed."""

import pytest

from mirror.core.values.hapi.result_codes import NAMES
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.caller import Outcome, Step, listed, outcomes
from tests.web3sim.system_contracts.calls import run
from tests.web3sim.system_contracts.ingested.case import Case
from tests.web3sim.system_contracts.ingested.comparison import CaseStream, call_data, prepared
from tests.web3sim.system_contracts.ingested.numbers import DISTANCE
from tests.web3sim.system_contracts.ingested.refusals import CHANGES, CODE, TEXT, VIEWS, WORD, Rejection
from tests.web3sim.system_contracts.ingested.test_as_ingested import CASES
from tests.web3sim.system_contracts.ingested.test_callers import by_contract, target_of
from web3sim.engine.interface import Status

# Those that functions name most.
_MAX_USED = frozenset(
    (
        *(9, 15, 44, 165, 167, 176, 178, 180, 184, 194, 201, 225, 226),
        *(236, 237, 265, 282, 292, 293, 300, 301),
    )
)
# It calls an address at which nothing has to be.
_NEEDS_NOTHING = "scheduleCall(address,uint256,uint256,uint64,bytes)"
_REFUSALS = [*VIEWS, *CHANGES]


def _told(outcome: Outcome) -> tuple[str, str]:
    """How a call tells a code, and which."""
    if outcome.succeeded:
        return CODE, NAMES[int.from_bytes(outcome.output[:32])]
    if len(outcome.output) == 32 and not any(outcome.output[:30]):
        return WORD, NAMES[int.from_bytes(outcome.output)]
    return TEXT, outcome.output.decode()


def _wrong(rejection: Rejection, at: int) -> list[str]:
    case, expected = rejection.case, (rejection.form, rejection.code)
    sender, to, data = long_zero(case.sender + at), target_of(case, at), call_data(case, at)
    direct = run(current(), to, data, sender=case.sender + at, gas=10**7)
    step = Step(to, data)
    called, static, nested, again = by_contract(
        *(sender, step, step._replace(kind="STATICCALL")),
        *(Step(sender, listed([step], reverts=True), gas=10**8), step),
    )
    # Who calls sees no bytes of a revert, unless it is the request and calls the service itself.
    seen = expected if rejection.form == CODE else (TEXT, "")
    in_static = (CODE, "SUCCESS") if case.signature.startswith("getTokenCustomFees") else (TEXT, "")
    found = {
        "directly": (
            _told(Outcome(direct.status is Status.SUCCESS, direct.output)),
            expected if case.target is None else seen,
        ),
        "by a contract": (_told(called), seen),
        "in a static call": (_told(static), in_static),
        "in a frame that reverts": (_told(*outcomes(nested)), seen),
        "after the revert": (_told(again), seen),
    }
    return [f"{way}: {told}" for way, (told, right) in found.items() if told != right]


@pytest.mark.usefixtures("ledger_tables")
def test_every_refusal_has_its_code() -> None:
    placed = prepared([rejection.case for rejection in _REFUSALS], CaseStream())

    found = {
        f"{rejection.case.signature} {rejection.code}": wrong
        for rejection, (_, at) in zip(_REFUSALS, placed, strict=True)
        if (wrong := _wrong(rejection, at))
    }

    assert found == {}


def test_the_codes_that_are_used_most_are_among_them() -> None:
    assert {NAMES[code] for code in _MAX_USED} <= {rejection.code for rejection in _REFUSALS}


def _code_without(case: Case) -> str:
    """What a function answers where nothing is that it names."""
    nowhere = 10_000 * DISTANCE
    data = call_data(case, nowhere)
    result = run(current(), case.service, data, sender=case.sender, gas=10**7, value=case.value)
    return NAMES.get(int.from_bytes(result.output[:32]), "") or result.output.decode()


@pytest.mark.usefixtures("ledger_tables")
def test_each_function_that_changes_something_refuses_what_is_not_there() -> None:
    """Of the first case there are all accounts, but nothing that the others name."""
    prepared(CASES[:1], CaseStream())
    codes = {case.signature: _code_without(case) for case in CASES if case.target is None}
    del codes[_NEEDS_NOTHING]

    assert {name: code for name, code in codes.items() if not code or code == "SUCCESS"} == {}
