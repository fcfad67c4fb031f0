"""POST /api/v1/contracts/call: simulate a contract call, or estimate its gas.

Source: the state that web3sim.state reads, as of now or of the requested block. Nothing is ever changed.
Amounts: gas, and tinybars where Ethereum has wei.
Errors: 400 by the rules of the body and of the ledger, with the revert data; 405; 413; 415; 429 by a limit or
a filter; 501 for hashes of more blocks than a call may read; 503 for a call that took too long.
"""

import time
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, NotRequired, TypedDict

from django.http import HttpResponse
from rest_framework.request import Request

from mirror.core import config, logs
from mirror.core.metrics import simulation
from mirror.core.rest.answers.errors import BadRequest, TooManyRequests, Unavailable
from mirror.core.rest.limits import clients, redis_buckets
from mirror.core.rest.limits.clients import Client
from mirror.core.rest.parameters.bodies import read_body
from mirror.core.rest.parameters.parameter_set import NoParameters
from mirror.core.rest.views import PostedBody
from mirror.core.values.json_types import Hex, Int64, SchemaMetadata
from web3sim.api import filters, throttle
from web3sim.api.view import ContractCallErrorJson, SimulationView, Unsuccessful
from web3sim.calls import access_list
from web3sim.calls.body import CallBody, InvalidBody, parse
from web3sim.calls.messages import Call, CallAnswer
from web3sim.calls.overrides import decoded
from web3sim.processes import pool
from web3sim.processes.pool import CallRefused, CallUnavailable

log = logs.logger("mirror.web3")

# JSON
Address = Annotated[str, SchemaMetadata(pattern="^(0x)?[0-9a-fA-F]{40}$", example="0x" + "00" * 18 + "03e9")]

Word = Annotated[str, SchemaMetadata(pattern="^(0x)?[0-9a-fA-F]{64}$", example=f"0x{1:064x}")]
Amount = Annotated[str, SchemaMetadata(pattern="^(0x)?[0-9a-fA-F]{1,16}$", example="0x2540be400")]


class SlotJson(TypedDict):
    key: Word
    value: Word


class StateOverrideJson(TypedDict):
    """Values to assume for an account in place of the stored ones. An account that does not exist is made up.

    The balance is in tinybars. `state` is the whole storage, `state_diff` the slots that differ: give one of
    them, of at most 100 slots.
    """

    address: Address
    balance: NotRequired[Amount | None]
    code: NotRequired[Annotated[str, SchemaMetadata(pattern="^(0x)?([0-9a-fA-F]{2})*$")] | None]
    nonce: NotRequired[Amount | None]
    state: NotRequired[list[SlotJson] | None]
    state_diff: NotRequired[list[SlotJson] | None]


class AccessListEntryJson(TypedDict):
    """An account and slots of its storage: each costs gas, and is warm as the call begins (EIP-2930)."""

    address: Address
    storageKeys: NotRequired[list[Word] | None]


ContractCallJson = TypedDict(
    "ContractCallJson",
    {
        "accessList": NotRequired[list[AccessListEntryJson] | None],
        "block": NotRequired[Annotated[str, SchemaMetadata(example="latest")] | None],
        "data": NotRequired[
            Annotated[str, SchemaMetadata(pattern="^(0[xX])?[0-9a-fA-F]*$", example="0x18160ddd")] | None
        ],
        "estimate": NotRequired[bool | None],
        "from": NotRequired[Address | None],
        "gas": NotRequired[Int64],
        "gasPrice": NotRequired[Int64 | None],
        "state_overrides": NotRequired[list[StateOverrideJson] | None],
        "to": NotRequired[Annotated[str, SchemaMetadata(pattern="^((0x)?[0-9a-fA-F]{40})?$")] | None],
        "value": NotRequired[Int64 | None],
    },
)


class ContractCallResultJson(TypedDict):
    """The data that the contract returned; for an estimate the gas, as eight bytes."""

    result: Hex


# Of the demo network: an account, a token, and a contract that is one.
_ADA, _FRANC = f"0x{1001:040x}", f"0x{1075:040x}"
_COIN = "0xd942176734e85f09ae8fae0c418d27fe11ac87e2"
_EXAMPLES: Mapping[str, Any] = {
    # balanceOf(Ada)
    "call": {"block": "latest", "data": f"0x70a08231{1001:064x}", "to": _FRANC},
    # transfer(the steward, 5)
    "estimate": {"data": f"0xa9059cbb{1081:064x}{5:064x}", "estimate": True, "from": _ADA, "to": _FRANC},
    # totalSupply(), which is in slot 2
    "override": {
        "data": "0x18160ddd",
        "state_overrides": [
            {"address": _COIN, "state_diff": [{"key": f"0x{2:064x}", "value": f"0x{1:064x}"}]}
        ],
        "to": _COIN,
    },
    "create": {"data": "0x6080604052600a6011600039600a6000f3602a60005260206000f3", "gas": 1_000_000},
}


# VIEW
class ContractCall(SimulationView):
    """Simulate a contract call."""

    actions = {"post": "call"}
    tells_loaded = False
    answers = ContractCallResultJson
    posted = PostedBody(
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

    def call(self, request: Request) -> HttpResponse:
        """Simulate a contract call, or estimate its gas.

        On the state of now or of a block. Nothing is changed. Without `to` the data is the code that creates
        a contract, and the result the code of that contract. `state_overrides` has at most 100 accounts,
        `accessList` at most 5,000 addresses and slots.
        """
        deadline = time.monotonic() + float(config.value("web3.requestTimeout"))
        try:
            body = parse(read_body(request, _JSON_TYPES, _UNNAMED))
            answer = _answer(body, deadline, clients.client(request.META))
        except InvalidBody as error:
            raise BadRequest(*error.details) from None
        except throttle.Throttled as error:
            simulation.REFUSED.labels(str(error).rstrip(".")).inc()
            raise TooManyRequests(str(error)) from None
        except CallUnavailable as error:
            raise Unavailable(f"Not simulated: {error}") from None
        if answer.status is not HTTPStatus.OK:
            raise Unsuccessful(answer)
        return self.json({"result": f"0x{answer.result.hex()}"})


class _JsonTypes:
    """The media types of JSON: `application/json` and any with `+json`."""

    def __contains__(self, media_type: object) -> bool:
        text = str(media_type)
        return text == "application/json" or (text.startswith("application/") and text.endswith("+json"))


_JSON_TYPES = _JsonTypes()
# The media type of a body without one (RFC 9110, section 8.3).
_UNNAMED = "application/octet-stream"


@cache
def _filters() -> filters.Filters:
    return filters.Filters()


def _answer(body: CallBody, deadline: float, client: Client) -> CallAnswer:
    """Simulate a call within the limits. Errors: InvalidBody, Throttled, CallUnavailable."""
    shared = redis_buckets.process_buckets()
    # A call beyond the gas limit is refused for that, however little gas is left for others.
    gas = body.gas if body.gas <= config.value("web3.evm.maxGasLimit") else 0
    throttle.admit(shared, gas, client)
    unused = throttle.unused(gas, None, False)
    try:
        engine = filters.apply(_filters().current(), body, shared)
        call = _call(body, engine, deadline)
        answer: CallAnswer = pool.pool().run(call, deadline, client)
        unused = throttle.unused(gas, answer.used, answer.status is HTTPStatus.OK)
        simulation.GAS.inc(answer.used or 0)
        if answer.status is HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("call_failed", request=filters.log_text(body))
    except (throttle.Throttled, InvalidBody, CallRefused):
        unused = 0
        throttle.withdraw(shared, gas)
        raise
    finally:
        throttle.restore(shared, unused)
    return answer


def _call(body: CallBody, engine: str | None, deadline: float) -> Call:
    """Return the call that a body describes. Errors: InvalidBody."""
    if body.state_overrides and not config.value("web3.enableStateOverrides"):
        raise InvalidBody("State overrides are not supported.")
    max_gas: int = config.value("web3.evm.maxGasLimit")
    if body.gas > max_gas:
        raise InvalidBody(f"gas field must be less than or equal to {max_gas}")
    data = (body.data or "").removeprefix("0x").removeprefix("0X")
    if len(data) % 2:
        raise InvalidBody(f"Odd number of characters {len(data)}.")
    return Call(
        block=body.selector,
        data=bytes.fromhex(data),
        sender=_address(body.sender),
        to=_address(body.to),
        gas=body.gas,
        gas_price=body.gas_price,
        value=body.value,
        estimate=body.estimate,
        engine=engine or config.value("web3.evm.engine"),
        deadline=deadline,
        overrides=decoded(body.state_overrides),
        access_list=access_list.decoded(body.access_list),
    )


def _address(text: str | None) -> bytes | None:
    return bytes.fromhex(text.removeprefix("0x")) if text else None
