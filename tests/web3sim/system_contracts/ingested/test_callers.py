"""Each function called directly, by contracts, in static and delegate calls, after reverts, and estimated."""

from http import HTTPStatus

import pytest

from mirror.core.config import clock
from mirror.core.values.timestamp import NANOS_PER_SECOND
from tests.web3sim.rows import asked
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.caller import RUNTIME, Outcome, Step, listed, outcomes
from tests.web3sim.system_contracts.calls import BLOCK, run
from tests.web3sim.system_contracts.ingested.case import Case
from tests.web3sim.system_contracts.ingested.comparison import CaseStream, call_data, prepared
from tests.web3sim.system_contracts.ingested.entities import EXPIRES
from tests.web3sim.system_contracts.ingested.test_as_ingested import CASES
from tests.web3sim.system_contracts.ingested.views import ELSEWHERE, NOT_STATIC, VIEWS
from web3sim.calls.call import answer
from web3sim.engine import registry
from web3sim.engine.interface import AccountKind, AccountRecord, CallRequest, Status
from web3sim.state.ledger import LedgerState
from web3sim.state.proxy_code import ACCOUNT_SERVICE
from web3sim.system_contracts.contracts import SERVICES, NetworkContracts

_GAS = 10**10


def target_of(case: Case, at: int) -> bytes:
    return case.service if case.target is None else long_zero(case.target + at)


class _WithCaller:
    """A StateReader in which an account is a contract that makes the calls it is told to."""

    def __init__(self, ledger: LedgerState, address: bytes) -> None:
        self._ledger, self._address = ledger, address
        self.slot, self.block_hash = ledger.slot, ledger.block_hash

    def account(self, address: bytes) -> AccountRecord | None:
        found = self._ledger.account(address)
        if found is None or address != self._address:
            return found
        return found._replace(code=RUNTIME, kind=AccountKind.CONTRACT)


def by_contract(sender: bytes, *steps: Step) -> list[Outcome]:
    """Run steps of a contract at the sender's own address, so that it is who calls."""
    ledger = current()
    request = CallRequest(sender, sender, listed(steps), _GAS)
    reader = _WithCaller(ledger, sender)
    return outcomes(registry.engine("pyevm").execute(request, BLOCK, reader, NetworkContracts(ledger)))


def _succeeded(outcome: Outcome, case: Case) -> bool:
    begins_with_code = case.target is None and len(outcome.output) >= 32
    return outcome.succeeded and (not begins_with_code or int.from_bytes(outcome.output[:32]) == 22)


def _only_by_request(case: Case) -> bool:
    """An account answers for itself only where the request calls it; a contract gets nothing from it."""
    return case.service == ACCOUNT_SERVICE and case.target is not None


def _wrong_of_change(case: Case, at: int) -> list[str]:
    """Say which way of calling a function that changes something does not do what it should."""
    sender, to, data = long_zero(case.sender + at), target_of(case, at), call_data(case, at)
    direct = run(current(), to, data, sender=case.sender + at, value=case.value, gas=10**7)
    first = Outcome(direct.status is Status.SUCCESS, direct.output)
    step = Step(to, data, value=case.value)
    results = by_contract(
        sender,
        step._replace(kind="STATICCALL"),
        step._replace(kind="DELEGATECALL"),
        # In a frame of its own that reverts, then so that it stays.
        Step(sender, listed([step], reverts=True), gas=10**8),
        Step(sender, listed([step]), gas=10**8),
    )
    faults = {f"directly: {direct}": not _succeeded(first, case)}
    if _only_by_request(case):
        faults |= {f"by a contract: {each}": each != (True, b"") for each in results[:2]}
        return [fault for fault, is_wrong in faults.items() if is_wrong]
    static, delegated, reverted, nested = results
    faults |= {
        "a static call changes something": static.succeeded,
        "a delegate call is answered": delegated.succeeded,
        "the frame does not revert": reverted.succeeded,
        f"before the revert: {reverted}": outcomes(reverted) != [first],
        f"after a revert: {nested}": not nested.succeeded or outcomes(nested) != [first],
    }
    return [fault for fault, is_wrong in faults.items() if is_wrong]


# The exchange rate and seeds; they answer delegate calls, too.
_DELEGATED = (long_zero(0x168), long_zero(0x169))


def _wrong_of_view(case: Case, at: int, *, in_static: bool) -> list[str]:
    sender, to, data = long_zero(case.sender + at), target_of(case, at), call_data(case, at)
    direct = run(current(), to, data, sender=case.sender + at)
    first = Outcome(direct.status is Status.SUCCESS, direct.output)
    step = Step(to, data)
    results = by_contract(
        sender,
        step,
        step._replace(kind="STATICCALL"),
        step._replace(kind="DELEGATECALL"),
        Step(sender, listed([step], reverts=True), gas=10**8),
        Step(sender, listed([step]), "STATICCALL", gas=10**8),
    )
    faults = {f"directly: {direct}": not first.succeeded or not first.output}
    if _only_by_request(case):
        faults |= {f"by a contract: {each}": each != (True, b"") for each in results[:3]}
        return [fault for fault, is_wrong in faults.items() if is_wrong]
    called, static, delegated, reverted, nested = results
    seen = first if in_static else Outcome(False, b"")
    faults |= {
        f"by a contract: {called}": called != first,
        f"in a static call: {static}": static != seen,
        "a delegate call is answered": delegated.succeeded and case.service not in _DELEGATED,
        f"in a frame that reverts: {reverted}": outcomes(reverted) != [first],
        f"nested in a static call: {nested}": outcomes(nested) != [seen],
    }
    return [fault for fault, is_wrong in faults.items() if is_wrong]


@pytest.mark.usefixtures("ledger_tables")
def test_every_write_works_and_can_be_estimated() -> None:
    placed = prepared(CASES, CaseStream())
    # What is scheduled goes by the clock, not by the block.
    now = clock.now_ns() // NANOS_PER_SECOND
    found = {}
    for case, at in placed:
        if wrong := [*_wrong_of_change(case, at), *_wrong_of_estimate(case, at, now)]:
            found[f"{at} {case.signature}"] = wrong

    assert found == {}


# A request of a contract is one of the treasury account, which signs nothing.
_CODES = {"authorizeSchedule(address)": 205}


def _wrong_of_estimate(case: Case, at: int, now: int) -> list[str]:
    """An estimate is enough gas, and not much more than is used."""
    later = tuple(now + EXPIRES if each == EXPIRES else each for each in case.arguments)
    data = call_data(case._replace(arguments=later), at)
    call = {
        "sender": long_zero(case.sender + at),
        "to": target_of(case, at),
        "data": data,
        "value": case.value,
    }
    estimate = answer(asked(**call, estimate=True))
    if estimate.status is not HTTPStatus.OK:
        return [f"estimate: {estimate}"]
    least = int.from_bytes(estimate.result)
    called = answer(asked(**call, gas=least))
    code = int.from_bytes(called.result[:32])
    if called.status is not HTTPStatus.OK or (case.target is None and code != _CODES.get(case.signature, 22)):
        return [f"with the estimated gas, {least}: {called}"]
    used = called.used or 0
    return [] if used <= least <= used * 1.2 + 1_000 else [f"{least} is estimated, {used} used"]


@pytest.mark.usefixtures("ledger_tables")
def test_each_view_answers_the_same_however_it_is_called() -> None:
    found = {}
    for case, at in prepared([*VIEWS, *NOT_STATIC], CaseStream()):
        if wrong := _wrong_of_view(case, at, in_static=case not in NOT_STATIC):
            found[case.signature] = wrong

    assert found == {}


def test_each_view_is_called() -> None:
    views = {
        (address, function.signature, bool(at_own_address))
        for address, service in SERVICES.items()
        for at_own_address, functions in enumerate((service.functions, service.proxy_functions))
        for function in functions.values()
        if not function.writes and function.signature not in ELSEWHERE
    }
    called = [*VIEWS, *NOT_STATIC]

    assert {(case.service, case.signature, case.target is not None) for case in called} == views
