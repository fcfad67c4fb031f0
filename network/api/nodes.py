"""GET /api/v1/network/nodes: the nodes of the latest address book.

Source: address_book with its entries and service endpoints; node, which has changes of a node before the
next address book; the latest node_stake. Amounts: int64 tinybars, rates in tinybars per hbar.
Errors: 400 malformed parameter, a range of ids that is empty. Without an address book no nodes.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NotRequired, TypedDict

from rest_framework.response import Response

from mirror.core import config
from mirror.core.db.reading.sql import Comparison, Where
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.parameter_set import ONLY_EQ, OPERATORS, InvalidValue
from mirror.core.rest.views import Answer, SpringReadView
from mirror.core.values import entity_id
from mirror.core.values.json_types import EntityId, Int32, Int64, KeyJson, TimestampRangeJson, page_type
from mirror.core.values.timestamp import spring_staking_period_json
from network.queries import address_books

_DEFAULT_ADDRESS_BOOK = 102
_MAX_NODE_IDS = 100


# PARAMETERS
class AddressBookParameter(spring.Id):
    """A file by its id; becomes a Comparison, None when absent. Only 101 and 102 are address books."""

    many: ClassVar[bool] = False

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        operator, file = split(text)
        if operator not in OPERATORS:
            raise InvalidValue(text)
        return Comparison("eq", Comparison(operator, self.read(file)))

    def absent(self) -> None:
        return None

    def default_value(self) -> str | None:
        return entity_id.text(config.own_id(_DEFAULT_ADDRESS_BOOK))


class NodeParameters(spring.StrictParameterSet):
    file_id = AddressBookParameter(
        "file.id", operators=ONLY_EQ, help="Address book: the file 0.0.101 or 0.0.102."
    )
    limit = spring.CappedLimit("rest.network.nodes.limit.default", "rest.network.nodes.limit.max")
    node_id = spring.StrictId("node.id", variable="nodeId", most=_MAX_NODE_IDS, help="Node id.")
    order = spring.Order()


def address_book(parameters: NodeParameters) -> int:
    """Return the file of the address book. Errors: BadRequest for an operator."""
    if parameters.file_id is None:
        return config.own_id(_DEFAULT_ADDRESS_BOOK)
    operator, file_id = parameters.file_id
    if operator != "eq":
        raise BadRequest("Only equality operator is supported for file.id")
    return int(file_id)


def node_ids(parameters: NodeParameters) -> Where:
    """Return the condition on the node ids. Errors: BadRequest for an empty range."""
    bounds = spring.id_bounds(parameters.node_id)
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


def endpoint_json(endpoint: dict[str, Any] | None) -> Answer | None:
    """Return a stored endpoint, with empty text for missing parts."""
    if endpoint is None:
        return None
    return {
        "domain_name": endpoint.get("domain_name") or "",
        "ip_address_v4": endpoint.get("ip_address_v4") or "",
        "port": endpoint.get("port"),
    }


NODE = Record(
    NodeJson,
    spring=True,
    admin_key="n.admin_key",
    associated_registered_nodes="coalesce(n.associated_registered_nodes, '{}')",
    decline_reward="n.decline_reward",
    description="e.description",
    file_id="b.file_id",
    grpc_proxy_endpoint="n.grpc_proxy_endpoint",
    max_stake="nullif(s.max_stake, -1)",
    memo="e.memo",
    min_stake="nullif(s.min_stake, -1)",
    node_account_id="coalesce(n.account_id, e.node_account_id)",
    node_cert_hash="e.node_cert_hash",
    node_id="e.node_id",
    public_key="'0x' || coalesce(e.public_key, '')",
    reward_rate_start="s.reward_rate",
    service_endpoints="coalesce(a.endpoints, '[]')",
    stake="s.stake",
    stake_not_rewarded="nullif(s.stake_not_rewarded, -1)",
    stake_rewarded="s.stake_rewarded",
    staking_period="s.staking_period",
    timestamp="b.start_consensus_timestamp, b.end_consensus_timestamp",
    written={
        "grpc_proxy_endpoint": endpoint_json,
        # The bytes are themselves hex digits.
        "node_cert_hash": lambda digits: "0x" + (digits or b"").decode("utf-8", "replace"),
        "staking_period": lambda end: None if end is None else spring_staking_period_json(end),
    },
)


# VIEW
class Nodes(SpringReadView):
    """List the consensus nodes of the address book.

    With their keys, endpoints and stakes.
    """

    parameters, max_age, answers = NodeParameters, 60, page_type("Nodes", nodes=NodeJson)
    paging = {"node.id": "node_id"}

    def read(self, parameters: NodeParameters) -> Response:
        file_id = address_book(parameters)
        rows = address_books.nodes(file_id, NODE.columns, self.query.filter(node_ids(parameters)))
        nodes = [NODE.json(row) for row in rows]
        if not config.value("rest.network.nodes.exposeAdminKey"):
            for node in nodes:
                del node["admin_key"]
        return self.page("nodes", nodes)
