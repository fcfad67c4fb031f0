"""The input and the output of an EVM engine.

An `Engine` runs one message on a state that it reads through a `StateReader` and never writes to. Amounts are
tinybars where Ethereum has wei; addresses are 20 bytes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from web3sim.engine.versions import LATEST, EvmVersion

Address = bytes
ZERO_ADDRESS: Address = bytes(20)


class Profile(Enum):
    """Whose rules apply: plain Cancun, or Cancun with what a ledger network changes."""

    ETHEREUM = "ethereum"
    LEDGER = "ledger"


class Status(Enum):
    SUCCESS = "success"
    REVERT = "revert"
    HALT = "halt"


class Halt(Enum):
    """The reason why a frame ended exceptionally, and so used all of its gas."""

    OUT_OF_GAS = "out_of_gas"
    STACK_UNDERFLOW = "stack_underflow"
    STACK_OVERFLOW = "stack_overflow"
    INVALID_JUMP = "invalid_jump"
    INVALID_OPCODE = "invalid_opcode"
    RETURN_DATA_OUT_OF_BOUNDS = "return_data_out_of_bounds"
    CODE_SIZE_LIMIT = "code_size_limit"
    # A change of state in a static call.
    STATIC_CHANGE = "static_change"
    CREATION_COLLISION = "creation_collision"
    PRECOMPILE = "precompile"
    # What only a ledger network knows.
    INVALID_ADDRESS = "invalid_address"
    INVALID_CONTRACT = "invalid_contract"
    INVALID_ALIAS = "invalid_alias"
    INVALID_SIGNATURE = "invalid_signature"
    CHILD_RECORDS = "child_records"
    NO_SCHEDULING = "no_scheduling"
    SELF_DESTRUCT_TO_SELF = "self_destruct_to_self"
    OTHER = "other"


class AccountKind(Enum):
    ACCOUNT = "account"
    CONTRACT = "contract"
    TOKEN = "token"
    SCHEDULE = "schedule"


class AccountRecord(NamedTuple):
    """An account as the EVM sees it before the call. `entity_id` is encoded; None in the ethereum profile.

    Once the call loads the account (`Journal.fund`), its balance is at least `min_balance`.
    """

    balance: int = 0
    nonce: int = 0
    code: bytes = b""
    kind: AccountKind = AccountKind.ACCOUNT
    entity_id: int | None = None
    receiver_signature_required: bool = False
    min_balance: int = 0


# CODE DELEGATIONS (EIP-7702): the code of an account that runs the code of another address.

_DELEGATION = bytes.fromhex("ef0100")
_DELEGATION_LENGTH = len(_DELEGATION) + 20


def delegation_to(address: Address) -> bytes:
    """Return the code of an account that delegates to an address."""
    return _DELEGATION + address


def get_delegate(code: bytes) -> Address | None:
    """Return the address that code delegates to; None for other code."""
    if len(code) != _DELEGATION_LENGTH or not code.startswith(_DELEGATION):
        return None
    return code[len(_DELEGATION) :]


class StateReader(Protocol):
    """The state before the call. What it raises, such as for a database's time limit, ends the whole call."""

    def account(self, address: Address) -> AccountRecord | None:
        """Return the account at an address; None without one."""

    def slot(self, address: Address, slot: int) -> int:
        """Return a storage value; 0 when it was never written."""

    def block_hash(self, number: int) -> bytes:
        """Return 32 bytes; zero bytes when the block is unknown."""


class BlockEnvironment(NamedTuple):
    """The values of the block a call runs in. `timestamp` is in seconds."""

    number: int
    timestamp: int
    coinbase: Address
    prevrandao: bytes
    gas_limit: int
    chain_id: int
    base_fee: int = 0


#: Addresses with slots of their storage, which are all warm as a call begins (EIP-2930).
AccessList = tuple[tuple[Address, tuple[int, ...]], ...]


class CallRequest(NamedTuple):
    """One message. Without `to` it creates a contract: `data` is the init code.

    `new_contract_address` is where a creation puts the contract; without it the address follows from sender
    and nonce. `version` is that of the ledger's EVM. `deadline` is a time of `time.monotonic`, in seconds.
    `sender_balance` is the sender's in place of the stored one, and is not raised to the least balance.
    """

    sender: Address
    to: Address | None
    data: bytes
    gas: int
    value: int = 0
    gas_price: int = 0
    static: bool = False
    profile: Profile = Profile.LEDGER
    new_contract_address: Address | None = None
    version: EvmVersion = LATEST
    deadline: float | None = None
    sender_balance: int | None = None
    access_list: AccessList = ()


@dataclass(frozen=True, slots=True)
class Log:
    address: Address
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class SlotChange:
    """A storage slot that the call read, and what it holds afterwards; `written` is None when only read."""

    read: int
    written: int | None = None


class CallResult(NamedTuple):
    """The outcome of a call.

    `gas_used` = intrinsic + execution - refund, of which at most a fifth of both counts (EIP-3529); a halt
    uses the whole limit. `slots` are the storage slots that were read or written, `balances` the balances
    that differ from before. `child_failures` are response code names of failed system contract calls.
    """

    status: Status
    output: bytes
    gas_used: int
    intrinsic_gas: int
    execution_gas: int
    refund: int
    logs: tuple[Log, ...] = ()
    created: tuple[Address, ...] = ()
    deleted: tuple[Address, ...] = ()
    halt: Halt | None = None
    slots: Mapping[tuple[Address, int], SlotChange] = {}
    balances: Mapping[Address, int] = {}
    child_failures: tuple[str, ...] = ()


# SYSTEM CONTRACTS


class Journal(Protocol):
    """What a call has changed so far.

    A frame that reverts, or going back to a checkpoint, undoes the later changes.
    """

    def original(self, address: Address) -> AccountRecord | None:
        """Return the account at an address before the call."""

    def current(self, address: Address) -> AccountRecord | None:
        """Return the same, or what a system contract has added there since."""

    def account_exists(self, address: Address) -> bool: ...

    def get_balance(self, address: Address) -> int: ...

    def set_balance(self, address: Address, balance: int) -> None: ...

    def fund(self, address: Address) -> None:
        """Raise the balance of an account to its least balance, the first time that the call loads it."""

    def add_account(self, address: Address, record: AccountRecord) -> None:
        """Add an account at an address without one."""

    def row(self, key: Hashable, default: Any = None) -> Any:
        """Return what was put under a key, or the default."""

    def put_row(self, key: Hashable, row: Any) -> None: ...

    def rows(self) -> Mapping[Hashable, Any]:
        """Return a live view of all rows that were put and not undone."""

    def checkpoint(self) -> int: ...

    def revert_to(self, checkpoint: int) -> None: ...


class SystemCall(NamedTuple):
    """A call that reached a system contract; in a delegate call `recipient` is the token or account.

    It is `by_delegation` if the code of the recipient is a code delegation, which doesn't pack `data`.
    `sender` called the system contract or, if there is one between, the proxy code at `recipient`;
    `sender_is_delegated` says that it ran the code of another contract. `origin` pays the whole call.
    """

    address: Address
    recipient: Address
    sender: Address
    data: bytes
    value: int
    gas: int
    static: bool
    depth: int
    origin: Address = ZERO_ADDRESS
    sender_is_delegated: bool = False
    by_delegation: bool = False


class ScheduledCall(NamedTuple):
    """A call of a contract that a payer makes in addition to the running one, with gas of its own."""

    payer: Address
    to: Address
    value: int
    data: bytes
    gas: int


class SystemAnswer(NamedTuple):
    """The answer of a system contract: output for `gas`; reverted, or halted with all gas used.

    `child` is the response code of the transaction that the call leaves in the records; None if it leaves
    none. `scheduled` is made after it; whatever comes of that call, the answer stands.
    """

    output: bytes = b""
    gas: int = 0
    reverted: bool = False
    halt: Halt | None = None
    logs: tuple[Log, ...] = ()
    child: str | None = None
    scheduled: ScheduledCall | None = None


class SystemContracts(Protocol):
    """The network's own contracts (0x167 and on), as the engine sees them."""

    @property
    def creation_gas(self) -> int:
        """The gas of an account that is created where value is sent to an address of its own."""

    def is_system_contract(self, address: Address) -> bool:
        """Return whether there is a system contract at an address."""

    def proxied(self, address: Address) -> AccountKind | None:
        """Return the kind of accounts whose code may delegate to a system contract; None if all code may."""

    def accepts_value(self, address: Address, selector: bytes) -> bool:
        """Return whether a function takes value: the fee of a token."""

    def account_code(self, address: Address, data: bytes) -> bytes:
        """The proxy code that runs when an account without code is called with `data`; empty for none."""

    def tied_to_tokens(self, address: Address, journal: Journal, *, only_as_treasury: bool = False) -> bool:
        """Return whether a contract is a token's treasury or, unless `only_as_treasury`, holds tokens.

        Then it can't destroy itself.
        """

    def add_created(self, address: Address, kind: AccountKind, journal: Journal) -> None:
        """Number a contract as its creation begins, or an account that a transfer of value has made."""

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        """Answer a call."""


# TRACING


@dataclass(frozen=True, slots=True)
class FrameStart:
    """`operation` is the one that opened the frame, such as DELEGATECALL; outermost: CALL or CREATE."""

    depth: int
    operation: str
    sender: Address
    recipient: Address
    code_address: Address
    value: int
    gas: int
    data: bytes
    precompile: bool


@dataclass(frozen=True, slots=True)
class FrameEnd:
    depth: int
    status: Status
    halt: Halt | None
    output: bytes
    gas_used: int


@dataclass(frozen=True, slots=True)
class Step:
    """One executed operation, sampled after it: `gas` is what the frame has left; `stack` is bottom first.

    An operation that opens a frame is sampled before the frame: `gas` and `gas_cost` are without the gas of
    the frame, the depth is the frame's, and the result is not on the stack yet.

    `stack`, `memory` (32-byte words) and `storage` (slots written so far in the transaction, in their
    order) are empty unless the tracer wants them. `reason` is the revert data, if the step reverted the
    frame.
    """

    pc: int
    op: str
    gas: int
    gas_cost: int
    depth: int
    stack: Sequence[int]
    memory: Sequence[bytes]
    storage: Mapping[int, int]
    reason: bytes | None


class Tracer(Protocol):
    """Without `trace_steps` it gets frames alone, which costs a call little."""

    trace_steps: bool
    trace_stack: bool
    trace_memory: bool
    trace_storage: bool

    def frame_start(self, frame: FrameStart) -> None: ...
    def step(self, step: Step) -> None: ...
    def frame_end(self, frame: FrameEnd) -> None: ...


# ENGINES


class Engine(Protocol):
    name: str

    def execute(
        self,
        request: CallRequest,
        block: BlockEnvironment,
        state: StateReader,
        system: SystemContracts | None = None,
        tracer: Tracer | None = None,
    ) -> CallResult:
        """Run one message.

        Errors: DeadlinePassed, NotSupported, InsufficientFunds, and whatever `state` raises.
        """


class DeadlinePassed(Exception):
    """The call took longer than its deadline allows."""


class NotSupported(Exception):
    """The call reads the hashes of more blocks than it may; the message says how many it may."""


class InsufficientFunds(Exception):
    """The sender can't pay the value of the outermost message."""
