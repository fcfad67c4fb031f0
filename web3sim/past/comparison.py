"""A past contract transaction run again, and what came of it held against what was recorded.

Only certain results count: a transaction whose state or code is not stored, or that reads the
hashes of too many blocks, is left out with the reason, and is neither a match nor a mismatch.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from mirror.core import config
from mirror.core.values import entity_id
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.hexadecimal import text as to_hex
from web3sim.calls.call import response_code
from web3sim.engine.interface import (
    AccountKind,
    AccountRecord,
    Address,
    CallRequest,
    CallResult,
    DeadlinePassed,
    Engine,
    Halt,
    Log,
    NotSupported,
    SlotChange,
    Status,
)
from web3sim.past import transactions
from web3sim.past.cases import ReadState, build_case
from web3sim.past.recorded import Recorded
from web3sim.past.transactions import BlockMissing, CodeMissing, PastTransaction, Rerun
from web3sim.state.database import Reading
from web3sim.system_contracts.abi import SELECTOR_LENGTH
from web3sim.system_contracts.function_signatures import selector_of

# Separated by spaces: those of ERC-20 and its usual extensions; of ERC-721 and ERC-1155; of wrapped hbar,
# owners, proxies and exchanges.
_SIGNATURES = """
    allowance(address,address) approve(address,uint256) balanceOf(address) burn(uint256) decimals()
    decreaseAllowance(address,uint256) increaseAllowance(address,uint256) mint(address,uint256) name()
    permit(address,address,uint256,uint256,uint8,bytes32,bytes32) symbol() totalSupply()
    transfer(address,uint256) transferFrom(address,address,uint256)
    balanceOf(address,uint256) getApproved(uint256) isApprovedForAll(address,address) mint(address)
    ownerOf(uint256) safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)
    safeMint(address,uint256) safeTransferFrom(address,address,uint256)
    safeTransferFrom(address,address,uint256,bytes)
    safeTransferFrom(address,address,uint256,uint256,bytes) setApprovalForAll(address,bool)
    tokenURI(uint256)
    acceptOwnership() claim() deposit() execute(address,uint256,bytes) grantRole(bytes32,address)
    initialize() multicall(bytes[]) owner() pause() renounceOwnership() supportsInterface(bytes4)
    swap(uint256,uint256,address,bytes) swapExactETHForTokens(uint256,address[],address,uint256)
    swapExactTokensForETH(uint256,uint256,address[],address,uint256)
    swapExactTokensForTokens(uint256,uint256,address[],address,uint256) transferOwnership(address)
    unpause() upgradeTo(address) upgradeToAndCall(address,bytes) withdraw() withdraw(uint256)
"""
_COMMON = {selector_of(signature): signature for signature in _SIGNATURES.split()}


def function_name(request: CallRequest) -> str:
    """The signature a call begins with, its selector if that is not a common one, or what else it is."""
    if request.to is None:
        return "(creation)"
    selector = request.data[:SELECTOR_LENGTH]
    if len(selector) < SELECTOR_LENGTH:
        return "(no function)"
    return _COMMON.get(selector, f"0x{selector.hex()}")


_TYPES = frozenset(
    NUMBERS[name] for name in ("CONTRACTCALL", "CONTRACTCREATEINSTANCE", "ETHEREUMTRANSACTION")
)
_SECONDS = 300.0
# Numbers of the network's own entities: what is not stored of them is not there.
_LAST_RESERVED_NUM = 1000
# A record may have a result of a transaction that the network refused for its nonce.
_OLD_REFUND_QUOTIENT = 5
_INIT_CODE_WORD = 2

# The names of halts in records, in addition to the response code of the transaction.
_HALT_NAMES = {
    Halt.OUT_OF_GAS: "INSUFFICIENT_GAS",
    Halt.STACK_UNDERFLOW: "INSUFFICIENT_STACK_ITEMS",
    Halt.STACK_OVERFLOW: "TOO_MANY_STACK_ITEMS",
    Halt.INVALID_JUMP: "INVALID_JUMP_DESTINATION",
    Halt.INVALID_OPCODE: "INVALID_OPERATION",
    Halt.RETURN_DATA_OUT_OF_BOUNDS: "INVALID_RETURN_DATA_BUFFER_ACCESS",
    Halt.CODE_SIZE_LIMIT: "CODE_TOO_LARGE",
    Halt.STATIC_CHANGE: "ILLEGAL_STATE_CHANGE",
    Halt.PRECOMPILE: "PRECOMPILE_ERROR",
}


class NotReplayable(Exception):
    """A transaction can't be replayed; the message says why."""


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"{self.name}: recorded {self.recorded}, replayed {self.replayed}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One transaction. `skipped` says why it was not run; `case` is it as a test, if it differs.

    `services` are the functions of system contracts that it called.
    """

    consensus_timestamp: int
    contract: str
    function: str
    differences: tuple[Difference, ...] = ()
    skipped: str | None = None
    case: Mapping[str, object] | None = None
    services: tuple[str, ...] = ()


class Replay:
    """Replays transactions with an engine.

    `beginning` is when the first stored block began (ns), None if that is the network's first.
    """

    def __init__(self, engine: Engine, reading: Reading, beginning: int | None) -> None:
        self._engine, self._reading, self._beginning = engine, reading, beginning
        self._precedes: dict[int, bool] = {}

    def run(self, transaction: PastTransaction, recorded: Recorded) -> Replayed:
        """Errors: those of the reading."""
        contract = entity_id.text(transaction.contract_id or None) or "none"
        key = (transaction.consensus_timestamp, contract)
        try:
            check_can_be_replayed(transaction, recorded)
            rerun = transactions.rerun(transaction, self._reading, time.monotonic() + _SECONDS)
            state = ReadState(_StateBefore(rerun, recorded, self))
            result = self._engine.execute(rerun.request, rerun.block, state, rerun.system)
        except NotReplayable as reason:
            return Replayed(*key, "", skipped=str(reason))
        except BlockMissing:
            return Replayed(*key, "", skipped="its block is not stored")
        except CodeMissing:
            return Replayed(*key, "", skipped="its init code, or the file with its data, is not stored")
        except NotSupported:
            return Replayed(*key, "", skipped="too many block hashes")
        except DeadlinePassed:
            return Replayed(*key, "", skipped="it takes too long")
        function = function_name(rerun.request)
        differences = tuple(compare(transaction, recorded, rerun, result))
        services = tuple(rerun.system.calls.elements())
        # A case has no ledger for system contracts.
        is_stored = differences and not services
        case = build_case(transaction, recorded, rerun, state, differences) if is_stored else None
        return Replayed(*key, function, differences, case=case, services=services)

    @property
    def is_complete(self) -> bool:
        """Return whether everything is stored since the network began."""
        return self._beginning is None

    def precedes(self, contract_id: int) -> bool:
        """Return whether a contract is older than the first stored block: its first state is unknown."""
        if self._beginning is None:
            return False
        if contract_id not in self._precedes:
            # Index: the primary key (id).
            row = self._reading.fetch_one(
                "select created_timestamp from entity where id = %s", (contract_id,)
            )
            created = None if row is None else row[0]
            self._precedes[contract_id] = created is None or created < self._beginning
        return self._precedes[contract_id]


def check_can_be_replayed(transaction: PastTransaction, recorded: Recorded) -> None:
    """Errors: LeftOut."""
    if transaction.transaction_nonce or transaction.type not in _TYPES:
        raise NotReplayable("a part of another transaction")
    if transaction.function_result is None or not transaction.ran:
        raise NotReplayable(f"it was never run ({transaction.result})")
    if not recorded.has_sidecars:
        raise NotReplayable("its sidecars are not loaded")


class _StateBefore:
    """The state before a transaction. Errors: LeftOut, for what is not known."""

    def __init__(self, rerun: Rerun, recorded: Recorded, replay: Replay) -> None:
        self._rerun, self._recorded, self._replay = rerun, recorded, replay
        new = rerun.request.new_contract_address
        self._new = recorded.created | ({new} if new else set())
        # The network's own contracts have no code.
        called = recorded.contracts - self._new
        self._contracts = {address for address in called if not rerun.system.is_system_contract(address)}
        # Nothing follows from these not being there.
        self._indifferent = {*self._new, rerun.request.sender}

    def account(self, address: Address) -> AccountRecord | None:
        record = self._rerun.state.account(address)
        is_contract = record is not None and record.kind is AccountKind.CONTRACT
        if (is_contract or address in self._contracts) and (record is None or not record.code):
            raise NotReplayable("the code of a contract is not stored")
        if record is None and not self._replay.is_complete and address not in self._indifferent:
            num = entity_id.num_of_long_zero(address)
            if num is None or num > _LAST_RESERVED_NUM:
                raise NotReplayable("an account may be older than the first block stored")
        return record

    def slot(self, address: Address, slot: int) -> int:
        value = self._rerun.state.slot(address, slot)
        entity = self._rerun.ledger.entity_at(address)
        if value or entity is None or not self._replay.precedes(entity.id):
            return value
        # No change is stored: only the transaction's own record may show the value.
        recorded_change = self._recorded.changes.get((address, slot))
        if recorded_change is None:
            raise NotReplayable("the state of a contract is older than the first block stored")
        return recorded_change.read

    def block_hash(self, number: int) -> bytes:
        return self._rerun.state.block_hash(number)


# COMPARING


def compare(
    transaction: PastTransaction, recorded: Recorded, rerun: Rerun, result: CallResult
) -> Iterator[Difference]:
    code = response_code(result)
    if transaction.result != code:
        yield Difference("result", transaction.result, code)
    elif result.status is Status.SUCCESS:
        if (transaction.call_result or b"") != result.output:
            yield Difference("output", to_hex(transaction.call_result or b""), to_hex(result.output))
    elif not _same_error(transaction.error_message, result):
        yield Difference("error", repr(transaction.error_message), _error(result))
    yield from _gas(transaction, rerun, result)
    yield from _in_order("log", recorded.logs, _logs(recorded, rerun, result))
    if recorded.created != set(result.created):
        yield Difference("created contracts", _join(recorded.created), _join(result.created))
    yield from _changes(recorded, rerun, result)


def _logs(recorded: Recorded, rerun: Rerun, result: CallResult) -> Sequence[Log]:
    """Nodes of older networks did not log the transfers of tokens; mirrors did it for them."""
    of_tokens = {log.address for log in result.logs if rerun.ledger.token_at(log.address) is not None}
    if not of_tokens or any(log.address in of_tokens for log in recorded.logs):
        return result.logs
    return [log for log in result.logs if log.address not in of_tokens]


def _same_error(message: str | None, result: CallResult) -> bool:
    """Records have the revert data, or the name of the halt, or repeat the response code."""
    if not message or message == response_code(result):
        return True
    return message == _error(result)


def _error(result: CallResult) -> str:
    if result.halt is None:
        return to_hex(result.output)
    return _HALT_NAMES.get(result.halt, response_code(result))


def _gas(transaction: PastTransaction, rerun: Rerun, result: CallResult) -> Iterator[Difference]:
    """Before mid-2025 networks counted all refunds; older ones at most a fifth of the limit: then the gas
    used is not what was consumed, which is recorded before refunds, and without the words of init code.
    """
    limit, used = rerun.request.gas, result.gas_used
    before_refunds = result.intrinsic_gas + result.execution_gas
    consumed = used if result.status is Status.HALT else before_refunds - result.refund
    min_used = limit * (100 - int(config.value("web3.evm.maxGasRefundPercentage"))) // 100
    accepted = {max(used, min_used), max(consumed, min_used)}
    if transaction.gas_consumed not in (None, transaction.gas_used):
        accepted.add(max(consumed, limit - limit // _OLD_REFUND_QUOTIENT))
    if transaction.gas_used is not None and transaction.gas_used not in accepted:
        yield Difference("gas used", str(transaction.gas_used), str(max(used, min_used)))
    words = _INIT_CODE_WORD * ((len(rerun.request.data) + 31) // 32) if rerun.request.to is None else 0
    if transaction.gas_consumed not in (None, used, consumed, before_refunds, before_refunds - words):
        yield Difference("gas consumed", str(transaction.gas_consumed), str(used))


def _in_order(name: str, recorded: Sequence[Log], replayed: Sequence[Log]) -> Iterator[Difference]:
    for index, (theirs, ours) in enumerate(zip_longest(recorded, replayed)):
        if theirs != ours:
            yield Difference(f"{name} {index}", _log_text(theirs), _log_text(ours))


def _changes(recorded: Recorded, rerun: Rerun, result: CallResult) -> Iterator[Difference]:
    replayed = {key: change for key, change in result.slots.items() if _is_recorded(key[0], recorded, rerun)}
    for address, slot in sorted(recorded.changes.keys() | replayed.keys()):
        theirs, ours = recorded.changes.get((address, slot)), replayed.get((address, slot))
        if theirs is None or ours is None or _normalized(theirs) != _normalized(ours):
            yield Difference(f"slot {slot:#x} of {to_hex(address)}", _change_text(theirs), _change_text(ours))


def _is_recorded(address: Address, recorded: Recorded, rerun: Rerun) -> bool:
    """Storage is recorded by contract id: not of a contract whose creation failed."""
    return address in recorded.created or rerun.ledger.entity_at(address) is not None


def _normalized(change: SlotChange) -> SlotChange:
    """Writing what was there already may be recorded or not."""
    return SlotChange(change.read, None if change.written == change.read else change.written)


def _log_text(log: Log | None) -> str:
    if log is None:
        return "none"
    return f"{to_hex(log.address)} [{', '.join(map(to_hex, log.topics))}] {to_hex(log.data)}"


def _change_text(change: SlotChange | None) -> str:
    if change is None:
        return "untouched"
    return f"{change.read:#x}" if change.written is None else f"{change.read:#x} -> {change.written:#x}"


def _join(addresses: Iterable[Address]) -> str:
    return ", ".join(sorted(map(to_hex, addresses))) or "none"
