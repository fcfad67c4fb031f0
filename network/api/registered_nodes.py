"""GET /api/v1/network/registered-nodes: block nodes, mirror nodes, relays and other services (HIP-1137).

Source: registered_node, without deleted ones. Shape: an endpoint has a member for each kind of service, null
but for its own.
Errors: 400 malformed parameter, an id together with bounds, an empty range.
"""

import re
from collections.abc import Callable
from typing import Any, Literal, TypedDict

from rest_framework.response import Response

from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, Row, fetch
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE, InvalidValue
from mirror.core.rest.views import Answer, SpringReadView
from mirror.core.values.json_types import Int32, Int64, KeyJson, Timestamp, TimestampRangeJson, page_type
from network.models import EndpointKind

_ID = re.compile(r"((eq|gt|gte|lt|lte):)?[0-9]{1,19}", re.IGNORECASE)

# By the member that an endpoint of the kind has.
_KINDS = {kind.name.lower(): kind for kind in EndpointKind if kind is not EndpointKind.UNKNOWN}


# PARAMETERS
class RegisteredNodeIdParameter(spring.StrictId):
    """Up to two ids."""

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        if _ID.fullmatch(text) is None:
            raise InvalidValue(text)
        return super().comparison(text, split)


class KindParameter(spring.Choice):
    """A kind of endpoint; becomes None when absent."""

    def __init__(self) -> None:
        super().__init__("type", tuple(_KINDS), "", help="Only nodes with an endpoint of this kind.")
        self.choices = {kind.name.lower(): kind for kind in EndpointKind}

    @property
    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        return {"type": "string", "enum": EndpointKind.names}

    def absent(self) -> Any:
        return None


class RegisteredNodeParameters(spring.StrictParameterSet):
    limit = spring.Limit()
    order = spring.Order()
    registered_node_id = RegisteredNodeIdParameter(
        "registerednode.id",
        variable="registeredNodeIds",
        column="registered_node_id",
        operators=WITHOUT_NE,
        help="Registered node id.",
    )
    type = KindParameter()


def check_range(ids: list[Comparison]) -> None:
    """Refuse ids that exclude each other. Errors: BadRequest."""
    bounds = spring.id_bounds(ids)
    if bounds.equal and len(ids) > 1:
        raise BadRequest("The 'eq' operator cannot be combined with other operators")
    if bounds.empty:
        raise BadRequest("Invalid range: lower bound exceeds upper bound")


# QUERY
def registered_nodes(query: Query, kind: EndpointKind | None) -> list[Row]:
    """Return a page of the nodes that are not deleted, with an endpoint of the kind if one is given."""
    # Indexes: the primary key (registered_node_id); registered_node__type, of `type`, where deleted is false.
    of_kind = "" if kind is None else f" and type @> array[{kind:d}]::smallint[]"
    statement = f"""
        select {REGISTERED_NODE.columns}
        from registered_node where deleted is false{of_kind}{query.where.and_sql}
        order by registered_node_id {query.direction} limit {query.limit:d}
    """
    return fetch(statement, query.where.values)


# JSON
EndpointApi = Literal["OTHER", "STATUS", "PUBLISH", "SUBSCRIBE_STREAM", "STATE_PROOF", "UNRECOGNIZED"]


class BlockNodeJson(TypedDict):
    endpoint_apis: list[EndpointApi]


class GeneralServiceJson(TypedDict):
    description: str | None


class NoDetailsJson(TypedDict):
    """An object without members: the endpoint is of this kind."""


class RegisteredEndpointJson(TypedDict):
    block_node: BlockNodeJson | None
    domain_name: str | None
    general_service: GeneralServiceJson | None
    ip_address: str | None
    mirror_node: NoDetailsJson | None
    port: Int32
    requires_tls: bool
    rpc_relay: NoDetailsJson | None
    type: Literal["BLOCK_NODE", "GENERAL_SERVICE", "MIRROR_NODE", "RPC_RELAY"]


class RegisteredNodeJson(TypedDict):
    admin_key: KeyJson | None
    created_timestamp: Timestamp | None
    description: str | None
    registered_node_id: Int64
    service_endpoints: list[RegisteredEndpointJson]
    timestamp: TimestampRangeJson


def endpoint_json(endpoint: dict[str, Any]) -> Answer:
    """Return a stored endpoint, with null for missing parts; one of no kind is a general service."""
    kinds = (kind for member, kind in _KINDS.items() if endpoint.get(member) is not None)
    block_node, general_service = endpoint.get("block_node"), endpoint.get("general_service")
    return {
        "block_node": (
            None if block_node is None else {"endpoint_apis": block_node.get("endpoint_apis") or []}
        ),
        "domain_name": endpoint.get("domain_name"),
        "general_service": (
            None if general_service is None else {"description": general_service.get("description")}
        ),
        "ip_address": endpoint.get("ip_address"),
        "mirror_node": endpoint.get("mirror_node"),
        "port": endpoint.get("port", 0),
        "requires_tls": endpoint.get("requires_tls", False),
        "rpc_relay": endpoint.get("rpc_relay"),
        "type": next(kinds, EndpointKind.GENERAL_SERVICE).name,
    }


REGISTERED_NODE = Record(
    RegisteredNodeJson,
    spring=True,
    written={"service_endpoints": lambda endpoints: [endpoint_json(each) for each in endpoints or ()]},
)


# VIEW
class RegisteredNodes(SpringReadView):
    """List the nodes that people have registered.

    Block nodes, mirror nodes, relays and other services, so that clients find them.
    """

    parameters, max_age = RegisteredNodeParameters, 60
    answers = page_type("RegisteredNodes", registered_nodes=RegisteredNodeJson)
    paging = {"registerednode.id": "registered_node_id"}

    def read(self, parameters: RegisteredNodeParameters) -> Response:
        check_range(parameters.registered_node_id)
        rows = registered_nodes(self.query, parameters.type)
        return self.page("registered_nodes", [REGISTERED_NODE.json(row) for row in rows])
