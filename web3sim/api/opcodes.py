"""GET /api/v1/contracts/results/{transactionIdOrHash}/opcodes: a past transaction, operation by operation.

Source: the transaction and the state of just before it, which web3sim.past.trace runs again. Units: gas.
Errors: 400 malformed id, hash or flag; 404 no such transaction or result, and for everything while
`web3.opcode.tracer.enabled` is false; 429; 501 for a system contract's function that is not simulated; 503
when it takes too long, or another trace is being made. A long answer that takes too long breaks off.
"""

import re
import time
import zlib
from http import HTTPStatus
from typing import Any, Self, TypedDict

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from mirror import config
from mirror.db.sql import MAX_INT64
from mirror.rest.answers import compression
from mirror.rest.answers.errors import BadRequest, Failure, NotFound, Unavailable, WrongMethod
from mirror.rest.answers.rendering import NewerJsonRenderer
from mirror.rest.answers.views import NewerReadView, Record
from mirror.rest.parameters.newer import NewerBooleanParameter, NewerParameterSet
from mirror.rest.parameters.parameter_set import InvalidValue
from mirror.values import transaction_id
from mirror.values.entity_id import InvalidEntityId
from mirror.values.shapes import EntityId, EvmAddress, Hex, Int32, Int64
from mirror.values.transaction_id import InvalidTransactionId, TransactionId
from web3sim.api.call import ContractCallErrorJson
from web3sim.calls.call import Answer
from web3sim.limits import buckets, throttle
from web3sim.past import transactions
from web3sim.past.trace import Trace
from web3sim.processes import pool
from web3sim.processes.pool import Pieces
from web3sim.state.database import DatabaseUnavailable, Reading

_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")


# PARAMETERS
class _Flag(NewerBooleanParameter):
    def read(self, text: str) -> bool:
        """Errors: BadRequest."""
        try:
            return super().read(text.strip())
        except InvalidValue:
            raise BadRequest(f"Invalid boolean value '{text}'") from None


class OpcodeParameters(NewerParameterSet):
    stack = _Flag("stack", True, help="Show the stack after each operation.")
    memory = _Flag("memory", False, help="Show the memory after each operation.")
    storage = _Flag("storage", False, help="Show the slots that the transaction has written so far.")


# JSON
class OpcodeJson(TypedDict):
    """One operation, as all was after it; `pc` is where it was. Stack: bottom first, memory: words.

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
    """What the transaction came to, and its operations. After a failure it has no recipient."""

    address: EvmAddress
    contract_id: EntityId | None
    failed: bool
    gas: Int64
    opcodes: list[OpcodeJson]
    return_value: Hex


# QUERY
def read_name(text: str) -> bytes | TransactionId:
    """The 32 bytes of a hash, or a transaction id. Errors: BadRequest."""
    if not text.strip():
        raise BadRequest("Missing transaction ID or hash")
    if digits := _HASH.fullmatch(text):
        return bytes.fromhex(digits[1])
    try:
        return transaction_id.parse(text)
    except (InvalidTransactionId, InvalidEntityId):
        raise BadRequest(f"Unsupported ID format: '{text}'") from None


def find(name: bytes | TransactionId) -> int:
    """The consensus timestamp of a transaction that ran a contract. Errors: NotFound, DatabaseUnavailable."""
    reading = Reading()
    if isinstance(name, bytes):
        found = transactions.first_of_hash(name, reading)
        if found is None:
            raise NotFound(f"Contract transaction hash not found: 0x{name.hex()}")
        return found
    payer, valid_start = name
    found = transactions.first_of_id(payer, valid_start, reading) if valid_start <= MAX_INT64 else None
    if found is None:
        raise NotFound(f"Transaction not found: {transaction_id.text(payer, valid_start)}")
    if not transactions.has_result(found, reading):
        raise NotFound(f"Contract result not found: {found}")
    return found


# VIEW
class _TooMany(Failure):
    status = HTTPStatus.TOO_MANY_REQUESTS


class _Unsuccessful(Failure):
    """What the process that makes traces answers instead of one."""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        super().__init__(*(problem.detail for problem in answer.problems))


class _Made(NewerJsonRenderer):
    """JSON that is made already."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Record | None = None
    ) -> bytes:
        return data if isinstance(data, bytes) else super().render(data)


class Opcodes(NewerReadView):
    """List the operations of one contract transaction, which is run again on the state it had."""

    parameters, answers, max_age = OpcodeParameters, OpcodesJson, 60
    renderer = _Made()
    error = ContractCallErrorJson
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

    def read(self, given: OpcodeParameters, name: bytes | TransactionId) -> Any:
        deadline = time.monotonic() + config.value("web3.requestTimeout")
        seconds = config.value("web3.opcode.tracer.timeout")
        try:
            throttle.admit_trace(buckets.of_process())
            consensus_timestamp = find(name)
            asked = Trace(consensus_timestamp, given.stack, given.memory, given.storage, deadline, seconds)
            found, pieces = pool.trace_pool().stream(asked, deadline, seconds)
        except throttle.Throttled as error:
            raise _TooMany(str(error)) from None
        except (DatabaseUnavailable, pool.Unanswered):
            raise Unavailable from None
        if pieces is not None:
            return self._streamed(pieces)
        if found.status is not HTTPStatus.OK:
            raise _Unsuccessful(found)
        return Response(found.result)

    def _streamed(self, pieces: Pieces) -> StreamingHttpResponse:
        self.headers["vary"] = "Accept-Encoding"
        accepted = self.request.META.get("HTTP_ACCEPT_ENCODING", "")
        if not (config.value("rest.response.compression") and compression.accepts_gzip(accepted)):
            return StreamingHttpResponse(pieces, content_type=self.renderer.media_type)
        self.headers["content-encoding"] = "gzip"
        return StreamingHttpResponse(_Gzipped(pieces), content_type=self.renderer.media_type)

    def success(self, body: Any) -> Any:
        if isinstance(body, StreamingHttpResponse):
            self.headers["cache-control"] = f"public, max-age={self.max_age}"
            return body
        return super().success(body)

    def failed(self, failure: Failure) -> Response:
        if not config.value("web3.opcode.tracer.enabled"):
            failure = NotFound(f"No static resource {self.request.path.removeprefix('/')}.")
        told = failure.status < HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(failure, _Unsuccessful)
        messages = [
            {"message": failure.status.phrase, "detail": problem.message if told else "", "data": ""}
            for problem in failure.problems
        ]
        response = Response({"_status": {"messages": messages}}, failure.status)
        if isinstance(failure, WrongMethod):
            response.headers["allow"] = "GET, HEAD"
        return response

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {"access-control-allow-origin": "*", "is-modularized": "true"}


class _Gzipped:
    """Pieces in fewer bytes."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._compressor: Any = zlib.compressobj(1, wbits=compression.GZIP_WINDOW)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if self._compressor is None:
            raise StopIteration
        for piece in self._pieces:
            if compressed := self._compressor.compress(piece):
                return bytes(compressed)
        end = self._compressor.flush()
        self._compressor = None
        return bytes(end)

    def close(self) -> None:
        self._pieces.close()
