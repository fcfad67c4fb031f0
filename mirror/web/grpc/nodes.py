"""The nodes of the newest address book, as NetworkService.getNodes sends them.

Source: address_book and its entries; node, for account ids; the latest node_stake. Errors: CallError.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Any

from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Row
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages as hapi
from mirror.web.grpc.requests import not_found
from network.queries import address_books

_COLUMNS = """
    e.node_id, e.memo, e.public_key, coalesce(n.account_id, e.node_account_id), e.node_cert_hash,
    e.description, coalesce(s.stake, 0), coalesce(a.endpoints, '[]')
"""
# More than any network has.
_MAX_NODES = 100_000


def encoded_nodes(file_id: int) -> list[bytes]:
    """Return all nodes by id, each as a NodeAddress. Errors: CallError, psycopg.Error."""
    rows = address_books.nodes(file_id, _COLUMNS, Query(limit=_MAX_NODES))
    if not rows and not address_books.exists(file_id):
        raise not_found(file_id)
    return [_node(row).SerializeToString() for row in rows]


def _node(row: Row) -> Any:
    node_id, memo, public_key, account_id, cert_hash, description, stake, endpoints = row
    shard, realm, num = entity_id.decode(account_id)
    return hapi.NodeAddress(
        nodeId=node_id,
        memo=None if memo is None else memo.encode(),
        RSA_PubKey=public_key,
        nodeAccountId=hapi.AccountID(shardNum=shard, realmNum=realm, accountNum=num),
        # The bytes of the hex text.
        nodeCertHash=cert_hash,
        description=description,
        stake=stake,
        serviceEndpoint=_endpoints(endpoints),
    )


def _endpoints(stored: Sequence[dict[str, Any]]) -> list[Any]:
    return [
        hapi.ServiceEndpoint(
            ipAddressV4=IPv4Address(each["ip_address_v4"]).packed if each["ip_address_v4"] else b"",
            port=each["port"],
            domain_name=each["domain_name"],
        )
        for each in stored
    ]
