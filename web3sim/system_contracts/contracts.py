"""The network's own contracts as an engine calls them: which function of which, and through which proxy."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from web3sim.engine.interface import AccountKind, Address, Halt, Journal, SystemAnswer, SystemCall
from web3sim.operations.prices import WITHOUT_FILES, Prices
from web3sim.operations.rejections import Rejected, Rejection
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay
from web3sim.state.proxy_code import (
    ACCOUNT_SERVICE,
    REDIRECT_FOR_ACCOUNT,
    REDIRECT_FOR_SCHEDULE,
    REDIRECT_FOR_TOKEN,
    SCHEDULE_SERVICE,
    TOKEN_SERVICE,
    proxy_code,
)
from web3sim.system_contracts import account_service, exchange_rate, pseudorandom, schedule_service
from web3sim.system_contracts.abi import SELECTOR_LENGTH, WORD, InvalidArguments, decoded, word_of
from web3sim.system_contracts.functions import Function, Invocation, UnknownFunction
from web3sim.system_contracts.token_service import functions as token_functions

_ADDRESS_LENGTH = 20
_HALTED = SystemAnswer(halt=Halt.PRECOMPILE)
_UNREADABLE = SystemAnswer(halt=Halt.PRECOMPILE, child="INVALID_TRANSACTION_BODY")
_SCHEDULING_REFUSED = ("scheduling refused",)


@dataclass(frozen=True, slots=True)
class Service:
    """Functions by selector: its own, and those of what is behind proxy code that calls it by `redirect`.

    Only code of `proxied` accounts may delegate to it; None: all code may. A selector that is neither
    succeeds without output; a service without `redirect` halts.
    """

    functions: Mapping[bytes, Function] = field(default_factory=dict)
    redirect: bytes | None = None
    proxied: AccountKind | None = None
    proxy_functions: Mapping[bytes, Function] = field(default_factory=dict)

    def function(self, selector: bytes, *, at_target: bool) -> Function | None:
        """Return the function of a call; None if it is unknown. Errors: InvalidArguments."""
        own, of_target = self.functions.get(selector), self.proxy_functions.get(selector)
        if at_target:
            return of_target or (None if own is None or own.only_direct else own)
        if own is None and of_target is not None and of_target.needs_target:
            raise InvalidArguments(f"{of_target.signature} is called without a target")
        return own


def _address(number: int) -> Address:
    return number.to_bytes(_ADDRESS_LENGTH, "big")


PSEUDORANDOM = _address(0x169)
SERVICES = {
    TOKEN_SERVICE: Service(
        token_functions.FUNCTIONS, REDIRECT_FOR_TOKEN, AccountKind.TOKEN, token_functions.PROXY_FUNCTIONS
    ),
    _address(0x168): Service(exchange_rate.FUNCTIONS),
    PSEUDORANDOM: Service(pseudorandom.FUNCTIONS),
    ACCOUNT_SERVICE: Service(
        account_service.FUNCTIONS, REDIRECT_FOR_ACCOUNT, AccountKind.ACCOUNT, account_service.PROXY_FUNCTIONS
    ),
    SCHEDULE_SERVICE: Service(
        schedule_service.FUNCTIONS,
        REDIRECT_FOR_SCHEDULE,
        AccountKind.SCHEDULE,
        schedule_service.PROXY_FUNCTIONS,
    ),
    # The token service with wider numbers, which networks have switched off.
    _address(0x16C): Service(proxied=AccountKind.TOKEN),
}


class NetworkContracts:
    """The SystemContracts of the engine interface, on one state."""

    def __init__(self, state: LedgerState, prices: Prices = WITHOUT_FILES) -> None:
        self._state, self._prices = state, prices
        #: How often each function was called, by its signature.
        self.calls: Counter[str] = Counter()

    def is_system_contract(self, address: Address) -> bool:
        return address in SERVICES

    def proxied(self, address: Address) -> AccountKind | None:
        return SERVICES[address].proxied

    def accepts_value(self, address: Address, selector: bytes) -> bool:
        """Return whether a call may carry value: creations of tokens, to services that redirect."""
        return SERVICES[address].redirect is not None and selector in token_functions.CREATION_SELECTORS

    def account_code(self, address: Address, data: bytes) -> bytes:
        service, selector = SERVICES[ACCOUNT_SERVICE], data[:SELECTOR_LENGTH]
        if selector not in service.proxy_functions:
            return b""
        return proxy_code(AccountKind.ACCOUNT, address, self._state.version)

    @property
    def creation_gas(self) -> int:
        return self._prices.creation_gas

    def tied_to_tokens(self, address: Address, journal: Journal, *, only_as_treasury: bool = False) -> bool:
        ledger = Overlay(self._state, journal)
        account = ledger.account_id_at(address)
        return account is not None and ledger.tied_to_tokens(account, only_as_treasury=only_as_treasury)

    def add_created(self, address: Address, kind: AccountKind, journal: Journal) -> None:
        Overlay(self._state, journal).add_created(address, kind)

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        service = SERVICES[call.address]
        _return_value(call, journal)
        try:
            target, data = _redirected(call, service)
            selector = data[:SELECTOR_LENGTH]
            if len(selector) < SELECTOR_LENGTH:
                return _UNREADABLE if call.address == PSEUDORANDOM else _HALTED
            function = service.function(selector, at_target=target is not None)
            if function is None:
                return _HALTED if service.redirect is None else SystemAnswer()
            self.calls[function.signature] += 1
            arguments = decoded(function.parameters, data[SELECTOR_LENGTH:])
            if target is not None and selector in service.proxy_functions:
                arguments = (target, *arguments)
            ledger = Overlay(self._state, journal)
            return _answer(Invocation(call, ledger, self._prices, function, arguments, target))
        except UnknownFunction:
            return SystemAnswer()
        except InvalidArguments:
            return _HALTED


def _redirected(call: SystemCall, service: Service) -> tuple[Address | None, bytes]:
    """Return whom a call is for, unless it is for the service itself, and its own call data.

    Proxy code packs its address without padding; other callers may encode it.
    """
    if call.by_delegation:
        return call.recipient, call.data
    if service.redirect is None or call.data[:SELECTOR_LENGTH] != service.redirect:
        return None, call.data
    arguments = call.data[SELECTOR_LENGTH:]
    packed = arguments[:_ADDRESS_LENGTH], arguments[_ADDRESS_LENGTH:]
    # An offset behind the end, as nearly always of proxy code: eth_abi would fail after 7 microseconds.
    if int.from_bytes(arguments[WORD : 2 * WORD]) >= len(arguments):
        return packed
    try:
        return decoded(("address", "bytes"), arguments)
    except InvalidArguments:
        return packed


def _answer(invocation: Invocation) -> SystemAnswer:
    """Errors: InvalidArguments."""
    call, function, journal = invocation.call, invocation.function, invocation.ledger.journal
    if function.schedules_calls and journal.row(_SCHEDULING_REFUSED):
        return SystemAnswer(halt=Halt.NO_SCHEDULING)
    checkpoint = journal.checkpoint()
    try:
        _check_limits(invocation)
        if call.static and (function.writes or not function.static):
            return _HALTED
        output = function.output(function.operation(invocation, *invocation.arguments))
    except Rejected as refused:
        journal.revert_to(checkpoint)
        if function.schedules_calls:
            journal.put_row(_SCHEDULING_REFUSED, True)
        return _rejected(invocation, refused)
    except (InvalidArguments, UnknownFunction):
        journal.revert_to(checkpoint)
        raise
    gas = function.gas(invocation) + invocation.extra_gas
    if gas > call.gas:
        journal.revert_to(checkpoint)
        return SystemAnswer(halt=Halt.OUT_OF_GAS, child="INSUFFICIENT_GAS")
    child, logs = invocation.child("SUCCESS"), tuple(invocation.logs)
    return SystemAnswer(output, gas, logs=logs, child=child, scheduled=invocation.scheduled)


def _check_limits(invocation: Invocation) -> None:
    """Errors: Rejected, with a text, for all gas; InvalidArguments, UnknownFunction."""
    if invocation.function.limits is not None:
        try:
            invocation.function.limits(invocation, *invocation.arguments)
        except Rejected as refused:
            raise Rejected(refused.code, Rejection.COSTLY_TEXT) from None


def _return_value(call: SystemCall, journal: Journal) -> None:
    """Return the value of a call to its sender, from where fees are charged: services hold no hbar."""
    if call.value:
        journal.set_balance(call.address, journal.get_balance(call.address) - call.value)
        journal.set_balance(call.sender, journal.get_balance(call.sender) + call.value)


def _rejected(invocation: Invocation, refused: Rejected) -> SystemAnswer:
    function, static = invocation.function, invocation.call.static
    rejection = refused.rejection or (function.static_rejection if static else function.rejection)
    if rejection is Rejection.HALT:
        return _HALTED
    gas = function.gas(invocation) + invocation.extra_gas
    if rejection in (Rejection.COSTLY_TEXT, Rejection.COSTLY_CODE):
        gas = invocation.call.gas
    elif rejection is Rejection.FREE_TEXT:
        gas = 0
    if gas > invocation.call.gas:
        return SystemAnswer(halt=Halt.OUT_OF_GAS, child="INSUFFICIENT_GAS")
    if rejection in (Rejection.CODE, Rejection.COSTLY_CODE):
        return SystemAnswer(function.rejected_output(refused), gas, child=invocation.child(refused.code))
    output = word_of(refused.number) if rejection is Rejection.WORD else refused.code.encode()
    return SystemAnswer(output, gas, reverted=True, child=invocation.child(refused.code))
