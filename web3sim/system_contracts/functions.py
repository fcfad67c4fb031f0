"""What a function of a system contract is: an entry in the table of its contract."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from web3sim.engine.interface import Address, Log, ScheduledCall, SystemCall
from web3sim.operations.holdings import existing_account
from web3sim.operations.prices import WITHOUT_FILES, Prices
from web3sim.operations.rejections import Rejected, Rejection, required
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Entity, Token
from web3sim.system_contracts import abi
from web3sim.system_contracts.function_signatures import canonical, parameters_of, selector_of

#: The response code with which most answers begin.
SUCCESS_CODE = 22


class UnknownFunction(Exception):
    """There is no such function after all: the call succeeds without output, for no gas."""


@dataclass(slots=True)
class Invocation:
    """One call of a function with its decoded arguments, addresses as bytes.

    `target` is the address of the token, account or schedule that was called in the guise of a contract, None
    where the system contract itself was; functions of a target have it as their first argument. What a
    function writes and logs is dropped if it refuses.
    """

    call: SystemCall
    ledger: Overlay
    prices: Prices
    function: "Function"
    arguments: tuple[Any, ...]
    target: Address | None = None
    logs: list[Log] = field(default_factory=list)
    # Gas in addition to that of the function's entry.
    extra_gas: int = 0
    # Whether the call is recorded as a transaction, if the function says so.
    leaves_child: bool = True
    # What a function has executed and the engine has to run.
    scheduled: ScheduledCall | None = None

    def child(self, code: str) -> str | None:
        """Return the code of the child that a call with this code leaves; None if it leaves none."""
        return code if self.function.leaves_child and self.leaves_child else None

    @property
    def sender_id(self) -> int | None:
        return self.ledger.account_id_at(self.call.sender)

    def sender(self) -> Entity:
        """Return the account or contract that called. Errors: Rejected."""
        return existing_account(self.ledger, self.call.sender)

    def token(self, address: Address) -> Token:
        """Return the token at an address, also one that the call has deleted. Errors: Rejected."""
        return required(self.ledger.known_token_at(address), "INVALID_TOKEN_ID")

    def log(self, address: Address, *topics: bytes, data: bytes = b"") -> None:
        """Log as the contract at an address; topics of addresses and numbers are padded."""
        self.logs.append(Log(address, tuple(topic.rjust(abi.WORD, b"\0") for topic in topics), data))


#: From the arguments to the results: one value, a tuple of several, or None for none. Errors: Rejected,
#: InvalidArguments.
Operation = Callable[..., Any]


@dataclass(frozen=True)
class Gas:
    """The gas of a call, without what the operation adds; `text` says it at the usual price of gas."""

    of: Callable[[Invocation], int]
    text: str

    def __call__(self, invocation: Invocation) -> int:
        return self.of(invocation)


def costs(tinycents: int, count: Callable[..., int] | None = None, each: str = "") -> Gas:
    """Return the gas of an operation with this canonical price, so many times as `count` of the arguments."""
    text = f"{WITHOUT_FILES.gas_of(tinycents):,}"
    if count is None:
        return Gas(lambda invocation: invocation.prices.gas_of(tinycents), text)
    return Gas(
        lambda invocation: invocation.prices.gas_of(tinycents * count(*invocation.arguments)),
        f"{text} for each {each}",
    )


def flat(gas: int, text: str = "") -> Gas:
    return Gas(lambda invocation: gas, text or f"{gas:,}")


view_gas = Gas(lambda invocation: invocation.prices.gas_of_view, f"{WITHOUT_FILES.gas_of_view:,}")


@dataclass(frozen=True)
class Function:
    """`signature` has names of structs (`signatures.STRUCTS`).

    `returns` are the types of its output; with `has_code` the first is the response code of success, which
    the operation doesn't return. `rejection` is what becomes of a rejected operation, in a static frame
    `static_rejection`. Of a rejected operation that answers its code the other results are `nothing`, or
    empty. A static frame halts what `writes`, and views that are not `static`, once `limits` has checked the
    arguments: what that refuses reverts with its name, for all gas.

    Of the functions of a token, account or schedule those that `need_target` halt elsewhere; those of the
    contract itself that are `only_direct` are unknown there. A call that `leaves_child` is recorded as a
    transaction. Once a function that `schedules_calls` is refused, the next one ends the whole call.
    """

    signature: str
    operation: Operation
    returns: str = "(int64)"
    gas: Gas = view_gas
    writes: bool = False
    static: bool = True
    rejection: Rejection = Rejection.CODE
    static_rejection: Rejection = Rejection.TEXT
    has_code: bool = True
    nothing: Callable[[], Sequence[Any]] | None = None
    limits: Operation | None = None
    needs_target: bool = False
    only_direct: bool = False
    leaves_child: bool = True
    schedules_calls: bool = False

    @property
    def selector(self) -> bytes:
        return selector_of(self.signature)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return parameters_of(self.signature)

    @cached_property
    def results(self) -> tuple[str, ...]:
        return parameters_of(canonical(self.returns))

    def output(self, results: Any) -> bytes:
        """Encode what the operation has returned."""
        values = results if type(results) is tuple else () if results is None else (results,)
        if self.has_code:
            return abi.encoded(self.results, (SUCCESS_CODE, *values))
        return abi.encoded(self.results, values) if values else b""

    def rejected_output(self, error: Rejected) -> bytes:
        """Return the output with a response code, and with empty results unless others are given."""
        results: Sequence[Any] | None = error.results
        if results is None:
            results = (
                [abi.empty(kind) for kind in self.results[1:]] if self.nothing is None else self.nothing()
            )
        return abi.encoded(self.results, (error.number, *results))


def same_columns(operations: Mapping[str, Operation], **columns: Any) -> Iterator[Function]:
    """Yield functions by signature that differ in their operations alone."""
    return (Function(signature, operation, **columns) for signature, operation in operations.items())


def by_selector(*functions: Function) -> dict[bytes, Function]:
    return {function.selector: function for function in functions}
