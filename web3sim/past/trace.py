"""A past contract transaction run again, operation by operation, as the JSON that tells each of them.

Source: the transaction and its state of web3sim.past.transactions; contract_action for why system contracts
failed. The JSON is made in pieces: however many operations there are, no process holds them all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple

import orjson

from mirror.core import config
from mirror.core.values import entity_id
from web3sim.calls.call import (
    DATABASE_FAILURES,
    TOOK_TOO_LONG,
    Answer,
    Problem,
    unavailable,
    without_database,
)
from web3sim.engine import registry
from web3sim.engine.interface import CallResult, DeadlinePassed, NotSupported, Status
from web3sim.past import transactions
from web3sim.past.opcodes import Emit, OpcodeEntries
from web3sim.past.transactions import BlockMissing, CodeMissing, PastTransaction, Rerun
from web3sim.state.database import Reading
from web3sim.state.tables.interface import ADDRESS_LENGTH

# The engine that tells a tracer what it does.
_TRACING = "pyevm"
_NOBODY = bytes(ADDRESS_LENGTH)
# contract_action.call_type and result_data_type.
_SYSTEM, _REVERT_REASON = 4, 12

Reasons = Mapping[int, Sequence[bytes]]


class Trace(NamedTuple):
    """A request for an opcode trace: the transaction by its time (ns), and what to show of each operation.

    `deadline` is until when the answer has to begin, a time of `time.monotonic`; `seconds` how long it may
    take from then on.
    """

    consensus_timestamp: int
    stack: bool
    memory: bool
    storage: bool
    deadline: float
    seconds: float

    @property
    def last(self) -> float:
        """Until when the answer has to end however late it begins."""
        return self.deadline + self.seconds


def load_engine() -> None:
    """Import what tracing runs with, before the first of it."""
    registry.engine(_TRACING)


def answer(asked: Trace, emit: Emit) -> Answer:
    """Give the JSON to `emit` piece by piece; of a failure nothing. What is answered has no result.

    Errors: what nobody expects; after the first piece also DeadlinePassed.
    """
    try:
        reading = Reading(asked.last)
        found = transactions.at(asked.consensus_timestamp, reading)
        if found is None:
            return _failed(HTTPStatus.NOT_FOUND, f"Contract result not found: {asked.consensus_timestamp}")
        if not found.ran:
            emit(_head(_NOBODY, None, failed=True, gas=0) + b',"opcodes":[],"return_value":"0x"}')
            return Answer(HTTPStatus.OK)
        rerun = transactions.rerun(found, reading, asked.deadline)
        # Run without tracing first: that takes a fraction of the time, tells what comes first in the answer,
        # and whether there is one; and then all of the state has been read.
        engine = registry.engine(config.value("web3.evm.engine"))
        result = engine.execute(rerun.request, rerun.block, rerun.state, rerun.system)
        reasons = _reasons(asked.consensus_timestamp, reading)
    except BlockMissing:
        return _failed(HTTPStatus.NOT_FOUND, f"Block not found: {asked.consensus_timestamp}")
    except CodeMissing:
        return _failed(HTTPStatus.NOT_FOUND, f"Contract code not found: {asked.consensus_timestamp}")
    except NotSupported as error:
        return _failed(HTTPStatus.NOT_IMPLEMENTED, str(error))
    except DeadlinePassed:
        return unavailable(TOOK_TOO_LONG)
    except DATABASE_FAILURES as error:
        return without_database(error)
    _tell(asked, rerun, reasons, _outcome(found, rerun, result), result, emit)
    return Answer(HTTPStatus.OK)


def _failed(status: HTTPStatus, detail: str = "") -> Answer:
    return Answer(status, problems=(Problem(status.phrase, detail),))


def _reasons(consensus_timestamp: int, reading: Reading) -> Reasons:
    """Return the errors of failed calls of system contracts in a transaction, in order, by their depth."""
    # Index: the primary key (consensus_timestamp, index).
    rows = reading.fetch(
        f"""
        select call_depth, coalesce(result_data, '') from contract_action
        where consensus_timestamp = %s and call_type = {_SYSTEM} and result_data_type = {_REVERT_REASON}
        order by index
        """,
        (consensus_timestamp,),
    )
    reasons: dict[int, list[bytes]] = {}
    for depth, reason in rows:
        reasons.setdefault(depth, []).append(reason)
    return reasons


def _outcome(found: PastTransaction, rerun: Rerun, result: CallResult) -> bytes:
    address, entity = _NOBODY, None
    if result.status is Status.SUCCESS:
        to = rerun.request.to or rerun.request.new_contract_address
        assert to is not None
        recipient = rerun.ledger.entity_of_any_address(to)
        address = to if recipient is None else recipient.address
        entity = recipient.id if recipient is not None else found.contract_id if found.creates else None
    return _head(address, entity, failed=result.status is not Status.SUCCESS, gas=result.gas_used)


def _head(address: bytes, entity: int | None, *, failed: bool, gas: int) -> bytes:
    """Return the members before the operations, without a closing brace."""
    head = {
        "address": f"0x{address.hex()}",
        "contract_id": entity_id.text(entity),
        "failed": failed,
        "gas": gas,
    }
    return orjson.dumps(head).removesuffix(b"}")


def _tell(asked: Trace, rerun: Rerun, reasons: Reasons, head: bytes, result: CallResult, emit: Emit) -> None:
    emit(head + b',"opcodes":[')
    entries = OpcodeEntries(
        emit,
        stack=asked.stack,
        memory=asked.memory,
        storage=asked.storage,
        is_system=rerun.system.at,
        reasons=reasons,
    )
    request = replace(rerun.request, deadline=asked.last)
    registry.engine(_TRACING).execute(request, rerun.block, rerun.state, rerun.system, entries)
    entries.flush()
    output = result.output if result.status is Status.SUCCESS else b""
    emit(b'],"return_value":"0x%s"}' % output.hex().encode())
