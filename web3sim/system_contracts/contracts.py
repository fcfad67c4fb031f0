"""The network's own contracts as an engine calls them: which function of which, and through which proxy."""

from dataclasses import dataclass, field

from web3sim.engine.interface import AccountKind, Address, Halt, NotSupported, SystemAnswer, SystemCall
from web3sim.state.ledger import LedgerState
from web3sim.state.proxies import (
    ACCOUNT_SERVICE,
    REDIRECT_FOR_ACCOUNT,
    REDIRECT_FOR_SCHEDULE,
    REDIRECT_FOR_TOKEN,
    SCHEDULE_SERVICE,
    TOKEN_SERVICE,
    proxy_code,
)
from web3sim.system_contracts import functions, hts
from web3sim.system_contracts.abi import SELECTOR_LENGTH, InvalidArguments, address_at, bytes_at

_ADDRESS_LENGTH = 20
_HALTED = SystemAnswer(halt=Halt.PRECOMPILE)


@dataclass(frozen=True, slots=True)
class _Service:
    """Functions by selector: its own, and those of what is behind proxy code that calls it by `redirect`."""

    functions: dict[bytes, str]
    redirect: bytes | None = None
    proxied: AccountKind | None = None
    proxy_functions: dict[bytes, str] = field(default_factory=dict)


def _address(number: int) -> Address:
    return number.to_bytes(_ADDRESS_LENGTH, "big")


_SERVICES = {
    TOKEN_SERVICE: _Service(
        functions.TOKEN_SERVICE, REDIRECT_FOR_TOKEN, AccountKind.TOKEN, functions.TOKEN_PROXY
    ),
    _address(0x168): _Service(functions.EXCHANGE_RATE),
    _address(0x169): _Service(functions.PRNG),
    ACCOUNT_SERVICE: _Service(
        functions.ACCOUNT_SERVICE, REDIRECT_FOR_ACCOUNT, AccountKind.ACCOUNT, functions.ACCOUNT_PROXY
    ),
    SCHEDULE_SERVICE: _Service(
        functions.SCHEDULE_SERVICE, REDIRECT_FOR_SCHEDULE, AccountKind.SCHEDULE, functions.SCHEDULE_PROXY
    ),
    # The token service with wider numbers, which networks have switched off.
    _address(0x16C): _Service({}),
}


class NetworkContracts:
    """The SystemContracts of the engine interface, on one state."""

    def __init__(self, state: LedgerState) -> None:
        self._state = state

    def at(self, address: Address) -> bool:
        return address in _SERVICES

    def account_code(self, address: Address, data: bytes) -> bytes:
        is_for_proxy = data[:SELECTOR_LENGTH] in functions.ACCOUNT_PROXY
        return proxy_code(AccountKind.ACCOUNT, address) if is_for_proxy else b""

    def tied_to_tokens(self, address: Address) -> bool:
        account = self._state.account_id_at(address)
        return account is not None and self._state.tied_to_tokens(account)

    def call(self, call: SystemCall) -> SystemAnswer:
        try:
            return self._answer(call, _SERVICES[call.address])
        except (InvalidArguments, hts.WrongType):
            return _HALTED

    def _answer(self, call: SystemCall, service: _Service) -> SystemAnswer:
        """Errors: InvalidArguments, WrongType, NotSupported."""
        redirected = self._redirected(call, service)
        if redirected is None:
            signature = service.functions.get(call.data[:SELECTOR_LENGTH])
        else:
            target, data = redirected
            signature = service.proxy_functions.get(data[:SELECTOR_LENGTH])
            if signature in hts.VIEWS:
                arguments = data[SELECTOR_LENGTH:]
                return hts.answer_view(self._state, target, signature, arguments, call.static)
        if signature is None:
            return _HALTED
        number = int.from_bytes(call.address, "big")
        raise NotSupported(f"{signature} of {number:#x} is not simulated yet")

    def _redirected(self, call: SystemCall, service: _Service) -> tuple[Address, bytes] | None:
        """Return whom a call through a proxy is for, and its own call data. Errors: InvalidArguments."""
        if service.redirect is None or call.data[:SELECTOR_LENGTH] != service.redirect:
            return None
        arguments = call.data[SELECTOR_LENGTH:]
        if call.recipient != call.address:
            caller = self._state.account(call.recipient)
            if caller is not None and caller.kind is service.proxied:
                # The proxy packs its address without padding.
                return call.recipient, arguments[_ADDRESS_LENGTH:]
        return address_at(arguments, 0), bytes_at(arguments, 1)
