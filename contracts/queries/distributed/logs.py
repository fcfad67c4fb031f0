"""Contract logs where tables are distributed: the logs first, then their contracts and blocks."""

from contracts.queries.distributed import belongings
from contracts.queries.logs import Log
from mirror.core.db.reading.sql import fetch
from mirror.core.db.sql.pair_bounds import Statement
from mirror.core.db.sql.query import Query


def logs(page: Statement, query: Query, longest_block: int) -> list[Log]:
    """Return the logs of a page with their blocks."""
    rows = fetch(
        f"""
        select null::bytea, bloom, contract_id, data, index, array[topic0, topic1, topic2, topic3], null,
            null, root_contract_id, consensus_timestamp, transaction_hash, transaction_index
        from ({page.sql}) page
        order by consensus_timestamp {query.direction}, index {query.direction}
        """,
        page.values,
    )
    found = [Log._make(row) for row in rows]
    addresses = belongings.evm_addresses(log.contract_id for log in found)
    blocks = belongings.blocks([log.consensus_timestamp for log in found], longest_block)
    complete = []
    for log in found:
        number, digest, _ = blocks.get(log.consensus_timestamp, (None, None, None))
        address = addresses.get(log.contract_id)
        complete.append(log._replace(evm_address=address, block_hash=digest, block_number=number))
    return complete
