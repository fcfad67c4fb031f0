"""What the web server sends to the processes that run calls, and their answer; neither needs the EVM."""

from http import HTTPStatus
from typing import NamedTuple

from mirror.core.processes.typed_json import TypedJson
from web3sim.engine.interface import AccessList, Address
from web3sim.state.blocks import BlockSelector
from web3sim.state.overridden_state import Override


class Call(NamedTuple):
    """A call to simulate. `deadline` is a time of `time.monotonic`, `engine` a name of the registry."""

    block: BlockSelector
    data: bytes
    sender: Address | None
    to: Address | None
    gas: int
    gas_price: int
    value: int
    estimate: bool
    engine: str
    deadline: float
    overrides: tuple[Override, ...] = ()
    access_list: AccessList = ()


class Problem(NamedTuple):
    message: str
    detail: str = ""
    data: str = ""


class CallAnswer(NamedTuple):
    """The answer to a client: `result`, or for any other status than 200 the problems.

    `used` is the gas of the first run; None when there was none.
    """

    status: HTTPStatus
    result: bytes = b""
    problems: tuple[Problem, ...] = ()
    used: int | None = None


class Trace(NamedTuple):
    """A request for an opcode trace: the timestamp of the transaction, and what to show of each operation.

    The answer must begin before `deadline`, a time of `time.monotonic`, and may take `seconds` from then on.
    """

    consensus_timestamp: int
    stack: bool
    memory: bool
    storage: bool
    deadline: float
    seconds: float

    @property
    def last(self) -> float:
        """The latest time at which the answer may end."""
        return self.deadline + self.seconds


#: A request, and the id of the client's request.
REQUEST = TypedJson(tuple[Call | Trace, str | None])
#: The answer, whose result follows, or None if chunks follow; and whether it is the last.
ANSWER = TypedJson(tuple[CallAnswer | None, bool])
#: The end of chunks: whether they are complete, and whether they were the last answer.
END = TypedJson(tuple[bool, bool])
