"""GET /api/v1/network/nodes: the nodes of the latest address book.

Source: address_book with its entries and service endpoints; node, which has changes of a node before the
next address book; the latest node_stake. Amounts: int64 tinybars, rates in tinybars per hbar.
Errors: 400 malformed parameter, a file that is no address book. Without an address book no nodes.
"""

from typing import Any, NotRequired, TypedDict

from rest_framework.response import Response

from ledger.queries.system_files import system_id
from mirror import config
from mirror.rest.answers.errors import BadRequest, InvalidEntityId
from mirror.rest.answers.views import Answer, ReadView
from mirror.rest.parameters.parameter_set import ONLY_EQ, InvalidValue, ParameterSet
from mirror.rest.parameters.types import EntityIdParameter, LimitParameter, NumberParameter, OrderParameter
from mirror.values import entity_id, timestamp
from mirror.values.keys import key_json
from mirror.values.shapes import EntityId, Int32, Int64, KeyJson, Page, TimestampRangeJson
from mirror.values.timestamp import staking_period_json
from network.queries import nodes as queries
from network.queries.nodes import Node

_ADDRESS_BOOKS = (101, 102)
_DEFAULT_ADDRESS_BOOK = 102


# PARAMETERS
class AddressBookParameter(EntityIdParameter):
    """One of the network's two address books, by its id."""

    def read(self, text: str) -> int:
        try:
            file_id = super().read(text)
        except InvalidEntityId:
            raise InvalidValue(text) from None
        if file_id is None or file_id not in map(system_id, _ADDRESS_BOOKS):
            raise InvalidValue(text)
        return file_id


class NodeParameters(ParameterSet):
    file_id = AddressBookParameter(
        "file.id", operators=ONLY_EQ, help="Address book: the file 0.0.101 or 0.0.102."
    )
    limit = LimitParameter("rest.network.nodes.limit.default", "rest.network.nodes.limit.max")
    node_id = NumberParameter("node.id", column="e.node_id", help="Node id.")
    order = OrderParameter("asc")


# JSON
class EndpointJson(TypedDict):
    domain_name: str | None
    ip_address_v4: str | None
    port: Int32 | None


class NodeJson(TypedDict):
    """A consensus node; the admin key is shown only if configured."""

    admin_key: NotRequired[KeyJson | None]
    decline_reward: bool | None
    description: str | None
    file_id: EntityId | None
    grpc_proxy_endpoint: EndpointJson | None
    max_stake: Int64 | None
    memo: str | None
    min_stake: Int64 | None
    node_id: Int64
    node_account_id: EntityId | None
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


def node_json(node: Node, *, with_admin_key: bool) -> Answer:
    admin_key = {"admin_key": key_json(node.admin_key)} if with_admin_key else {}
    return admin_key | {
        "decline_reward": node.decline_reward,
        "description": node.description,
        "file_id": entity_id.text(node.file_id),
        "grpc_proxy_endpoint": endpoint_json(node.grpc_proxy_endpoint),
        "max_stake": _known(node.max_stake),
        "memo": node.memo,
        "min_stake": _known(node.min_stake),
        "node_id": node.node_id,
        "node_account_id": entity_id.text(node.node_account_id),
        # The bytes are themselves hex digits.
        "node_cert_hash": "0x" + (node.node_cert_hash or b"").decode("utf-8", "replace"),
        "public_key": f"0x{node.public_key or ''}",
        "reward_rate_start": node.reward_rate,
        "service_endpoints": node.service_endpoints,
        "stake": node.stake,
        "stake_not_rewarded": _known(node.stake_not_rewarded),
        "stake_rewarded": node.stake_rewarded,
        "staking_period": None if node.staking_period is None else staking_period_json(node.staking_period),
        "timestamp": timestamp.range_json(node.since, node.until),
    }


def endpoint_json(endpoint: dict[str, Any] | None) -> Answer | None:
    if endpoint is None:
        return None
    return {name: endpoint.get(name) for name in ("domain_name", "ip_address_v4", "port")}


def _known(amount: int | None) -> int | None:
    """Return an amount; -1 stands for an unknown one."""
    return None if amount == -1 else amount


# VIEW
class Nodes(ReadView):
    """List the consensus nodes."""

    parameters, max_age, answers = NodeParameters, 60, NodesJson
    paging = {"node.id": "node_id"}

    def read(self, parameters: NodeParameters) -> Response:
        if len(parameters.file_id) > 1:
            raise BadRequest("Only a single instance is supported for file.id")
        file_id = parameters.file_id[0].value if parameters.file_id else system_id(_DEFAULT_ADDRESS_BOOK)
        found = queries.nodes(file_id, self.query)
        with_admin_key = config.value("rest.network.nodes.exposeAdminKey")
        return self.page("nodes", [node_json(node, with_admin_key=with_admin_key) for node in found])
