"""One frame of a call by the rules of a ledger network.

Its own accounts (long-zero numbers up to 750 and 1000) are hidden from contracts and can't be called; system
contracts answer in place of code; value is only sent to what can hold hbar.
"""

from eth.abc import ComputationAPI, MessageAPI, OpcodeAPI, StateAPI, TransactionContextAPI
from eth.constants import STACK_DEPTH_LIMIT
from eth.exceptions import Revert
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth_typing import Address

from web3sim.engine.computation import EngineComputation
from web3sim.engine.halts import ExceptionalHalt
from web3sim.engine.interface import (
    AccountKind,
    Halt,
    ScheduledCall,
    SystemAnswer,
    SystemCall,
    SystemContracts,
    get_delegate,
)
from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas
from web3sim.engine.ledger.ledger_operations import LEDGER_OPERATIONS
from web3sim.engine.state import EngineState, LedgerEngineState, long_zero_number
from web3sim.engine.unchecked_message import UncheckedMessage
from web3sim.engine.versions import V077

# Halts that no frame above survives.
_ENDING = frozenset({Halt.INVALID_CONTRACT, Halt.INVALID_SIGNATURE, Halt.CHILD_RECORDS, Halt.NO_SCHEDULING})
_MAX_CHILD_RECORDS = 50
# Contracts older than the rule about delegate calls to system contracts, by entity number.
_GRANDFATHERED = frozenset({1_062_787, 1_461_860})


class LedgerComputation(EngineComputation):
    """Cancun with the rules of a ledger network."""

    state_class = LedgerEngineState
    opcodes: dict[int, OpcodeAPI] = EngineComputation.opcodes | LEDGER_OPERATIONS

    state: LedgerEngineState

    @classmethod
    def apply_message(
        cls,
        state: StateAPI,
        message: MessageAPI,
        transaction_context: TransactionContextAPI,
        parent_computation: ComputationAPI | None = None,
    ) -> ComputationAPI:
        assert isinstance(state, LedgerEngineState)
        if message.is_create:
            if state.system is not None:
                state.system.add_created(message.storage_address, AccountKind.CONTRACT, state.journal)
            return super().apply_message(state, message, transaction_context, parent_computation)
        halt = cls.call_halt(state, message)
        if halt is not None:
            # Nothing moves; the frame that would have received the value halts.
            halted = cls(state, message, transaction_context)
            with halted:
                raise ExceptionalHalt(halt, ends_call=halt in _ENDING)
            return halted
        price = _creation_gas(state, message) if message.value else 0
        _set_code(state, message)
        frame = super().apply_message(state, message, transaction_context, parent_computation)
        if price:
            # There is no code at the address, so that nothing else has used its gas.
            frame.consume_gas(price, reason="account creation")
            assert state.system is not None
            state.system.add_created(message.storage_address, AccountKind.ACCOUNT, state.journal)
        return frame

    @classmethod
    def call_halt(cls, state: LedgerEngineState, message: MessageAPI) -> Halt | None:
        """Return the rule that forbids a message; None if none does."""
        return _transfer_halt(state, message)

    def apply_child_computation(self, child_msg: MessageAPI) -> ComputationAPI:
        child = super().apply_child_computation(child_msg)
        if child.is_error and isinstance(child.error, ExceptionalHalt) and child.error.ends_call:
            raise ExceptionalHalt(child.error.halt, ends_call=True)
        return child

    @classmethod
    def validate_create_message(cls, message: MessageAPI) -> None:
        """Init code may be as large as call data and memory may be."""

    @classmethod
    def is_precompiled(cls, state: EngineState, address: Address) -> bool:
        in_system = state.system is not None and state.system.is_system_contract(address)
        return in_system or super().is_precompiled(state, address)

    def run_precompiled(self) -> bool:
        if self.msg.is_create:
            return False
        address = self.msg.code_address
        system = self.state.system
        if system is not None and system.is_system_contract(address):
            self._call_system_contract(system)
            return True
        if super().run_precompiled():
            return True
        if self.state.is_system_account(address):
            # There is nothing to call; all gas is used, without a failure.
            self.consume_gas(self.get_gas_remaining(), reason="system account")
            return True
        return False

    def _call_system_contract(self, system: SystemContracts) -> None:
        message = self.msg
        if message.storage_address != message.code_address and not self._may_delegate(system):
            raise ExceptionalHalt(Halt.PRECOMPILE)
        answer = system.call(
            SystemCall(
                address=message.code_address,
                recipient=message.storage_address,
                sender=message.sender,
                data=message.data_as_bytes,
                value=message.value if message.should_transfer_value else 0,
                gas=message.gas,
                static=message.is_static,
                depth=message.depth,
                origin=self.transaction_context.origin,
                sender_is_delegated=self._is_sender_delegated(),
                by_delegation=message.is_delegation,
            ),
            self.state.journal,
        )
        self._apply_answer(answer)

    def _may_delegate(self, system: SystemContracts) -> bool:
        """Return whether a system contract answers a delegate call: of its proxy code, in its own frame."""
        proxied = system.proxied(self.msg.code_address)
        if proxied is None:
            return True
        recipient, proxy = self.state.current(self.msg.storage_address), self.parent
        if recipient is None:
            return False
        # A code delegation has no frame of its own.
        if proxy is not None and not self.msg.is_delegation and _is_delegated(proxy):
            return False
        # An account has code of its own where a request says so.
        if recipient.kind is AccountKind.CONTRACT or (
            recipient.kind is AccountKind.ACCOUNT and recipient.code and get_delegate(recipient.code) is None
        ):
            return recipient.entity_id in _GRANDFATHERED
        return recipient.kind is proxied

    def _is_sender_delegated(self) -> bool:
        """Return whether the frame that called runs code of another contract, proxy code aside."""
        caller = self.parent
        if caller is None:
            return False
        recipient = self.msg.storage_address
        if recipient != self.msg.code_address and not self.msg.is_delegation:
            proxied = self.state.current(recipient)
            if proxied is not None and proxied.kind is not AccountKind.CONTRACT:
                caller = caller.parent
        return caller is not None and not caller.msg.is_create and _is_delegated(caller)

    def _apply_answer(self, answer: SystemAnswer) -> None:
        if answer.child is not None:
            self.state.child_records += 1
            if answer.child != "SUCCESS":
                self.state.child_failures.append(answer.child)
        if self.state.child_records > _MAX_CHILD_RECORDS:
            raise ExceptionalHalt(Halt.CHILD_RECORDS, ends_call=True)
        if answer.halt is not None:
            raise ExceptionalHalt(answer.halt, ends_call=answer.halt in _ENDING)
        self.consume_gas(answer.gas, reason="system contract")
        if answer.reverted:
            # No contract sees why, only a client that calls the system contract itself.
            self.output = b"" if self.msg.depth else answer.output
            raise Revert(self.output)
        self.output = answer.output
        for log in answer.logs:
            topics = tuple(int.from_bytes(topic, "big") for topic in log.topics)
            self.add_log_entry(Address(log.address), topics, log.data)
        if answer.scheduled is not None and not self.state.runs_scheduled:
            self._run_scheduled(answer.scheduled)

    def _run_scheduled(self, call: ScheduledCall) -> None:
        """Run a scheduled call, of which no frame here sees the output or the logs.

        Within it none is run: the depth of frames and their gas have a limit.
        """
        state, depth = self.state, self.msg.depth + 1
        gas = call.gas - intrinsic_gas(call.data, creates=False)
        if gas < 0 or depth > STACK_DEPTH_LIMIT or state.get_balance(Address(call.payer)) < call.value:
            return
        to, payer = Address(call.to), Address(call.payer)
        message = UncheckedMessage(gas, to, payer, call.value, state.get_code(to), to)
        message.data, message.depth = call.data, depth
        context = CancunTransactionContext(self.transaction_context.gas_price, payer)
        tracer, state.tracer, state.runs_scheduled = state.tracer, None, True
        try:
            frame = self.apply_message(state, message, context)
        finally:
            state.tracer, state.runs_scheduled = tracer, False
        for address in frame.get_accounts_for_deletion():
            state.accounts.delete_account(address)


def _transfer_halt(state: LedgerEngineState, message: MessageAPI) -> Halt | None:
    """Return the rule that forbids a message to carry its value; None when it has none, or may."""
    if not (message.should_transfer_value and message.value):
        return None
    called = message.code_address
    if state.system is not None and state.system.is_system_contract(called):
        accepts = state.system.accepts_value(called, bytes(message.data[:4]))
        return None if accepts else Halt.INVALID_CONTRACT
    if state.is_system_account(called):
        return Halt.INVALID_CONTRACT
    recipient = message.storage_address
    if not state.account_exists(recipient):
        if message.gas < _creation_gas(state, message):
            return Halt.OUT_OF_GAS
        # An address that isn't long-zero is an alias: an account is created for it.
        return Halt.INVALID_ALIAS if long_zero_number(recipient) is not None else None
    if state.is_network_owned(recipient):
        return Halt.STATIC_CHANGE if state.version < V077 else Halt.INVALID_CONTRACT
    record = state.original(recipient)
    signature_required = record is not None and record.receiver_signature_required
    return Halt.INVALID_SIGNATURE if signature_required and recipient != message.sender else None


def _creation_gas(state: LedgerEngineState, message: MessageAPI) -> int:
    """Return the gas of the account that a message creates, by sending value to where none is."""
    system = state.system
    if system is None or not (message.should_transfer_value and message.value):
        return 0
    exists = system.is_system_contract(message.code_address) or state.account_exists(message.storage_address)
    return 0 if exists else system.creation_gas


def _is_delegated(frame: ComputationAPI) -> bool:
    """Return whether a frame runs code of another address."""
    return bool(frame.msg.storage_address != frame.msg.code_address)


def _set_code(state: LedgerEngineState, message: MessageAPI) -> None:
    """Put the code into a message that its frame runs, where that isn't the account's own.

    A request for an account may be one for its proxy. The code delegation of a token or schedule is to a
    system contract; that of an account is followed once, and to what has no code it does nothing.
    """
    system = state.system
    delegate = get_delegate(message.code) if state.follows_delegations else None
    if delegate is None and (message.code or message.depth or system is None):
        return
    record = state.current(message.code_address)
    if record is None:
        return
    service = delegate
    if record.kind is AccountKind.ACCOUNT:
        service = None
        if system is not None and not message.depth:
            code = system.account_code(message.code_address, message.data_as_bytes)
            service = get_delegate(code) if state.follows_delegations else None
            if code and service is None:
                message.code = code
                return
    if service is not None:
        message.code, message.is_delegation = b"", True
        message.code_address = Address(service)  # type: ignore[misc]
    elif delegate is not None:
        state.mark_address_warm(Address(delegate))
        message.code = state.get_code(Address(delegate))
