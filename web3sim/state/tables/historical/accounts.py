"""The state at a time in the past: accounts, their balances, and storage."""

from collections.abc import Mapping, Sequence

from mirror.core import config
from mirror.core.values.ethereum import created_address
from web3sim.engine.interface import Address
from web3sim.state.tables.historical.tokens import HistoricalTokens, newest
from web3sim.state.tables.interface import ENTITY_COLUMNS, Entities, Entity, SlotKey, entities_of

# A contract's own.
_FIRST_NONCE = 1
_FIRST_STEP = 16


class HistoricalTables(HistoricalTokens):
    """The state just after `time` (ns); see web3sim.state.tables.interface.Tables."""

    def entities(self, addresses: Sequence[Address], ids: Sequence[int]) -> Entities:
        # Indexes: entity__evm_address and entity__alias, entity_history__evm_address and
        # entity_history__alias, crypto_transfer__entity_id_consensus_timestamp, which leaves out the fee
        # account 98: of it the EVM sees no balance, and only the snapshot's is read.
        named = " union all ".join(
            f"select id, created_timestamp from {table} "
            f"where {column} = wanted.address and created_timestamp <= %(time)s"
            for table in ("entity", "entity_history")
            for column in ("evm_address", "alias")
        )
        version = newest("entity", f"{ENTITY_COLUMNS}, deleted", "id = known.id")
        rows = self.reading.fetch(
            f"""
            with snapshot as materialized ({self.snapshot})
            select wanted.address, wanted.asked, e.id, e.type, e.evm_address, e.alias,
                case when e.type not in ('ACCOUNT', 'CONTRACT') or e.created_timestamp > %(time)s then 0
                else coalesce(base.balance, 0) + coalesce((
                    select sum(amount)::bigint from crypto_transfer
                    where entity_id = e.id and entity_id <> 98 and consensus_timestamp <= %(time)s
                        and consensus_timestamp > coalesce(base.consensus_timestamp, -1)
                        and errata is distinct from 'DELETE'
                ), 0) end,
                e.ethereum_nonce, e.receiver_sig_required, e.key, e.memo, e.max_automatic_token_associations,
                e.auto_renew_account_id, e.auto_renew_period, e.expiration_timestamp, e.created_timestamp
            from (
                select address, null::bigint as asked from unnest(%(addresses)s::bytea[]) address
                union all
                select null, asked from unnest(%(ids)s::bigint[]) asked
            ) wanted
            cross join lateral (
                select coalesce(wanted.asked, (
                    select id from ({named}) named order by created_timestamp desc limit 1
                )) as id
                offset 0
            ) known
            cross join lateral ({version}) e
            left join lateral (
                select balance, consensus_timestamp from account_balance
                where account_id = e.id and {self.in_snapshot}
                order by consensus_timestamp desc limit 1
            ) base on true
            where e.deleted is not true
            """,
            {"time": self.time, "addresses": list(addresses), "ids": list(ids)},
        )
        return entities_of(rows)

    def nonce(self, entity: Entity) -> int:
        """Of a contract, the one with which it created the first contract after this time.

        Nonces go up without a new version of the entity, so the stored one may be that of a later time.
        """
        nonce = entity.nonce
        if entity.type != "CONTRACT":
            return nonce
        tried, after = 0, entity.nonce
        while after > _FIRST_NONCE:
            # Later ones first, in steps that double: most questions are about the last few.
            since = max(after - (tried or _FIRST_STEP), _FIRST_NONCE)
            addresses = {created_address(entity.address, number): number for number in range(since, after)}
            # Index: entity__evm_address (evm_address).
            rows = self.reading.fetch(
                "select evm_address, created_timestamp > %s from entity where evm_address = any(%s)",
                (self.time, list(addresses)),
            )
            nonce = min([nonce, *(addresses[address] for address, is_later in rows if is_later)])
            if not all(is_later for _, is_later in rows):
                break
            tried += after - since
            after = since
        return nonce

    def slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        found = self._stored_slots(keys)
        others = [key for key in keys if key not in found]
        if others and config.value("web3.evm.storageFallback"):
            return {**found, **self._current.slots(others)}
        return {**found, **dict.fromkeys(others, 0)}

    def _stored_slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        """Return the values of the slots that had changed by this time."""
        # Index: contract_state_change__id_slot_timestamp (contract_id, slot, consensus_timestamp). Slots lack
        # leading zero bytes here.
        rows = self.reading.fetch(
            """
            select wanted.contract_id, wanted.slot, change.value
            from unnest(%s::bigint[], %s::bytea[]) wanted (contract_id, slot) cross join lateral (
                select coalesce(value_written, value_read) as value from contract_state_change
                where contract_id = wanted.contract_id and slot = wanted.slot and consensus_timestamp <= %s
                order by consensus_timestamp desc limit 1
            ) change
            """,
            ([contract for contract, _ in keys], [stripped(slot) for _, slot in keys], self.time),
        )
        return {
            (contract, int.from_bytes(slot, "big")): int.from_bytes(value, "big")
            for contract, slot, value in rows
        }


def stripped(slot: int) -> bytes:
    """Return a slot as changes name it: without leading zero bytes."""
    return slot.to_bytes((slot.bit_length() + 7) // 8, "big")
