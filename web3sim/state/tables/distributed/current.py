"""The current state where the tables are distributed over several machines.

A statement that names one token, account or contract runs on the machine that holds it, whatever its form.
Those that name several have another form here: keys first and rows second, rows matched with what was asked
for in this process.
"""

from collections.abc import Mapping, Sequence

from web3sim.engine.interface import Address
from web3sim.state.tables.current import SLOT_LENGTH, CurrentTables
from web3sim.state.tables.interface import ENTITY_COLUMNS, Entities, SlotKey, entities_of

# Where `id`, `evm_address` and `alias` stand in ENTITY_COLUMNS, and when the entity was created.
_ID, _EVM_ADDRESS, _ALIAS, _CREATED = 0, 2, 3, -1
_BEFORE_ALL = -1


class DistributedCurrentTables(CurrentTables):
    """See web3sim.state.tables.interface.Tables."""

    def entities(self, addresses: Sequence[Address], ids: Sequence[int]) -> Entities:
        # Indexes: the primary key (id), entity__evm_address (evm_address), entity__alias (alias). Ids alone
        # name the machines to ask.
        condition = "id = any(%(ids)s)"
        if addresses:
            condition = f"({condition} or evm_address = any(%(addresses)s) or alias = any(%(addresses)s))"
        rows = self._reading.fetch(
            f"select {ENTITY_COLUMNS} from entity where deleted is not true and {condition}",
            {"ids": list(ids), "addresses": list(addresses)},
        )
        # A contract may have come where another was deleted: the newest counts.
        rows.sort(key=lambda row: _BEFORE_ALL if row[_CREATED] is None else row[_CREATED])
        by_id = {row[_ID]: row for row in rows}
        by_address = {row[column]: row for row in rows for column in (_EVM_ADDRESS, _ALIAS)}
        return entities_of(
            [
                *((address, None, *by_address[address]) for address in addresses if address in by_address),
                *((None, asked, *by_id[asked]) for asked in ids if asked in by_id),
            ]
        )

    def slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        # Index: the primary key (contract_id, slot). The list of contracts names the machines to ask.
        contracts = [contract for contract, _ in keys]
        rows = self._reading.fetch(
            """
            select contract_id, slot, value
            from unnest(%s::bigint[], %s::bytea[]) wanted (contract_id, slot)
                join contract_state using (contract_id, slot)
            where contract_state.contract_id = any(%s)
            """,
            (contracts, [slot.to_bytes(SLOT_LENGTH, "big") for _, slot in keys], sorted({*contracts})),
        )
        return dict.fromkeys(keys, 0) | {
            (contract, int.from_bytes(slot, "big")): int.from_bytes(value or b"", "big")
            for contract, slot, value in rows
        }

    def tying_tokens(self, account_id: int) -> frozenset[int]:
        # Indexes: the primary keys of token_account (account_id, token_id), token (token_id), entity (id).
        rows = self._reading.fetch(
            "select token_id, balance > 0 from token_account where account_id = %s and associated",
            (account_id,),
        )
        others = [token_id for token_id, is_held in rows if not is_held]
        treasury_of = others and self._reading.fetch(
            """
            select t.token_id from token t join entity e on e.id = t.token_id
            where t.token_id = any(%s) and t.treasury_account_id = %s and e.deleted is not true
            """,
            (others, account_id),
        )
        return frozenset(token_id for token_id, is_held in rows if is_held) | {
            token_id for (token_id,) in treasury_of
        }
