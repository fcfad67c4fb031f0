"""What a function of a system contract is: an entry in the table of its contract, and a Python function."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from web3sim.engine.interface import Address, Log, SystemCall
from web3sim.operations.prices import Prices
from web3sim.operations.refusals import Refused
from web3sim.operations.signers import Signers
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Entity, Token
from web3sim.system_contracts import abi
from web3sim.system_contracts.signatures import canonical, parameters_of, selector_of

#: The response code with which most answers begin, and the answer that has nothing else in it.
SUCCESS_CODE = 22
SUCCESS = abi.word_of(SUCCESS_CODE)


class WrongType(Exception):
    """The function is not one of tokens of this type: the service halts."""


@dataclass(slots=True)
class Invocation:
    """One call of a function. `arguments` is what follows the selector.

    `target` is the address of the token, account or schedule that was called in the guise of a contract; None
    where the system contract itself was. What a function writes and logs is dropped if it refuses.
    """

    call: SystemCall
    ledger: Overlay
    prices: Prices
    arguments: bytes
    function: "Function"
    target: Address | None = None
    logs: list[Log] = field(default_factory=list)
    #: Gas in addition to that of the function's entry.
    more_gas: int = 0
    _signers: Signers | None = None

    def decoded(self) -> tuple[Any, ...]:
        """Return the arguments by the signature, addresses as bytes. Errors: InvalidArguments."""
        return abi.decoded(self.function.parameters, self.arguments)

    @property
    def signers(self) -> Signers:
        if self._signers is None:
            sender = self.ledger.account_id_at(self.call.sender)
            self._signers = Signers(sender, self.call.sender, delegated=self.call.sender_is_delegated)
        return self._signers

    def sender(self) -> Entity:
        """Return the account or contract that called. Errors: Refused."""
        return self.account(self.call.sender)

    def account(self, address: Address, code: str = "INVALID_ACCOUNT_ID") -> Entity:
        """Return the account or contract at an address. Errors: Refused."""
        account = self.ledger.account_at(address)
        if account is None:
            raise Refused(code)
        return account

    def token(self, address: Address | None = None) -> Token:
        """Return the token at an address, or at the target. Errors: Refused."""
        at = self.target if address is None else address
        token = None if at is None else self.ledger.token_at(at)
        if token is None:
            raise Refused("INVALID_TOKEN_ID", as_word=False if address is None else None)
        return token

    def log(self, address: Address, *topics: bytes, data: bytes = b"") -> None:
        """Log as the contract at an address; topics of addresses and numbers are padded."""
        self.logs.append(Log(address, tuple(topic.rjust(abi.WORD, b"\0") for topic in topics), data))


#: The output of a function. Errors: Refused, WrongType, InvalidArguments.
Handler = Callable[[Invocation], bytes]
#: The gas of a call that has been answered.
Gas = Callable[[Invocation], int]


def view_gas(invocation: Invocation) -> int:
    return invocation.prices.gas_of_view


def costs(tinycents: int) -> Gas:
    """Return the gas of an operation with this canonical price."""
    return lambda invocation: invocation.prices.gas_of(tinycents)


@dataclass(frozen=True)
class Function:
    """`signature` has names of structs (`signatures.STRUCTS`).

    `returns` are the types of its output. A function that begins with a response code, `tells_code`, answers
    what the ledger refuses with that code and with nothing in the rest, or with `nothing`; others revert.
    In a static frame a view reverts in any case, unless it `tells_code_when_static`.
    """

    signature: str
    handler: Handler
    returns: str = "(int64)"
    gas: Gas = view_gas
    writes: bool = False
    tells_code: bool = True
    tells_code_when_static: bool = False
    nothing: Callable[[], Sequence[Any]] | None = None

    @property
    def selector(self) -> bytes:
        return selector_of(self.signature)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return parameters_of(self.signature)

    @cached_property
    def results(self) -> tuple[str, ...]:
        return parameters_of(canonical(self.returns))

    def refusal(self, number: int) -> bytes:
        """Return the output for a response code, with empty results."""
        empty = [abi.empty(kind) for kind in self.results[1:]] if self.nothing is None else self.nothing()
        return abi.encoded(self.results, (number, *empty))


def by_selector(functions: Iterable[Function]) -> dict[bytes, Function]:
    return {function.selector: function for function in functions}
