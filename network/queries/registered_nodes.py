"""Registered nodes (HIP-1137) as they are now."""

from typing import Any, NamedTuple

from mirror.core.db.reading.sql import fetch
from mirror.core.db.sql.query import Query
from network.models.registered_node import Kind


class RegisteredNode(NamedTuple):
    """Columns of registered_node; `since` and `until` are its timestamp_range."""

    admin_key: bytes | None
    created_timestamp: int | None
    description: str | None
    registered_node_id: int
    service_endpoints: list[dict[str, Any]] | None
    since: int | None
    until: int | None


def registered_nodes(query: Query, kind: Kind | None) -> list[RegisteredNode]:
    """Return a page of the nodes that are not deleted, with an endpoint of the kind if one is given."""
    # Indexes: the primary key (registered_node_id); registered_node__type, of `type`, where deleted is false.
    of_kind = "" if kind is None else f" and type @> array[{kind:d}]::smallint[]"
    statement = f"""
        select admin_key, created_timestamp, description, registered_node_id, service_endpoints,
            lower(timestamp_range), upper(timestamp_range)
        from registered_node where deleted is false{of_kind}{query.where.and_sql}
        order by registered_node_id {query.direction} limit {query.limit:d}
    """
    return [RegisteredNode(*row) for row in fetch(statement, query.where.values)]
