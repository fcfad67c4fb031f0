"""The engine `pyevm`: the EVM library's operations one by one. It can trace; other engines equal it."""

from collections.abc import Mapping

from eth._utils.address import generate_contract_address
from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.exceptions import VMError
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.message import Message
from eth_typing import Address

from web3sim.engine.computation import EngineComputation
from web3sim.engine.halts import get_halt
from web3sim.engine.interface import (
    BlockEnvironment,
    CallRequest,
    CallResult,
    Halt,
    InsufficientFunds,
    Log,
    Profile,
    StateReader,
    Status,
    SystemContracts,
    Tracer,
)
from web3sim.engine.ledger.computation import LedgerComputation
from web3sim.engine.ledger.intrinsic_gas import floor_gas, intrinsic_gas
from web3sim.engine.ledger.older_versions import older_computation
from web3sim.engine.ledger.prague import VERSIONS, prague
from web3sim.engine.state import EngineState
from web3sim.engine.unchecked_message import UncheckedMessage
from web3sim.engine.versions import V050, V070, EvmVersion

# EIP-3529: at most this part of the gas is refunded.
_REFUND_QUOTIENT = 5


class PlainEngine:
    name = "pyevm"
    # How the frames of a profile are computed; from 0.70 on those of a ledger's version.
    computations: Mapping[Profile | EvmVersion, type[EngineComputation]] = {
        Profile.ETHEREUM: EngineComputation,
        Profile.LEDGER: LedgerComputation,
        **{version: prague(LedgerComputation, version) for version in VERSIONS},
    }

    def execute(
        self,
        request: CallRequest,
        block: BlockEnvironment,
        state: StateReader,
        system: SystemContracts | None = None,
        tracer: Tracer | None = None,
    ) -> CallResult:
        creates = request.to is None
        intrinsic = intrinsic_gas(request.data, creates=creates, access_list=request.access_list)
        is_ledger = request.profile is Profile.LEDGER
        has_floor = is_ledger and request.version >= V070
        floor = floor_gas(request.data, request.version) if has_floor else 0
        if request.gas < max(intrinsic, floor):
            return _halted(request, Halt.OUT_OF_GAS, intrinsic, execution_gas=0)
        if is_ledger and request.version < V050:
            computation = older_computation(request.version)
        else:
            computation = self.computations[request.version if has_floor else request.profile]
        current = computation.state_class(request, block, state, system, tracer)
        message = _first_message(request, current, request.gas - intrinsic)
        if request.value > current.get_balance(message.sender):
            raise InsufficientFunds(f"The sender has less than the {request.value} tinybars it sends.")
        if message.is_create and current.has_code_or_nonce(message.storage_address):
            return _halted(request, Halt.CREATION_COLLISION, intrinsic, execution_gas=message.gas)
        context = CancunTransactionContext(request.gas_price, Address(request.sender))
        try:
            frame = computation.run(current, message, context)
        except VMError as error:
            return _halted(request, get_halt(error), intrinsic, execution_gas=message.gas)
        return _result(request, current, frame, intrinsic, floor)


def _first_message(request: CallRequest, state: EngineState, gas: int) -> Message:
    """The outermost message; what it names is warm."""
    state.accounts.warm(request.access_list)
    sender = Address(request.sender)
    warm = [sender]
    if request.profile is Profile.ETHEREUM:
        warm.append(state.coinbase)
    if request.to is not None:
        to = Address(request.to)
        state.accounts.begin(sender, (*warm, to), request.sender_balance)
        state.opening_operation = "CALL"
        code = state.accounts.get_code(to)
        message = UncheckedMessage(gas, to, sender, request.value, code, to)
        message.data, message.is_static = request.data, request.static
        return message
    nonce = state.accounts.begin(sender, warm, request.sender_balance)
    created = Address(request.new_contract_address or generate_contract_address(sender, nonce))
    state.mark_address_warm(created)
    state.opening_operation = "CREATE"
    return Message(
        gas,
        CREATE_CONTRACT_ADDRESS,
        sender,
        request.value,
        b"",
        request.data,
        create_address=created,
        is_static=request.static,
    )


def _halted(request: CallRequest, halt: Halt, intrinsic: int, *, execution_gas: int) -> CallResult:
    """A message that never became a frame."""
    return CallResult(
        status=Status.HALT,
        output=b"",
        gas_used=request.gas,
        intrinsic_gas=intrinsic,
        execution_gas=execution_gas,
        refund=0,
        halt=halt,
    )


def _result(
    request: CallRequest, state: EngineState, frame: EngineComputation, intrinsic: int, floor: int
) -> CallResult:
    status, halt = frame.status()
    accounts = state.accounts
    # A contract starts with nonce 1; a reverted creation leaves none.
    created = dict.fromkeys(address for address in state.created if accounts.get_nonce(address))
    deleted = frame.get_accounts_for_deletion()
    for address in deleted:
        accounts.delete_account(address)
    logs = [
        Log(address, tuple([topic.to_bytes(32, "big") for topic in topics]), data)
        for address, topics, data in frame.get_log_entries()
    ]
    execution = frame.get_gas_used()
    refund = frame.get_gas_refund()
    consumed = intrinsic + execution
    used = max(consumed - min(refund, consumed // _REFUND_QUOTIENT), floor)
    return CallResult(
        status=status,
        output=frame.output,
        gas_used=request.gas if status is Status.HALT else used,
        intrinsic_gas=intrinsic,
        execution_gas=execution,
        refund=refund,
        logs=tuple(logs),
        created=tuple(created),
        deleted=tuple(deleted),
        halt=halt,
        slots=accounts.slots(),
        balances=accounts.balances(),
        child_failures=tuple(dict.fromkeys(state.child_failures)) if state.child_failures else (),
    )


ENGINE = PlainEngine()
