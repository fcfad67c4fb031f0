"""Tinycents and tinybars, 0x168."""

import pytest

from mirror.core.values.hapi.messages import ExchangeRateSet
from mirror.core.values.hapi.transaction_types import NUMBERS
from tests.build import SECOND, START, insert
from tests.web3sim.rows import CALLER, TREASURY, asked, contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import data_of, run, words
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from web3sim.calls.call import answer
from web3sim.engine.interface import Halt, Status
from web3sim.system_contracts import exchange_rate

SERVICE = long_zero(0x168)
TO_TINYBARS, TO_TINYCENTS = "tinycentsToTinybars(uint256)", "tinybarsToTinycents(uint256)"
RATES_FILE = 112


@pytest.fixture
def ledger(build):
    build.block(7)
    build.entity(TREASURY, balance=10**18)
    build.entity(CALLER, balance=10**16)
    return build


def publish(at, now, then, changes_at):
    """The file that states cents and hbars of now, and of when they change (in seconds)."""
    rates = {
        "currentRate": {"centEquiv": now[0], "hbarEquiv": now[1], "expirationTime": {"seconds": changes_at}},
        "nextRate": {
            **{"centEquiv": then[0], "hbarEquiv": then[1]},
            "expirationTime": {"seconds": changes_at + 3600},
        },
    }
    insert(
        "file_data",
        consensus_timestamp=at,
        entity_id=RATES_FILE,
        file_data=ExchangeRateSet(**rates).SerializeToString(),
        transaction_type=NUMBERS["FILEUPDATE"],
    )


def ask(signature, amount):
    found = answer(asked(to=SERVICE, data=data_of(signature, amount)))
    assert found.status == 200, found
    return int.from_bytes(found.result)


def test_without_a_file_an_hbar_is_worth_12_cents(ledger):
    assert ask(TO_TINYBARS, 100) == 8
    assert ask(TO_TINYCENTS, 100) == 1200


@pytest.mark.parametrize(
    ("hour", "tinycents"),
    [(0, 700), (1, 700), (2, 500), (3, 500)],
    ids=["an hour before the change", "just before it", "from then on", "an hour later"],
)
def test_the_rate_is_the_one_in_force(ledger, settings_of, hour, tinycents):
    changes_at = START // SECOND // 3600 * 3600 + 7200
    publish(START, (7, 1), (5, 1), changes_at)
    now = changes_at + (hour - 2) * 3600 + (3599 if hour == 1 else 0)
    settings_of({"clock.now": str(now)})
    assert ask(TO_TINYCENTS, 100) == tinycents


def test_the_newest_file_counts(ledger):
    publish(START, (7, 1), (7, 1), 2**33)
    publish(START + 1, (30, 4), (30, 4), 2**33)
    assert (ask(TO_TINYCENTS, 100), ask(TO_TINYBARS, 100)) == (750, 13)


def test_amounts_may_be_larger_than_the_ledger_has_and_are_rounded_down(ledger):
    assert ask(TO_TINYBARS, 2**256 - 1) == (2**256 - 1) // 12
    assert ask(TO_TINYBARS, 11) == 0


def test_an_amount_that_would_take_more_than_a_word_halts(ledger):
    result = run(current(), SERVICE, data_of(TO_TINYCENTS, 2**256 - 1))
    assert (result.status, result.halt) == (Status.HALT, Halt.PRECOMPILE)


@pytest.mark.parametrize("data", [b"", b"\x2e\x3c", data_of("name()", 1), data_of(TO_TINYBARS)])
def test_other_data_halts(ledger, data):
    assert run(current(), SERVICE, data).halt is Halt.PRECOMPILE


def test_value_is_refused(ledger):
    result = run(current(), SERVICE, data_of(TO_TINYBARS, 1), sender=CALLER, value=1)
    assert result.halt is Halt.INVALID_CONTRACT


def test_it_costs_100_gas(ledger):
    for function in exchange_rate.FUNCTIONS.values():
        assert run(current(), SERVICE, function.selector + words(5)).execution_gas == 100


def test_contracts_call_in_any_frame_and_delegate(ledger):
    data = data_of(TO_TINYCENTS, 100)
    steps = [Step(SERVICE, data, kind) for kind in ("CALL", "STATICCALL", "DELEGATECALL")]
    contract(ledger, 5005, script(*steps))
    found = outcomes(run(current(), long_zero(5005), b"", gas=5_000_000))
    assert found == [(True, words(1200)), (True, words(1200)), (True, words(1200))]


def test_a_rate_without_hbars_is_none(ledger):
    """No amount of tinybars would be worth anything."""
    publish(START, (12, 0), (12, 0), START // SECOND + 10**9)
    assert ask(TO_TINYBARS, 100) == 8
    assert ask(TO_TINYCENTS, 100) == 1200
