"""The network's own contracts as an engine calls them: which function of which, and through which proxy."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from web3sim.engine.interface import (
    AccountKind,
    Address,
    Halt,
    Journal,
    SystemAnswer,
    SystemCall,
)
from web3sim.operations.prices import WITHOUT_FILES, Prices
from web3sim.operations.refusals import Refused
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay
from web3sim.state.proxies import (
    ACCOUNT_SERVICE,
    REDIRECT_FOR_ACCOUNT,
    REDIRECT_FOR_SCHEDULE,
    REDIRECT_FOR_TOKEN,
    SCHEDULE_SERVICE,
    TOKEN_SERVICE,
    proxy_code,
)
from web3sim.system_contracts import (
    account_service,
    exchange_rate,
    pseudorandom,
    schedule_service,
    token_service,
)
from web3sim.system_contracts.abi import SELECTOR_LENGTH, InvalidArguments, address_at, bytes_at, word_of
from web3sim.system_contracts.functions import Function, Invocation, WrongType

_ADDRESS_LENGTH = 20
_HALTED = SystemAnswer(halt=Halt.PRECOMPILE)


@dataclass(frozen=True, slots=True)
class Service:
    """Functions by selector: its own, and those of what is behind proxy code that calls it by `redirect`."""

    functions: Mapping[bytes, Function] = field(default_factory=dict)
    redirect: bytes | None = None
    proxied: AccountKind | None = None
    proxy_functions: Mapping[bytes, Function] = field(default_factory=dict)


def _address(number: int) -> Address:
    return number.to_bytes(_ADDRESS_LENGTH, "big")


SERVICES = {
    TOKEN_SERVICE: Service(
        token_service.FUNCTIONS,
        REDIRECT_FOR_TOKEN,
        AccountKind.TOKEN,
        token_service.PROXY_FUNCTIONS,
    ),
    _address(0x168): Service(exchange_rate.FUNCTIONS),
    _address(0x169): Service(pseudorandom.FUNCTIONS),
    ACCOUNT_SERVICE: Service(
        account_service.FUNCTIONS,
        REDIRECT_FOR_ACCOUNT,
        AccountKind.ACCOUNT,
        account_service.PROXY_FUNCTIONS,
    ),
    SCHEDULE_SERVICE: Service(
        schedule_service.FUNCTIONS,
        REDIRECT_FOR_SCHEDULE,
        AccountKind.SCHEDULE,
        schedule_service.PROXY_FUNCTIONS,
    ),
    # The token service with wider numbers, which networks have switched off.
    _address(0x16C): Service(),
}


class NetworkContracts:
    """The SystemContracts of the engine interface, on one state."""

    def __init__(self, state: LedgerState, prices: Prices = WITHOUT_FILES) -> None:
        self._state, self._prices = state, prices
        #: How often each function was called, by its signature.
        self.calls: Counter[str] = Counter()

    def at(self, address: Address) -> bool:
        return address in SERVICES

    def account_code(self, address: Address, data: bytes) -> bytes:
        service, selector = SERVICES[ACCOUNT_SERVICE], data[:SELECTOR_LENGTH]
        return proxy_code(AccountKind.ACCOUNT, address) if selector in service.proxy_functions else b""

    def tied_to_tokens(self, address: Address, journal: Journal) -> bool:
        ledger = Overlay(self._state, journal)
        account = ledger.account_id_at(address)
        return account is not None and ledger.tied_to_tokens(account)

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        service = SERVICES[call.address]
        try:
            target, data = _redirected(call, service, journal) or (None, call.data)
            functions = service.functions if target is None else service.proxy_functions
            selector = data[:SELECTOR_LENGTH]
            function = functions.get(selector)
            if function is None or (function.writes and call.static):
                return _HALTED
            self.calls[function.signature] += 1
            ledger = Overlay(self._state, journal)
            arguments = data[SELECTOR_LENGTH:]
            return _answer(Invocation(call, ledger, self._prices, arguments, function, target))
        except (InvalidArguments, WrongType):
            return _HALTED


def _redirected(call: SystemCall, service: Service, journal: Journal) -> tuple[Address, bytes] | None:
    """Return whom a call through a proxy is for, and its own call data. Errors: InvalidArguments."""
    if service.redirect is None or call.data[:SELECTOR_LENGTH] != service.redirect:
        return None
    arguments = call.data[SELECTOR_LENGTH:]
    if call.recipient != call.address:
        caller = journal.present(call.recipient)
        if caller is not None and caller.kind is service.proxied:
            # The proxy packs its address without padding.
            return call.recipient, arguments[_ADDRESS_LENGTH:]
    return address_at(arguments, 0), bytes_at(arguments, 1)


def _answer(invocation: Invocation) -> SystemAnswer:
    """Errors: InvalidArguments, WrongType."""
    function, journal = invocation.function, invocation.ledger.journal
    _return_value(invocation.call, journal)
    checkpoint = journal.checkpoint()
    try:
        output = function.handler(invocation)
    except Refused as refused:
        journal.go_back(checkpoint)
        return _refusal(invocation, refused)
    gas = function.gas(invocation) + invocation.more_gas
    return SystemAnswer(output, gas, logs=tuple(invocation.logs))


def _return_value(call: SystemCall, journal: Journal) -> None:
    """Return the value of a call to its sender, from where fees are charged: services hold no hbar."""
    if call.value:
        journal.set_balance(call.address, journal.get_balance(call.address) - call.value)
        journal.set_balance(call.sender, journal.get_balance(call.sender) + call.value)


def _refusal(invocation: Invocation, refused: Refused) -> SystemAnswer:
    function = invocation.function
    gas = function.gas(invocation) + invocation.more_gas
    tells_code = function.tells_code and invocation.target is None and not refused.reverts
    if tells_code and (not invocation.call.static or function.tells_code_when_static):
        return SystemAnswer(function.refusal(refused.number), gas, child_failure=refused.code)
    as_word = refused.as_word
    if as_word is None:
        as_word = function.writes
    output = word_of(refused.number) if as_word else refused.code.encode()
    return SystemAnswer(output, gas, reverted=True, child_failure=refused.code)
