"""The nodes of an address book, each with its changes since, its endpoints and its stake."""

from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Row, fetch, fetch_one


def exists(file_id: int) -> bool:
    """Return whether any version of an address book is stored."""
    # address_book has few rows.
    return fetch_one("select 1 from address_book where file_id = %s limit 1", (file_id,)) is not None


def nodes(file_id: int, columns: str, query: Query) -> list[Row]:
    """Return columns of the nodes of a file's latest version; the query has conditions on e.node_id.

    The columns are of b (address_book), e (address_book_entry), n (node), s (the latest node_stake) and
    a.endpoints (JSON); n, s and a may be null.
    """
    # Indexes: address_book has few rows; the primary keys of address_book_entry (consensus_timestamp,
    # node_id), node (node_id) and node_stake (consensus_timestamp, node_id);
    # address_book_service_endpoint__timestamp_node_id.
    statement = f"""
        with book as materialized (
            select start_consensus_timestamp, end_consensus_timestamp, file_id from address_book
            where file_id = %s order by start_consensus_timestamp desc limit 1
        )
        select {columns}
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
    return fetch(statement, (file_id, *query.where.values))
