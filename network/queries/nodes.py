"""Nodes of the latest address book, with their stakes."""

from typing import Any, NamedTuple

from mirror.core.db.reading.sql import fetch
from mirror.core.db.sql.query import Query


class Node(NamedTuple):
    """A node of the latest address book, with columns of `node` and of the latest node_stake."""

    admin_key: bytes | None
    associated_registered_nodes: list[int] | None
    decline_reward: bool | None
    description: str | None
    file_id: int
    grpc_proxy_endpoint: dict[str, Any] | None
    max_stake: int | None
    memo: str | None
    min_stake: int | None
    node_account_id: int
    node_cert_hash: bytes | None
    node_id: int
    public_key: str | None
    reward_rate: int | None
    # Each has the keys domain_name, ip_address_v4 and port.
    service_endpoints: list[dict[str, Any]]
    stake: int | None
    stake_not_rewarded: int | None
    stake_rewarded: int | None
    staking_period: int | None
    since: int
    until: int | None


def nodes(file_id: int, query: Query) -> list[Node]:
    """Return a page of the nodes; `where` has conditions on e.node_id."""
    # Indexes: address_book has few rows; the primary keys of address_book_entry (consensus_timestamp,
    # node_id), node (node_id) and node_stake (consensus_timestamp, node_id);
    # address_book_service_endpoint__timestamp_node_id.
    statement = f"""
        with book as materialized (
            select start_consensus_timestamp, end_consensus_timestamp, file_id from address_book
            where file_id = %s order by start_consensus_timestamp desc limit 1
        )
        select n.admin_key, n.associated_registered_nodes, n.decline_reward, e.description, b.file_id,
            n.grpc_proxy_endpoint, s.max_stake, e.memo, s.min_stake,
            coalesce(n.account_id, e.node_account_id), e.node_cert_hash, e.node_id, e.public_key,
            s.reward_rate, coalesce(a.endpoints, '[]'), s.stake, s.stake_not_rewarded, s.stake_rewarded,
            s.staking_period, b.start_consensus_timestamp, b.end_consensus_timestamp
        from book b
        join address_book_entry e on e.consensus_timestamp = b.start_consensus_timestamp
        left join node n on n.node_id = e.node_id
        left join node_stake s on s.node_id = e.node_id
            and s.consensus_timestamp = (select max(consensus_timestamp) from node_stake)
        left join lateral (
            select json_agg(
                json_build_object('domain_name', domain_name, 'ip_address_v4', ip_address_v4, 'port', port)
                order by ip_address_v4 collate "C", port, domain_name collate "C"
            ) as endpoints
            from address_book_service_endpoint
            where consensus_timestamp = e.consensus_timestamp and node_id = e.node_id
        ) a on true
        {query.where.sql}
        order by e.node_id {query.direction} limit {query.limit:d}
    """
    return [Node(*row) for row in fetch(statement, (file_id, *query.where.values))]
