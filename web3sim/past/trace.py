"""Opcode traces: a past contract transaction run again, as the JSON of each operation.

Source: the transaction and its state of web3sim.past.transactions; contract_action for why system contracts
failed. The JSON is made in chunks: however many operations there are, no process holds them all.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import orjson

from mirror.core import config
from mirror.core.values import entity_id
from web3sim.calls.call import DATABASE_FAILURES, TIMEOUT, database_unavailable, unavailable
from web3sim.calls.messages import CallAnswer, Problem, Trace
from web3sim.engine import registry
from web3sim.engine.interface import CallResult, DeadlinePassed, NotSupported, Status
from web3sim.past import transactions
from web3sim.past.opcode_entries import Emit, OpcodeEntries
from web3sim.past.transactions import BlockMissing, CodeMissing, PastTransaction, Rerun
from web3sim.state.database import Reading
from web3sim.state.tables.rows import ADDRESS_LENGTH

# The engine that supports tracers.
_TRACING = "pyevm"
_NO_ADDRESS = bytes(ADDRESS_LENGTH)
# contract_action.call_type and result_data_type.
_SYSTEM, _REVERT_REASON = 4, 12

Reasons = Mapping[int, Sequence[bytes]]


def load_engine() -> None:
    """Import what tracing runs with, before the first of it."""
    registry.engine(_TRACING)


def answer(trace: Trace, emit: Emit) -> CallAnswer:
    """Pass the JSON to `emit` chunk by chunk, unless the trace fails. The answer itself has no result.

    Errors: unexpected ones; after the first chunk also DeadlinePassed.
    """
    try:
        reading = Reading(trace.last)
        past = transactions.transaction_at(trace.consensus_timestamp, reading)
        if past is None:
            return _failed(HTTPStatus.NOT_FOUND, f"Contract result not found: {trace.consensus_timestamp}")
        if not past.ran:
            emit(_head(_NO_ADDRESS, None, failed=True, gas=0) + b',"opcodes":[],"return_value":"0x"}')
            return CallAnswer(HTTPStatus.OK)
        rerun = transactions.rerun(past, reading, trace.deadline)
        # Run without tracing first: that takes a fraction of the time, gives the first members of the answer,
        # and reads all of the state.
        engine = registry.engine(config.value("web3.evm.engine"))
        result = engine.execute(rerun.request, rerun.block, rerun.state, rerun.system)
        reasons = _reasons(trace.consensus_timestamp, reading)
    except BlockMissing:
        return _failed(HTTPStatus.NOT_FOUND, f"Block not found: {trace.consensus_timestamp}")
    except CodeMissing:
        return _failed(HTTPStatus.NOT_FOUND, f"Contract code not found: {trace.consensus_timestamp}")
    except NotSupported as error:
        return _failed(HTTPStatus.NOT_IMPLEMENTED, str(error))
    except DeadlinePassed:
        return unavailable(TIMEOUT)
    except DATABASE_FAILURES as error:
        return database_unavailable(error)
    _emit_all(trace, rerun, reasons, _outcome(past, rerun, result), result, emit)
    return CallAnswer(HTTPStatus.OK)


def _failed(status: HTTPStatus, detail: str = "") -> CallAnswer:
    return CallAnswer(status, problems=(Problem(status.phrase, detail),))


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


def _outcome(past: PastTransaction, rerun: Rerun, result: CallResult) -> bytes:
    to = rerun.request.to or rerun.request.new_contract_address
    assert to is not None
    recipient = rerun.ledger.entity_at_any_address(to)
    address = to if recipient is None else recipient.address
    entity = recipient.id if recipient is not None else past.contract_id if past.creates else None
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


def _emit_all(
    trace: Trace, rerun: Rerun, reasons: Reasons, head: bytes, result: CallResult, emit: Emit
) -> None:
    emit(head + b',"opcodes":[')
    entries = OpcodeEntries(
        emit,
        stack=trace.stack,
        memory=trace.memory,
        storage=trace.storage,
        is_system=rerun.system.is_system_contract,
        reasons=reasons,
    )
    request = rerun.request._replace(deadline=trace.last)
    registry.engine(_TRACING).execute(request, rerun.block, rerun.state, rerun.system, entries)
    entries.flush()
    output = result.output if result.status is Status.SUCCESS else b""
    emit(b'],"return_value":"0x%s"}' % output.hex().encode())
