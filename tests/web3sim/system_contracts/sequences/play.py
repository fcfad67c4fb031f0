"""Random sequences of calls, nested in frames that may revert, and what came of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from tests.web3sim.state.states import current, journal, long_zero
from tests.web3sim.system_contracts.caller import Outcome, Step, listed, outcomes
from tests.web3sim.system_contracts.calls import BLOCK
from tests.web3sim.system_contracts.sequences.arguments import account, call_data, fungible, token
from tests.web3sim.system_contracts.sequences.ledger import CONTRACTS, HOLDER, SCHEDULE
from web3sim.engine import registry
from web3sim.engine.interface import CallRequest, CallResult, Journal, SystemAnswer, SystemCall
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay
from web3sim.state.proxy_code import ACCOUNT_SERVICE, SCHEDULE_SERVICE, TOKEN_SERVICE
from web3sim.system_contracts.contracts import SERVICES, NetworkContracts
from web3sim.system_contracts.functions import Function

MAX_STEPS = 20
_OWN_GAS = 10**6
# More than a token creation costs.
_FEE = 3 * 10**9


class Frame(NamedTuple):
    """Steps of one contract, which may revert in the end; `kind` is how the contract was called."""

    contract: int
    kind: str
    reverts: bool
    steps: "tuple[Step | Frame, ...]"

    @property
    def stays(self) -> bool:
        """Whether what the steps change stays."""
        return not self.reverts and self.kind != "STATICCALL"

    def data(self) -> bytes:
        return listed([_step(each) for each in self.steps], reverts=self.reverts)

    def staying(self) -> "Frame":
        """Without the frames of which nothing stays."""
        steps = (each.staying() if isinstance(each, Frame) else each for each in self.steps)
        return self._replace(steps=tuple(each for each in steps if isinstance(each, Step) or each.stays))


def _step(each: Step | Frame) -> Step:
    if isinstance(each, Step):
        return each
    return Step(long_zero(each.contract), each.data(), each.kind, gas=_gas(each))


def _gas(frame: Frame) -> int:
    """Enough for all steps, whichever of them use up what they get."""
    return _OWN_GAS + 2 * sum(_step(each).gas for each in frame.steps)


# RANDOM STEPS


class _Callable(NamedTuple):
    service: bytes
    function: Function
    at_own_address: bool


FUNCTIONS = tuple(
    _Callable(address, function, bool(at_own_address))
    for address, service in SERVICES.items()
    for at_own_address, functions in enumerate((service.functions, service.proxy_functions))
    for function in functions.values()
)
_WRITING = tuple(each for each in FUNCTIONS if each.function.writes)


def random_frame(random: Random) -> Frame:
    """The outermost contract, which does not revert, so that what it has changed can be looked at."""
    return Frame(random.choice(CONTRACTS), "CALL", False, _steps(random, random.randint(1, MAX_STEPS), 0))


def _steps(random: Random, number: int, depth: int) -> tuple[Step | Frame, ...]:
    steps: list[Step | Frame] = []
    while number:
        if depth < 3 and random.random() < 0.25:
            taken = random.randint(1, number)
            kind = random.choice(("CALL", "CALL", "CALL", "CALL", "DELEGATECALL", "STATICCALL"))
            inner = _steps(random, taken, depth + 1)
            steps.append(Frame(random.choice(CONTRACTS), kind, random.random() < 0.4, inner))
        else:
            taken = 1
            steps.append(_random_step(random))
        number -= taken
    return tuple(steps)


def _random_step(random: Random) -> Step:
    each = random.choice(_WRITING if random.random() < 0.85 else FUNCTIONS)
    to = each.service
    if each.at_own_address:
        to = _OWN_ADDRESS[each.service](random)
    kind = "STATICCALL" if random.random() < 0.03 else "CALL"
    creates = each.function.signature.startswith("create") and kind == "CALL"
    data = call_data(random, each.function.signature, at_own_address=each.at_own_address)
    return Step(to, data, kind, random.choice((_FEE, _FEE, 0)) if creates else 0)


_OWN_ADDRESS: Mapping[bytes, Callable[[Random], bytes]] = {
    TOKEN_SERVICE: lambda random: random.choice((token, fungible))(random),
    ACCOUNT_SERVICE: account,
    SCHEDULE_SERVICE: lambda _: long_zero(SCHEDULE),
}


# PLAYING


@dataclass
class Played:
    """A call that is over, and the ledger as it left it."""

    result: CallResult
    ledger: Overlay

    def outcomes(self, frame: Frame) -> list[Any]:
        """What came of each step that stays, with the steps of frames."""
        return _of_staying(frame, Outcome(True, self.result.output))


def _of_staying(frame: Frame, outcome: Outcome) -> list[Any]:
    return [
        _of_staying(each, got) if isinstance(each, Frame) and got.succeeded else got
        for each, got in zip(frame.steps, outcomes(outcome), strict=True)
        if isinstance(each, Step) or each.stays
    ]


class _Watched:
    """The system contracts, and beside them somebody who looks at the ledger in the middle of the call."""

    def __init__(self, state: LedgerState, look: Callable[[], None], after: int) -> None:
        self._contracts, self._look, self._after = NetworkContracts(state), look, after
        self.is_system_contract, self.account_code = (
            self._contracts.is_system_contract,
            self._contracts.account_code,
        )
        self.proxied, self.accepts_value = self._contracts.proxied, self._contracts.accepts_value
        self.tied_to_tokens, self.creation_gas = self._contracts.tied_to_tokens, self._contracts.creation_gas
        self.add_created = self._contracts.add_created
        self.journal: Journal | None = None

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        self.journal = journal
        answer = self._contracts.call(call, journal)
        self._after -= 1
        if not self._after:
            self._look()
        return answer


def play(frame: Frame, look: Callable[[], None] = lambda: None, after: int = 0) -> Played:
    """Run a call on the stored ledger; `look` runs in the middle of it, `after` so many system calls."""
    state = current()
    watched = _Watched(state, look, after)
    request = CallRequest(long_zero(HOLDER), long_zero(frame.contract), frame.data(), 2 * _gas(frame))
    result = registry.engine("pyevm").execute(request, BLOCK, state, watched)
    # Without a call of a system contract nothing has changed.
    return Played(result, Overlay(state, watched.journal or journal(state)))
