"""A contract call: its payer, block and state, its result, or how much gas it needs.

Amounts are tinybars. Failures have the names of the ledger's response codes.
"""

from http import HTTPStatus

import psycopg
from django.db import Error as DatabaseError
from django.db import connection

from mirror.core import config, logs
from mirror.core.config import clock
from mirror.core.db.availability import outage
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.calls.estimate import Search, minimum_gas
from web3sim.calls.gas_price import prices
from web3sim.calls.messages import Call, CallAnswer, Problem
from web3sim.engine import registry
from web3sim.engine.interface import (
    ZERO_ADDRESS,
    Address,
    CallRequest,
    CallResult,
    DeadlinePassed,
    Engine,
    Halt,
    NotSupported,
    StateReader,
    Status,
)
from web3sim.engine.ledger.intrinsic_gas import floor_gas, intrinsic_gas
from web3sim.state.blocks import SelectedBlock, UnknownBlock, find_block
from web3sim.state.database import DatabaseUnavailable, Reading
from web3sim.state.ledger import LedgerState
from web3sim.state.overridden_state import OverriddenState
from web3sim.state.payer import TREASURY_ADDRESS, Payer, find_payer
from web3sim.system_contracts.abi import ERROR_SELECTOR, InvalidArguments, bytes_at
from web3sim.system_contracts.contracts import NetworkContracts

log = logs.logger("mirror.web3")

_ESTIMATE_BYTES = 8

_CODES = {
    Halt.OUT_OF_GAS: "INSUFFICIENT_GAS",
    Halt.CREATION_COLLISION: "INSUFFICIENT_GAS",
    Halt.CHILD_RECORDS: "MAX_CHILD_RECORDS_EXCEEDED",
    Halt.NO_SCHEDULING: "NO_SCHEDULING_ALLOWED_AFTER_SCHEDULED_RECURSION",
    Halt.STATIC_CHANGE: "LOCAL_CALL_MODIFICATION_EXCEPTION",
    Halt.INVALID_ADDRESS: "INVALID_SOLIDITY_ADDRESS",
    Halt.INVALID_CONTRACT: "INVALID_CONTRACT_ID",
    Halt.INVALID_ALIAS: "INVALID_ALIAS_KEY",
    Halt.INVALID_SIGNATURE: "INVALID_SIGNATURE",
    Halt.SELF_DESTRUCT_TO_SELF: "OBTAINER_SAME_CONTRACT_ID",
}
_DEFAULT_HALT_CODE = "CONTRACT_EXECUTION_EXCEPTION"
_REVERTED = "CONTRACT_REVERT_EXECUTED"
_INSUFFICIENT_GAS = "INSUFFICIENT_GAS"
_INSUFFICIENT_BALANCE = "INSUFFICIENT_PAYER_BALANCE"
_NO_PAYER = "PAYER_ACCOUNT_NOT_FOUND"
_OVERSIZE = "TRANSACTION_OVERSIZE"
TIMEOUT = "The simulation takes too long"
DATABASE_FAILURES = (DatabaseUnavailable, DatabaseError, psycopg.Error)
# The codes that revert data may name, instead of being a reason.
_CODES_IN_OUTPUT = frozenset(
    {
        _INSUFFICIENT_GAS,
        "INVALID_CONTRACT_ID",
        "MAX_CHILD_RECORDS_EXCEEDED",
        "INSUFFICIENT_TX_FEE",
        _INSUFFICIENT_BALANCE,
        _DEFAULT_HALT_CODE,
        "MAX_CONTRACT_STORAGE_EXCEEDED",
        "MAX_STORAGE_IN_PRICE_REGIME_HAS_BEEN_USED",
    }
)
# Failures of children that are none.
_CHILD_SUCCESSES = ("SUCCESS", "REVERTED_SUCCESS")


class _Rejected(Exception):
    """A call that can't begin."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _code_problem(code: str) -> Problem:
    """Return a problem whose data is the name of its code."""
    return Problem(code, data=f"0x{code.encode().hex()}")


def load_engine() -> None:
    """Import what calls run with, before the first of them."""
    registry.engine(config.value("web3.evm.engine"))


def answer(call: Call) -> CallAnswer:
    """Simulate a call, whatever comes of it. Errors: unexpected ones only."""
    try:
        return _simulate(call)
    except _Rejected as rejected:
        return CallAnswer(HTTPStatus.BAD_REQUEST, problems=(rejected.problem,))
    except UnknownBlock as error:
        return CallAnswer(HTTPStatus.BAD_REQUEST, problems=(Problem("Bad Request", str(error)),))
    except NotSupported as error:
        return CallAnswer(HTTPStatus.NOT_IMPLEMENTED, problems=(Problem("Not Implemented", str(error)),))
    except DeadlinePassed:
        return unavailable(TIMEOUT)
    except DATABASE_FAILURES as error:
        return database_unavailable(error)


def database_unavailable(error: Exception) -> CallAnswer:
    """Answer that the database failed or took too long; the next call gets a new connection."""
    if outage.is_outage(error):
        outage.report(error, request=True)
    else:
        log.error("database_error", reason=outage.reason(error))
    connection.close()
    return unavailable(outage.SENTENCE)


def unavailable(detail: str) -> CallAnswer:
    status = HTTPStatus.SERVICE_UNAVAILABLE
    return CallAnswer(status, problems=(Problem(status.phrase, detail),))


def _simulate(call: Call) -> CallAnswer:
    reading = Reading(call.deadline)
    selected = find_block(call.block, reading)
    if len(call.data) > config.value("web3.evm.properties.jumboTransactions.ethereumMaxCallDataSize"):
        raise _Rejected(_code_problem(_OVERSIZE))
    state = LedgerState(selected, reading)
    simulation = _Simulation(call, selected, state)
    first = simulation.run(call.gas)
    used = simulation.used(first, call.gas)
    succeeded = first.status is Status.SUCCESS
    if oversize := _oversize_problem(first.output) if not (succeeded and call.estimate) else None:
        return CallAnswer(HTTPStatus.BAD_REQUEST, problems=(oversize,), used=used)
    if not succeeded:
        return CallAnswer(HTTPStatus.BAD_REQUEST, problems=_failure(first), used=used)
    if not call.estimate:
        return CallAnswer(HTTPStatus.OK, first.output, used=used)
    search = Search(
        config.value("web3.evm.estimateGasIterationThresholdPercent"),
        config.value("web3.evm.maxGasEstimateRetriesCount"),
    )
    min_gas = minimum_gas(used, call.gas, search, simulation.suffices)
    return CallAnswer(HTTPStatus.OK, min_gas.to_bytes(_ESTIMATE_BYTES, "big"), used=used)


class _Simulation:
    """Runs of one call under different gas limits; each begins with the stored state, which is read once."""

    def __init__(self, call: Call, selected: SelectedBlock, state: LedgerState) -> None:
        """Errors: _Rejected."""
        self._call, self._selected = call, selected
        self._engine: Engine = registry.engine(call.engine)
        self._creates = call.to is None or call.to == ZERO_ADDRESS
        self._state: StateReader = OverriddenState(state, call.overrides) if call.overrides else state
        checks_balance = _checks_balance(call)
        if not checks_balance:
            state.min_balance = config.value("web3.evm.minimumAccountBalance")
        others = [call.sender or TREASURY_ADDRESS, *(each.address for each in call.overrides)]
        self._to: Address | None = None
        if call.to is not None and not self._creates:
            state.begin(call.to, others)
            self._to = state.called_address(call.to)
        payer = _payer(call, state, self._state)
        self._sender = payer.address
        now = clock.now_ns()
        state.now_seconds = now // NANOS_PER_SECOND
        gas_prices = prices(selected, now)
        self._price = gas_prices.gas
        self._version = state.version
        # The contract may be listed by its number.
        self._access_list = tuple(
            (self._to if self._to and address == call.to else address, slots)
            for address, slots in call.access_list
        )
        intrinsic = intrinsic_gas(call.data, creates=self._creates, access_list=call.access_list)
        if call.gas < max(intrinsic, floor_gas(call.data, state.version)):
            raise _Rejected(Problem(_INSUFFICIENT_GAS))
        required_balance = call.value + call.gas * self._price
        if checks_balance and payer.balance < required_balance:
            raise _Rejected(_code_problem(_INSUFFICIENT_BALANCE))
        self._balance = max(payer.balance, state.min_balance, required_balance)
        if self._creates and not call.data:
            raise _Rejected(_code_problem("CONTRACT_BYTECODE_EMPTY"))
        self._system = NetworkContracts(state, gas_prices)
        self._new_address = state.next_contract_address() if self._creates else None

    def run(self, gas: int) -> CallResult:
        """Errors: those of an engine."""
        call = self._call
        request = CallRequest(
            sender=self._sender,
            to=self._to,
            data=call.data,
            gas=gas,
            # A constructor is not given the value.
            value=0 if self._creates else call.value,
            gas_price=self._price,
            new_contract_address=self._new_address,
            version=self._version,
            deadline=call.deadline,
            # The gas is paid before the call begins.
            sender_balance=self._balance - gas * self._price,
            access_list=self._access_list,
        )
        return self._engine.execute(request, self._selected.environment(gas), self._state, self._system)

    def suffices(self, gas: int) -> bool:
        try:
            result = self.run(gas)
        except NotSupported:
            # With other gas a contract may do other things.
            return False
        return result.status is Status.SUCCESS and result.gas_used > 0

    def used(self, result: CallResult, gas: int) -> int:
        """The gas that counts as used."""
        min_gas = gas * (100 - int(config.value("web3.evm.maxGasRefundPercentage"))) // 100
        return max(result.gas_used, min_gas)


# PAYER


def _payer(call: Call, state: LedgerState, reader: StateReader) -> Payer:
    payer = find_payer(state, call.sender, value=call.value, overridden=reader)
    if payer is None:
        raise _Rejected(Problem(_NO_PAYER, "Sender account not found."))
    return payer


def _checks_balance(call: Call) -> bool:
    """Return whether stored balances count; else accounts have a least balance, so that they can pay.

    The price in the request only says that the balance is to be checked; charged is the network's.
    """
    names_sender = call.sender is not None and call.sender != ZERO_ADDRESS
    is_checked: bool = config.value("web3.evm.validatePayerBalance")
    return is_checked and names_sender and bool(call.gas_price or call.value)


# FAILURES


def _oversize_problem(output: bytes) -> Problem | None:
    limit: int = config.value("web3.maxResultSize") << 10
    if len(output) <= limit:
        return None
    return Problem("Bad Request", f"The call returns {len(output)} bytes, this node answers at most {limit}")


def _failure(result: CallResult) -> tuple[Problem, ...]:
    """Return what went wrong, then the distinct failures of system contract calls, in order."""
    code = response_code(result)
    if result.halt in (Halt.CHILD_RECORDS, Halt.NO_SCHEDULING):
        main = _code_problem(code)
    else:
        main = Problem(code, reason(result.output), f"0x{result.output.hex()}")
    children = dict.fromkeys(name for name in result.child_failures if name not in _CHILD_SUCCESSES)
    return (main, *(Problem(name) for name in children))


def response_code(result: CallResult) -> str:
    """Return the name of the response code that a transaction with this result has."""
    if result.status is Status.SUCCESS:
        return "SUCCESS"
    if result.status is Status.REVERT:
        name = result.output.decode(errors="replace")
        return name if name in _CODES_IN_OUTPUT else _REVERTED
    return _CODES.get(result.halt, _DEFAULT_HALT_CODE) if result.halt else _DEFAULT_HALT_CODE


def reason(output: bytes) -> str:
    """Return the text of Error(string) in revert data; empty for everything else."""
    if not output.startswith(ERROR_SELECTOR):
        return ""
    try:
        return bytes_at(output[len(ERROR_SELECTOR) :], 0).decode(errors="replace")
    except InvalidArguments:
        return ""
