"""GET /api/v1/network/nodes: the nodes of the latest address book.

Source: address_book with its entries and service endpoints; node, which has changes of a node before the
next address book; the latest node_stake. Amounts: int64 tinybars, rates in tinybars per hbar.
Errors: 400 malformed parameter, a range of ids that is empty. Without an address book no nodes.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NotRequired, TypedDict

from rest_framework.response import Response

from ledger.queries.system_files import system_id
from mirror.core import config
from mirror.core.db.reading.sql import Comparison, Where
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.answers.views import Answer, SpringReadView
from mirror.core.rest.parameters.parameter_set import ONLY_EQ, OPERATORS, InvalidValue
from mirror.core.rest.parameters.spring import SpringIdParameter, SpringOrderParameter
from mirror.core.rest.parameters.strict import (
    CappedLimitParameter,
    StrictIdParameter,
    StrictParameterSet,
    id_bounds,
)
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, Int32, Int64, KeyJson, Page, TimestampRangeJson
from mirror.core.values.keys import key_json
from mirror.core.values.timestamp import spring_staking_period_json
from network.queries import nodes as queries
from network.queries.nodes import Node

_DEFAULT_ADDRESS_BOOK = 102
_MOST_NODE_IDS = 100


# PARAMETERS
class AddressBookParameter(SpringIdParameter):
    """A file by its id; becomes a Comparison, None when absent. Only 101 and 102 are address books."""

    many: ClassVar[bool] = False

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        operator, file = split(text)
        if operator not in OPERATORS:
            raise InvalidValue(text)
        return Comparison("eq", Comparison(operator, self.read(file)))

    def absent(self) -> None:
        return None


class NodeParameters(StrictParameterSet):
    file_id = AddressBookParameter(
        "file.id", operators=ONLY_EQ, help="Address book: the file 0.0.101 or 0.0.102."
    )
    limit = CappedLimitParameter("rest.network.nodes.limit.default", "rest.network.nodes.limit.max")
    node_id = StrictIdParameter("node.id", variable="nodeId", most=_MOST_NODE_IDS, help="Node id.")
    order = SpringOrderParameter()


def address_book(parameters: NodeParameters) -> int:
    """Return the file of the address book. Errors: BadRequest for an operator."""
    if parameters.file_id is None:
        return system_id(_DEFAULT_ADDRESS_BOOK)
    operator, file_id = parameters.file_id
    if operator != "eq":
        raise BadRequest("Only equality operator is supported for file.id")
    return int(file_id)


def node_ids(parameters: NodeParameters) -> Where:
    """Return the condition on the node ids: any of those that are named, as far as they are in the range.

    Errors: BadRequest for an empty range.
    """
    bounds = id_bounds(parameters.node_id)
    if bounds.empty:
        raise BadRequest("Invalid range provided for node.id")
    if not bounds.equal:
        return bounds.where("e.node_id")
    return Where(("e.node_id = any(%s)",), (sorted(bounds.equal_within - bounds.unequal),))


# JSON
class EndpointJson(TypedDict):
    domain_name: str
    ip_address_v4: str
    port: Int32 | None


class NodeJson(TypedDict):
    """A consensus node; the admin key is shown only if configured."""

    admin_key: NotRequired[KeyJson | None]
    associated_registered_nodes: list[Int64]
    decline_reward: bool | None
    description: str | None
    file_id: EntityId | None
    grpc_proxy_endpoint: EndpointJson | None
    max_stake: Int64 | None
    memo: str | None
    min_stake: Int64 | None
    node_account_id: EntityId | None
    node_id: Int64
    node_cert_hash: str
    public_key: str
    reward_rate_start: Int64 | None
    service_endpoints: list[EndpointJson]
    stake: Int64 | None
    stake_not_rewarded: Int64 | None
    stake_rewarded: Int64 | None
    staking_period: TimestampRangeJson | None
    timestamp: TimestampRangeJson


class NodesJson(Page):
    nodes: list[NodeJson]


def nodes_json(nodes: list[Node], *, with_admin_key: bool) -> list[Answer]:
    """Return the nodes as JSON. All are of one address book, and those with a stake of one period."""
    if not nodes:
        return []
    book = nodes[0]
    file_id = entity_id.text(book.file_id)
    valid = timestamp.spring_range_json(book.since, book.until)
    ends = {node.staking_period for node in nodes}
    periods = {end: None if end is None else spring_staking_period_json(end) for end in ends}
    return [
        ({"admin_key": key_json(node.admin_key)} if with_admin_key else {})
        | {
            "associated_registered_nodes": node.associated_registered_nodes or [],
            "decline_reward": node.decline_reward,
            "description": node.description,
            "file_id": file_id,
            "grpc_proxy_endpoint": endpoint_json(node.grpc_proxy_endpoint),
            "max_stake": _known(node.max_stake),
            "memo": node.memo,
            "min_stake": _known(node.min_stake),
            "node_account_id": entity_id.text(node.node_account_id),
            "node_id": node.node_id,
            # The bytes are themselves hex digits.
            "node_cert_hash": "0x" + (node.node_cert_hash or b"").decode("utf-8", "replace"),
            "public_key": f"0x{node.public_key or ''}",
            "reward_rate_start": node.reward_rate,
            "service_endpoints": node.service_endpoints,
            "stake": node.stake,
            "stake_not_rewarded": _known(node.stake_not_rewarded),
            "stake_rewarded": node.stake_rewarded,
            "staking_period": periods[node.staking_period],
            "timestamp": valid,
        }
        for node in nodes
    ]


def endpoint_json(endpoint: dict[str, Any] | None) -> Answer | None:
    """Return a stored endpoint, with empty text for missing parts."""
    if endpoint is None:
        return None
    return {
        "domain_name": endpoint.get("domain_name") or "",
        "ip_address_v4": endpoint.get("ip_address_v4") or "",
        "port": endpoint.get("port"),
    }


def _known(amount: int | None) -> int | None:
    """Return an amount; -1 stands for an unknown one."""
    return None if amount == -1 else amount


# VIEW
class Nodes(SpringReadView):
    """List the consensus nodes of the address book.

    With their keys, endpoints and stakes.
    """

    parameters, max_age, answers = NodeParameters, 60, NodesJson
    paging = {"node.id": "node_id"}

    def read(self, parameters: NodeParameters) -> Response:
        file_id = address_book(parameters)
        nodes = queries.nodes(file_id, self.query.filter(node_ids(parameters)))
        with_admin_key = config.value("rest.network.nodes.exposeAdminKey")
        return self.page("nodes", nodes_json(nodes, with_admin_key=with_admin_key))
