"""One frame of a call by the rules of a ledger network.

Its own accounts (long-zero numbers up to 750 and 1000) are hidden from contracts and can't be called; system
contracts answer in place of code; value is only sent to what can hold hbar.
"""

from eth.abc import ComputationAPI, MessageAPI, OpcodeAPI, StateAPI, TransactionContextAPI
from eth.exceptions import Revert
from eth.vm.message import Message
from eth_typing import Address

from web3sim.engine.computation import EngineComputation
from web3sim.engine.halts import RuleBroken
from web3sim.engine.interface import AccountKind, Halt, SystemAnswer, SystemCall, SystemContracts
from web3sim.engine.ledger.operations import LEDGER_OPERATIONS
from web3sim.engine.ledger.state import LedgerEngineState, long_zero_number
from web3sim.engine.state import EngineState

# Halts that no frame above survives.
_ENDING = frozenset({Halt.INVALID_CONTRACT, Halt.INVALID_SIGNATURE, Halt.CHILD_RECORDS, Halt.NO_SCHEDULING})
_MOST_CHILD_RECORDS = 50

# The system contracts that answer delegate calls only of one kind of proxy code. Others answer all.
_PROXIES = {
    number.to_bytes(20, "big"): kind
    for number, kind in (
        (0x167, AccountKind.TOKEN),
        (0x16A, AccountKind.ACCOUNT),
        (0x16B, AccountKind.SCHEDULE),
        (0x16C, AccountKind.TOKEN),
    )
}
# Contracts older than the rule about delegate calls to system contracts, by entity number.
_GRANDFATHERED = frozenset({1_062_787, 1_461_860})

# The functions of the token service that create tokens: value sent with them pays the fee.
TOKEN_CREATIONS = frozenset(
    bytes.fromhex(selector)
    for selector in (
        *("7812a04b", "c23baeb6", "0fb65bf3", "4c381ae7", "b937581a", "2af0c59a"),
        *("9dc711e0", "9c89bb35", "ea83f293", "5bc7c0e6", "45733969", "abb54eb5"),
    )
)


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
            return super().apply_message(state, message, transaction_context, parent_computation)
        broken = cls.call_halt(state, message)
        if broken is not None:
            # Nothing moves; the frame that would have received the value halts.
            refused = cls(state, message, transaction_context)
            with refused:
                raise RuleBroken(broken, ends_call=broken in _ENDING)
            return refused
        price = _creation_gas(state, message) if message.value else 0
        message = _with_account_code(state, message)
        frame = super().apply_message(state, message, transaction_context, parent_computation)
        if price:
            # There is no code at the address, so that nothing else has used its gas.
            frame.consume_gas(price, reason="account creation")
        return frame

    @classmethod
    def call_halt(cls, state: LedgerEngineState, message: MessageAPI) -> Halt | None:
        """Return the rule that forbids a message; None if none does."""
        return _transfer_halt(state, message)

    def apply_child_computation(self, child_msg: MessageAPI) -> ComputationAPI:
        child = super().apply_child_computation(child_msg)
        if child.is_error and isinstance(child.error, RuleBroken) and child.error.ends_call:
            raise RuleBroken(child.error.halt, ends_call=True)
        return child

    @classmethod
    def validate_create_message(cls, message: MessageAPI) -> None:
        """Init code may be as large as call data and memory may be."""

    @classmethod
    def answers_without_code(cls, state: EngineState, address: Address) -> bool:
        in_system = state.system is not None and state.system.at(address)
        return in_system or super().answers_without_code(state, address)

    def answer_without_code(self) -> bool:
        if self.msg.is_create:
            return False
        address = self.msg.code_address
        system = self.state.system
        if system is not None and system.at(address):
            self._call_system_contract(system)
            return True
        if super().answer_without_code():
            return True
        if self.state.is_system_account(address):
            # There is nothing to call; all gas is used, without a failure.
            self.consume_gas(self.get_gas_remaining(), reason="system account")
            return True
        return False

    def _call_system_contract(self, system: SystemContracts) -> None:
        message = self.msg
        if not _may_delegate(self.state, message):
            raise RuleBroken(Halt.PRECOMPILE)
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
            ),
            self.state.journal,
        )
        self._take(answer)

    def _is_sender_delegated(self) -> bool:
        """Return whether the frame that called runs code of another contract, proxy code aside."""
        caller = self.parent
        if caller is None:
            return False
        recipient = self.msg.storage_address
        if recipient != self.msg.code_address:
            proxied = self.state.present(recipient)
            if proxied is not None and proxied.kind is not AccountKind.CONTRACT:
                caller = caller.parent
        if caller is None or caller.msg.is_create:
            return False
        return bool(caller.msg.storage_address != caller.msg.code_address)

    def _take(self, answer: SystemAnswer) -> None:
        if answer.child is not None:
            self.state.child_records += 1
            if answer.child != "SUCCESS":
                self.state.child_failures.append(answer.child)
        if self.state.child_records > _MOST_CHILD_RECORDS:
            raise RuleBroken(Halt.CHILD_RECORDS, ends_call=True)
        if answer.halt is not None:
            raise RuleBroken(answer.halt, ends_call=answer.halt in _ENDING)
        self.consume_gas(answer.gas, reason="system contract")
        if answer.reverted:
            # No contract sees why, only a client that calls the system contract itself.
            self.output = b"" if self.msg.depth else answer.output
            raise Revert(self.output)
        self.output = answer.output
        for log in answer.logs:
            topics = tuple(int.from_bytes(topic, "big") for topic in log.topics)
            self.add_log_entry(Address(log.address), topics, log.data)


def _transfer_halt(state: LedgerEngineState, message: MessageAPI) -> Halt | None:
    """Return the rule that forbids a message to carry its value; None when it has none, or may."""
    if not (message.should_transfer_value and message.value):
        return None
    called = message.code_address
    if state.system is not None and state.system.at(called):
        return None if bytes(message.data[:4]) in TOKEN_CREATIONS else Halt.INVALID_CONTRACT
    if state.is_system_account(called):
        return Halt.INVALID_CONTRACT
    recipient = message.storage_address
    if not state.account_exists(recipient):
        if message.gas < _creation_gas(state, message):
            return Halt.OUT_OF_GAS
        # An address that isn't long-zero is an alias: an account is created for it.
        return Halt.INVALID_ALIAS if long_zero_number(recipient) is not None else None
    if state.is_network_owned(recipient):
        return Halt.STATIC_CHANGE
    record = state.before(recipient)
    signature_required = record is not None and record.receiver_signature_required
    return Halt.INVALID_SIGNATURE if signature_required and recipient != message.sender else None


def _creation_gas(state: LedgerEngineState, message: MessageAPI) -> int:
    """Return the gas of the account that a message creates, by sending value to where none is."""
    system = state.system
    if system is None or not (message.should_transfer_value and message.value):
        return 0
    exists = system.at(message.code_address) or state.account_exists(message.storage_address)
    return 0 if exists else system.creation_gas


def _may_delegate(state: LedgerEngineState, message: MessageAPI) -> bool:
    """Return whether a system contract answers: to plain calls, and to delegate calls of its proxy code."""
    proxied = _PROXIES.get(message.code_address)
    if proxied is None or message.storage_address == message.code_address:
        return True
    caller = state.present(message.storage_address)
    if caller is None:
        return False
    # An account has code of its own where a request says so.
    if caller.kind is AccountKind.CONTRACT or (caller.kind is AccountKind.ACCOUNT and caller.code):
        return caller.entity_id in _GRANDFATHERED
    return caller.kind is proxied


def _with_account_code(state: LedgerEngineState, message: MessageAPI) -> MessageAPI:
    """The message with the code of an account's proxy, where a request is for an account without code."""
    if message.depth or message.code or state.system is None:
        return message
    record = state.present(message.code_address)
    if record is None or record.kind is not AccountKind.ACCOUNT:
        return message
    code = state.system.account_code(message.code_address, message.data_as_bytes)
    if not code:
        return message
    return Message(
        message.gas,
        message.to,
        message.sender,
        message.value,
        message.data,
        code,
        depth=message.depth,
        code_address=message.code_address,
        should_transfer_value=message.should_transfer_value,
        is_static=message.is_static,
    )
