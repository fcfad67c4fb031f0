"""Pseudorandom seeds, 0x169."""

import pytest

from tests.web3sim.rows import contract
from tests.web3sim.state.states import SOME_BLOCK, current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, data_of, run
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from web3sim.engine.interface import Halt, Status

SERVICE = long_zero(0x169)
DATA = data_of("getPseudorandomSeed()")


@pytest.fixture
def ledger(build):
    build.block(7)
    build.entity(CALLER)
    return build


def test_the_seed_is_the_beginning_of_the_hash_of_the_block(ledger):
    result = run(current(), SERVICE, DATA)
    assert (result.status, result.output) == (Status.SUCCESS, SOME_BLOCK.hash[:32])


def test_reading_a_seed_costs_less_than_drawing_one(ledger):
    assert run(current(), SERVICE, DATA).execution_gas == 15_284
    assert run(current(), SERVICE, DATA, static=True).execution_gas == 2_607


def test_a_contract_is_given_the_same_seed_in_any_frame(ledger):
    steps = [Step(SERVICE, DATA, kind) for kind in ("CALL", "STATICCALL", "DELEGATECALL")]
    contract(ledger, 5005, script(*steps))
    seed = SOME_BLOCK.hash[:32]
    found = outcomes(run(current(), long_zero(5005), b"", gas=5_000_000))
    assert found == [(True, seed), (True, seed), (True, seed)]


@pytest.mark.parametrize("data", [b"", DATA[:3], data_of("name()")])
def test_other_data_halts(ledger, data):
    assert run(current(), SERVICE, data).halt is Halt.PRECOMPILE


def test_value_is_refused(ledger):
    ledger.entity(1002, balance=5)
    assert run(current(), SERVICE, DATA, sender=1002, value=1).halt is Halt.INVALID_CONTRACT
