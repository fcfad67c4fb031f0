"""How one contract transaction is found, as the beginning of the statement that reads what belongs to it."""

from typing import Any, NamedTuple

_SUCCESS = 22


class Search(NamedTuple):
    """A select of at most one row: consensus_timestamp, an entity that took part as entity_id, and the
    payer_account_id.
    """

    sql: str
    values: tuple[Any, ...]


def by_hash(digest: bytes) -> Search:
    """The transaction of a 32-byte hash: the last one, of those that succeeded if there are any."""
    # Index: contract_transaction_hash__hash (hash).
    return Search(
        f"""
        select consensus_timestamp, entity_id, payer_account_id from contract_transaction_hash
        where hash = %s order by (transaction_result = {_SUCCESS}) desc, consensus_timestamp desc limit 1
        """,
        (digest,),
    )


def by_id(payer_account_id: int, valid_start_ns: int, nonce: int, *, until: int) -> Search:
    """The same of a transaction id, agreed on between its valid start and another time."""
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id). Materialized, as the condition on
    # the time would tempt PostgreSQL to read all that this payer did in that time instead.
    return Search(
        f"""
        with known as materialized (
            select consensus_timestamp, payer_account_id, result, nonce from transaction
            where valid_start_ns = %s and payer_account_id = %s
        )
        select consensus_timestamp, payer_account_id as entity_id, payer_account_id from known
        where nonce = %s and consensus_timestamp between %s and %s
        order by (result = {_SUCCESS}) desc, consensus_timestamp desc limit 1
        """,
        (valid_start_ns, payer_account_id, nonce, valid_start_ns, until),
    )


def by_time(consensus_timestamp: int, entity_id: int) -> Search:
    """The transaction at a time in which an entity took part."""
    # Index: the primary key (consensus_timestamp, entity_id).
    return Search(
        """
        select consensus_timestamp, entity_id, payer_account_id from contract_transaction
        where consensus_timestamp = %s and entity_id = %s
        """,
        (consensus_timestamp, entity_id),
    )
