"""A small ledger for the tests of the account service."""

from typing import Any

from eth_abi.abi import encode

from mirror.core.values.hapi.result_codes import NAMES
from tests.build import Build
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, run
from tests.web3sim.system_contracts.scripts import Outcome, Step, outcomes, script
from web3sim.engine.interface import CallResult, Status
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

SERVICE = long_zero(0x16A)
CODES = {name: number for number, name in NAMES.items()}
SUCCESS = CODES["SUCCESS"]
#: `NAMED` has an address of its own.
NUMBERED, NAMED, TOKEN, SCRIPT = 2001, 2002, 3001, 5005
ADDRESS, UNKNOWN, NOBODY = bytes([0xD5]) * 20, bytes([0x61]) * 20, bytes(20)


def people(build: Build, **columns: Any) -> None:
    build.block(7)
    for number in (CALLER, NUMBERED):
        build.entity(number)
    build.entity(NAMED, evm_address=ADDRESS, alias=ADDRESS, **columns)
    build.entity(TOKEN, type="TOKEN")
    build.token(TOKEN)


def call_data(signature: str, *values: Any) -> bytes:
    return selector_of(signature) + encode(parameters_of(signature), values)


def ask(signature: str, *values: Any, to: bytes = SERVICE, **options: Any) -> CallResult:
    return run(current(), to, call_data(signature, *values), **options)


def step(signature: str, *values: Any, to: bytes = SERVICE, kind: str = "CALL") -> Step:
    return Step(to, call_data(signature, *values), kind)


def scripted(build: Build, *steps: Step, number: int = SCRIPT) -> list[Outcome]:
    """Run calls of a contract, one after the other."""
    contract(build, number, script(*steps))
    result = run(current(), long_zero(number), b"", gas=12_000_000)
    assert result.status is Status.SUCCESS, result
    return outcomes(result)
