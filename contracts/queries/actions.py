"""Contract actions: those of one transaction."""

from dataclasses import dataclass

from mirror.db.sql import Where, fetch


@dataclass(frozen=True, slots=True)
class Action:
    """One call or creation inside a contract transaction."""

    call_depth: int
    call_operation_type: int | None
    call_type: int | None
    caller: int | None
    caller_type: str | None
    gas: int
    gas_used: int
    index: int
    input: bytes | None
    recipient_account: int | None
    recipient_address: bytes | None
    recipient_contract: int | None
    result_data: bytes | None
    result_data_type: int
    value: int


def actions(
    consensus_timestamp: int, payer_account_id: int, where: Where, *, descending: bool, limit: int
) -> list[Action]:
    """A page of a transaction's actions by index."""
    # Index: the primary key (consensus_timestamp, index).
    statement = f"""
        select call_depth, call_operation_type, call_type, caller, caller_type::text, gas, gas_used, index,
            input, recipient_account, recipient_address, recipient_contract, result_data, result_data_type,
            value
        from contract_action
        where consensus_timestamp = %s and payer_account_id = %s {where.and_sql}
        order by index {"desc" if descending else "asc"} limit {limit:d}
    """
    return [Action(*row) for row in fetch(statement, (consensus_timestamp, payer_account_id, *where.values))]
