"""POST /api/v1/contracts/call: simulate a contract call, or estimate its gas.

Source: the state that web3sim.state reads, as of now or of the block asked for. Nothing is ever changed.
Amounts: gas, and tinybars where Ethereum has wei.
Errors: 400 by the rules of the body and of the ledger, with the revert data; 405; 413; 415; 429 by a limit or
a filter; 501 for a system contract's function that is not simulated; 503 for a call that took too long.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, NotRequired, TypedDict

from django.http import HttpRequest, HttpResponse

from mirror import config
from mirror.rest.answers import compression
from mirror.rest.answers.errors import Failure, WrongMethod
from mirror.rest.answers.rendering import render
from mirror.rest.answers.views import NewerReadView, Posted
from mirror.rest.parameters.bodies import body_of
from mirror.rest.parameters.parameter_set import NoParameters
from mirror.values.shapes import Hex, Int64, SchemaMetadata
from web3sim.calls.body import CallBody, InvalidBody, parse
from web3sim.calls.call import Answer, Call, Problem
from web3sim.limits import buckets, filters, throttle
from web3sim.processes import pool as workers

log = logging.getLogger("mirror.web3")

_BAD_REQUEST = "Bad Request"


# JSON
Address = Annotated[str, SchemaMetadata(pattern="^(0x)?[0-9a-fA-F]{40}$", example="0x" + "00" * 18 + "03e9")]

ContractCallJson = TypedDict(
    "ContractCallJson",
    {
        "block": NotRequired[Annotated[str, SchemaMetadata(example="latest")] | None],
        "data": NotRequired[
            Annotated[str, SchemaMetadata(pattern="^(0x)?[0-9a-fA-F]*$", example="0x18160ddd")] | None
        ],
        "estimate": NotRequired[bool | None],
        "from": NotRequired[Address | None],
        "gas": NotRequired[Int64],
        "gasPrice": NotRequired[Int64 | None],
        "to": NotRequired[Annotated[str, SchemaMetadata(pattern="^((0x)?[0-9a-fA-F]{40})?$")] | None],
        "value": NotRequired[Int64 | None],
    },
)


class ContractCallResultJson(TypedDict):
    """What the contract returned, or of an estimate the gas as eight bytes."""

    result: Hex


class ContractCallProblemJson(TypedDict):
    message: str
    detail: str
    data: str


class ContractCallStatusJson(TypedDict):
    messages: list[ContractCallProblemJson]


class ContractCallErrorJson(TypedDict):
    """Why a call failed: the name of a response code or of the status, the reason, the revert data."""

    _status: ContractCallStatusJson


_EXAMPLES: Mapping[str, Any] = {
    "call": {
        "block": "latest",
        "data": "0x70a0823100000000000000000000000000000000000000000000000000000000000003e9",
        "to": "0x00000000000000000000000000000000000004d2",
    },
    "estimate": {
        "data": "0xa9059cbb00000000000000000000000000000000000000000000000000000000000003e9"
        "000000000000000000000000000000000000000000000000000000000000000a",
        "estimate": True,
        "from": "0x00000000000000000000000000000000000003ea",
        "to": "0x00000000000000000000000000000000000004d2",
    },
    "create": {"data": "0x6080604052600a6011600039600a6000f3602a60005260206000f3", "gas": 1_000_000},
}


# VIEW
class ContractCall(NewerReadView):
    """Simulates a contract call."""

    actions = {"post": "call"}
    answers = ContractCallResultJson
    posted = Posted(
        NoParameters,
        ("application/json",),
        ContractCallJson,
        ContractCallResultJson,
        _EXAMPLES,
        ContractCallErrorJson,
        (
            HTTPStatus.BAD_REQUEST,
            HTTPStatus.METHOD_NOT_ALLOWED,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            HTTPStatus.TOO_MANY_REQUESTS,
            HTTPStatus.INTERNAL_SERVER_ERROR,
            HTTPStatus.NOT_IMPLEMENTED,
            HTTPStatus.SERVICE_UNAVAILABLE,
        ),
    )

    def call(self, request: HttpRequest) -> HttpResponse:
        """POST: simulate a call on the state of now or of a block, or estimate the gas that it needs.

        Nothing is changed. Without `to` the data is the code that creates a contract, and the result the code
        of that contract.
        """
        return respond(request)

    @classmethod
    def as_view(  # type: ignore[override]
        cls, actions: Any = None, **initkwargs: Any
    ) -> Callable[..., Any]:
        """The function alone: what DRF does around a view takes longer than a short call."""

        def view(request: HttpRequest) -> HttpResponse:
            return respond(request)

        view.__dict__.update(cls=cls, actions=actions, initkwargs=initkwargs)
        return view


def respond(request: HttpRequest) -> HttpResponse:
    try:
        status, answer = _answer(request)
    except Exception as error:
        status, answer = _failed(error, request)
    return _response(request, status, answer)


def _response(request: HttpRequest, status: HTTPStatus, answer: Mapping[str, Any]) -> HttpResponse:
    body = render(answer)
    headers = {
        "Access-Control-Allow-Origin": "*",
        "Content-Type": "application/json",
        "Is-Modularized": "true",
        "Vary": "Accept-Encoding",
    }
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = "POST"
    if len(body) >= compression.THRESHOLD and config.value("rest.response.compression"):
        encoding = compression.preferred(request.META.get("HTTP_ACCEPT_ENCODING", ""))
        if encoding is not None:
            body = compression.compress(body, encoding)
            headers["Content-Encoding"] = encoding
    headers["Content-Length"] = str(len(body))
    response = HttpResponse(body, status=status, headers=headers)
    # Django would write a line for every client's mistake.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


class _JsonTypes:
    """The media types of JSON: `application/json` and any with `+json`."""

    def __contains__(self, media_type: object) -> bool:
        text = str(media_type)
        return text == "application/json" or (text.startswith("application/") and text.endswith("+json"))


_JSON_TYPES = _JsonTypes()


@cache
def _filters() -> filters.Filters:
    return filters.Filters()


def _answer(request: HttpRequest) -> tuple[HTTPStatus, Mapping[str, Any]]:
    """Errors: all that `_failed` knows."""
    deadline = time.monotonic() + float(config.value("web3.requestTimeout"))
    if request.method != "POST":
        raise WrongMethod(str(request.method))
    body = parse(body_of(request, _JSON_TYPES))
    shared = buckets.of_process()
    # What is beyond the limit is refused for that, however little gas is left for others.
    gas = body.gas if body.gas <= config.value("web3.evm.maxGasLimit") else 0
    throttle.admit(shared, gas)
    unused = gas
    try:
        engine = filters.apply(_filters().current(), body, shared)
        asked = _call(body, engine, deadline)
        unused = throttle.unused(gas, None, False)
        found: Answer = workers.pool().run(asked, deadline)
        unused = throttle.unused(gas, found.used, found.status is HTTPStatus.OK)
    finally:
        throttle.restore(shared, unused)
    if found.status is HTTPStatus.OK:
        return found.status, {"result": f"0x{found.result.hex()}"}
    return found.status, _envelope(found.problems or (Problem(found.status.phrase),))


def _call(body: CallBody, engine: str | None, deadline: float) -> Call:
    """What is to be simulated. Errors: InvalidBody."""
    most: int = config.value("web3.evm.maxGasLimit")
    if body.gas > most:
        raise InvalidBody(f"gas field must be less than or equal to {most}")
    data = (body.data or "").removeprefix("0x")
    if len(data) % 2:
        raise InvalidBody(f"data field '{body.data}' contains invalid odd length characters")
    return Call(
        body.at,
        bytes.fromhex(data),
        bytes.fromhex(body.sender.removeprefix("0x")) if body.sender else None,
        bytes.fromhex(body.to.removeprefix("0x")) if body.to else None,
        body.gas,
        body.gas_price,
        body.value,
        body.estimate,
        engine or config.value("web3.evm.engine"),
        deadline,
    )


# FAILURES
def _failed(error: Exception, request: HttpRequest) -> tuple[HTTPStatus, Mapping[str, Any]]:
    """What the client is told of any exception; what it isn't told is logged."""
    if isinstance(error, InvalidBody):
        problems = [Problem(_BAD_REQUEST, detail) for detail in error.details]
        return HTTPStatus.BAD_REQUEST, _envelope(problems)
    if isinstance(error, throttle.Throttled):
        status, detail = HTTPStatus.TOO_MANY_REQUESTS, str(error)
    elif isinstance(error, workers.Unanswered):
        status, detail = HTTPStatus.SERVICE_UNAVAILABLE, ""
    elif isinstance(error, Failure):
        status, detail = error.status, error.problems[0].message
    else:
        log.error("event=unexpected_error method=%s path=%s", request.method, request.path, exc_info=error)
        status, detail = HTTPStatus.INTERNAL_SERVER_ERROR, ""
    return status, _envelope([Problem(status.phrase, detail)])


def _envelope(problems: Any) -> Mapping[str, Any]:
    return {"_status": {"messages": [each._asdict() for each in problems]}}
