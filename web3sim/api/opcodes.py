"""GET /api/v1/contracts/results/{transactionIdOrHash}/opcodes: a past transaction, operation by operation.

Source: the transaction and the state of just before it, which web3sim.past.trace runs again. Units: gas.
Errors: 400 malformed id, hash or flag; 404 no such transaction or result, and for everything while
`web3.opcode.tracer.enabled` is false; 429; 501 for hashes of more blocks than a call may read; 503
when it takes too long, or another trace is being made. A long answer that takes too long breaks off.
"""

import re
import time
from http import HTTPStatus
from typing import Any, TypedDict

from django.http import HttpResponse, StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from contracts.api import formats
from contracts.api.lookup import search_of
from contracts.queries import synthetic
from ledger.api import not_loaded
from mirror.core import config
from mirror.core.db.availability import outage
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.metrics import simulation
from mirror.core.rest.answers.errors import BadRequest, Failure, NotFound, TooManyRequests, Unavailable
from mirror.core.rest.limits import clients, redis_buckets
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.parameter_set import InvalidValue
from mirror.core.values import entity_id, transaction_id
from mirror.core.values.entity_id import InvalidEntityId
from mirror.core.values.json_types import EntityId, EvmAddress, Hex, Int32, Int64
from mirror.core.values.transaction_id import InvalidTransactionId, TransactionId
from web3sim.api import throttle
from web3sim.api.view import SimulationView, Unsuccessful
from web3sim.calls.messages import Trace
from web3sim.processes import pool
from web3sim.processes.pool import CallRefused, CallUnavailable
from web3sim.state.database import DatabaseUnavailable, Reading

_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")


# PARAMETERS
class _Flag(spring.Boolean):
    def read(self, text: str) -> bool:
        """Errors: BadRequest."""
        try:
            return bool(super().read(text.strip()))
        except InvalidValue:
            raise BadRequest(f"Invalid boolean value '{text}'") from None


class OpcodeParameters(spring.ParameterSet):
    stack = _Flag("stack", True, help="Show the stack after each operation.")
    memory = _Flag("memory", False, help="Show the memory after each operation.")
    storage = _Flag("storage", False, help="Show the slots that the transaction has written so far.")


# JSON
class OpcodeJson(TypedDict):
    """One operation and the state after it; `pc` is where it was. The stack is bottom first, memory in words.
    Of one that calls or creates a contract, `depth` is that contract's.

    A call of a precompiled or system contract has one more entry, of that contract.
    """

    pc: Int32
    op: str
    gas: Int64
    gas_cost: Int64
    depth: Int32
    stack: list[Hex]
    memory: list[Hex]
    storage: dict[str, Hex]
    reason: Hex | None


class OpcodesJson(TypedDict):
    """The outcome of the transaction, and its operations. Its recipient stays after a failure."""

    address: EvmAddress
    contract_id: EntityId | None
    failed: bool
    gas: Int64
    opcodes: list[OpcodeJson]
    return_value: Hex


# QUERY
def read_name(text: str) -> bytes | TransactionId:
    """Return the 32 bytes of a hash, or a transaction id. Errors: BadRequest."""
    if not text.strip():
        raise BadRequest("Missing transaction ID or hash")
    if digits := _HASH.fullmatch(text):
        return bytes.fromhex(digits[1])
    try:
        return transaction_id.parse(text)
    except (InvalidTransactionId, InvalidEntityId):
        raise BadRequest(f"Unsupported ID format: '{text}'") from None


def find(name: bytes | TransactionId) -> int:
    """Return when a transaction that ran a contract was agreed on. Errors: NotFound, DatabaseUnavailable."""
    reading = Reading()
    if isinstance(name, bytes):
        first = timestamp_of_hash(name, reading)
        if first is None:
            raise NotFound(
                f"Contract transaction hash not found: 0x{name.hex()}",
                detail=not_loaded.anything("contract_result"),
            )
        return first
    payer, valid_start = name
    first = timestamp_of_id(payer, valid_start, reading) if valid_start <= MAX_INT64 else None
    if first is None:
        raise NotFound(
            f"Transaction not found: {transaction_id.text(payer, valid_start)}",
            detail=not_loaded.transaction(valid_start),
        )
    if not has_result(first, reading):
        raise NotFound(f"Contract result not found: {first}", detail=not_loaded.at(first, "contract_result"))
    return first


def timestamp_of_hash(digest: bytes, reading: Reading) -> int | None:
    """When the first transaction with this 32-byte hash was agreed on, of those that ran contracts."""
    # Index: contract_transaction_hash__hash (hash).
    row = reading.fetch_one(
        "select min(consensus_timestamp) from contract_transaction_hash where hash = %s", (digest,)
    )
    return None if row is None else row[0]


def timestamp_of_id(payer_account_id: int, valid_start_ns: int, reading: Reading) -> int | None:
    """Return when the first transaction with an id was agreed on."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id).
    row = reading.fetch_one(
        """
        select min(consensus_timestamp) from transaction where valid_start_ns = %s and payer_account_id = %s
        """,
        (valid_start_ns, payer_account_id),
    )
    return None if row is None else row[0]


def has_result(consensus_timestamp: int, reading: Reading) -> bool:
    # Index: the primary key (consensus_timestamp).
    row = reading.fetch_one(
        "select 1 from contract_result where consensus_timestamp = %s", (consensus_timestamp,)
    )
    return row is not None


def synthetic_json(name: bytes | TransactionId) -> OpcodesJson | None:
    """Return the answer for a transaction that has logs although no contract ran; None if there is none."""
    search = search_of(name.hex() if isinstance(name, bytes) else transaction_id.text(*name))
    result = synthetic.find(search)
    if result is None:
        return None
    result = synthetic.with_block(result)
    address = formats.address(result.evm_address, result.contract_id)
    assert address is not None
    return {
        "address": address,
        "contract_id": entity_id.text(result.contract_id),
        "failed": False,
        "gas": 0,
        "opcodes": [],
        "return_value": "0x",
    }


# VIEW
class Opcodes(SimulationView):
    """Trace a contract transaction, operation by operation.

    It is run again on the state it had. `stack`, `memory` and `storage` choose what is shown of each
    operation.
    """

    parameters, answers, max_age = OpcodeParameters, OpcodesJson, 60
    failures = (
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.NOT_IMPLEMENTED,
        HTTPStatus.SERVICE_UNAVAILABLE,
    )

    def answer(self, request: Request, **path: str) -> Response:
        if not config.value("web3.opcode.tracer.enabled"):
            raise NotFound
        return super().answer(request, **path)

    def resolve(self, transaction_id_or_hash: str) -> dict[str, Any]:  # type: ignore[override]
        return {"name": read_name(transaction_id_or_hash)}

    def read(self, parameters: OpcodeParameters, name: bytes | TransactionId) -> Any:
        deadline = time.monotonic() + config.value("web3.requestTimeout")
        seconds = config.value("web3.opcode.tracer.timeout")
        client = clients.client(self.request.META)
        try:
            throttle.admit_trace(redis_buckets.process_buckets(), client)
            flags = parameters.stack, parameters.memory, parameters.storage
            trace = Trace(find(name), *flags, deadline, seconds)
            answer, chunks = pool.trace_pool().stream(trace, deadline, seconds, client)
        except throttle.Throttled as error:
            simulation.REFUSED.labels(str(error).rstrip(".")).inc()
            raise TooManyRequests(str(error)) from None
        except NotFound:
            ran_no_code = synthetic_json(name)
            if ran_no_code is None:
                raise
            return self.json(ran_no_code)
        except DatabaseUnavailable:
            raise Unavailable(outage.SENTENCE) from None
        except CallUnavailable as error:
            if isinstance(error, CallRefused):
                throttle.withdraw_trace(redis_buckets.process_buckets())
            raise Unavailable(f"Not simulated: {error}") from None
        if chunks is not None:
            return StreamingHttpResponse(chunks, content_type=self.renderer.media_type)
        if answer.status is not HTTPStatus.OK:
            raise Unsuccessful(answer)
        return HttpResponse(answer.result, content_type=self.renderer.media_type)

    def success(self, body: Any) -> Any:
        """Add the header of all successful answers; the JSON is made already."""
        self.headers["cache-control"] = f"public, max-age={self.max_age}"
        return body

    def failed(self, failure: Failure) -> Any:
        if not config.value("web3.opcode.tracer.enabled"):
            failure = NotFound(f"No static resource {self.request.path.removeprefix('/')}.")
        return super().failed(failure)
