"""The state at a time in the past.

Of versioned rows it has the version that was valid then; balances are those of the last snapshot and the
transfers since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ledger.queries.versions_at import latest_version
from mirror.core import config
from mirror.core.values.ethereum import created_address, stripped
from mirror.core.values.timestamp import NANOS_PER_DAY, month_start
from web3sim.engine.interface import Address
from web3sim.state.database import Reading
from web3sim.state.tables.current import CurrentTables
from web3sim.state.tables.rows import (
    ENTITY_COLUMNS,
    Entities,
    Entity,
    Relationship,
    Schedule,
    SlotKey,
    Token,
    entities_of,
)

# How far back the last snapshot may lie, and from it a balance's last row: a snapshot only has what changed.
REACH = 31 * NANOS_PER_DAY
_TREASURY_NUM = 2
# The first nonce of a contract, and how many of its last nonces are tried first.
_FIRST_NONCE, _FIRST_STEP = 1, 16

# How many serials an account held. Indexes: nft__account_token_serialnumber (account_id, token_id,
# serial_number), nft_history__account_timestamp_range (account_id, timestamp_range).
SERIALS_HELD = " + ".join(
    f"""(
                    select count(*) from {table} where account_id = %(account)s and token_id = %(token)s
                        and deleted is not true and timestamp_range @> %(time)s::bigint
                )"""
    for table in ("nft", "nft_history")
)


class HistoricalTables(CurrentTables):
    """The state just after `time` (ns)."""

    granted = "amount_granted"

    def __init__(self, time: int, reading: Reading) -> None:
        super().__init__(reading)
        self.time = self.at = time
        treasury = config.own_id(_TREASURY_NUM)
        # The months stand in the text: PostgreSQL then plans, opens and locks their partitions alone.
        self.months = (
            f"consensus_timestamp >= {month_start(max(time - 2 * REACH, 0)):d} "
            f"and consensus_timestamp < {month_start(max(time, 0), 1):d}"
        )
        # The time of the last snapshot, in one row or none: the treasury is part of each. Index: the primary
        # key (account_id, consensus_timestamp).
        self.snapshot = f"""
            select consensus_timestamp as at from account_balance
            where account_id = {treasury:d} and {self.months}
                and consensus_timestamp > %(time)s - {REACH:d} and consensus_timestamp <= %(time)s
            order by consensus_timestamp desc limit 1
        """
        # The condition of the rows that make up that snapshot.
        self.in_snapshot = f"""
            {self.months} and consensus_timestamp > (select at from snapshot) - {REACH:d}
            and consensus_timestamp <= (select at from snapshot)
        """

    def version(self, table: str, columns: str, condition: str) -> str:
        """A query for the version of a row at %(time)s, and `since` when it was valid."""
        return latest_version(table, columns, f"where {condition} and lower(timestamp_range) <= %(time)s")

    def rows(self, table: str, columns: str, condition: str) -> str:
        return f"""
            select {columns} from {table} where {condition} and lower(timestamp_range) <= %(time)s
            union all
            select {columns} from {table}_history where {condition}
                and lower(timestamp_range) <= %(time)s and upper(timestamp_range) > %(time)s
        """

    def until(self, column: str) -> str:
        return f"and {column} <= %(time)s"

    # ENTITIES AND SLOTS

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
        version = self.version("entity", f"{ENTITY_COLUMNS}, deleted", "id = known.id")
        rows = self.reading.fetch(
            f"""
            with snapshot as materialized ({self.snapshot})
            select wanted.address, wanted.id, e.id, e.type, e.evm_address, e.alias,
                case when e.type not in ('ACCOUNT', 'CONTRACT') or e.created_timestamp > %(time)s then 0
                else coalesce(base.balance, 0) + coalesce((
                    select sum(amount)::bigint from crypto_transfer
                    where entity_id = e.id and entity_id <> 98 and consensus_timestamp <= %(time)s
                        and consensus_timestamp > coalesce(base.consensus_timestamp, -1)
                        and errata is distinct from 'DELETE'
                ), 0) end,
                e.ethereum_nonce, e.receiver_sig_required, e.key, e.memo, e.max_automatic_token_associations,
                e.auto_renew_account_id, e.auto_renew_period, e.expiration_timestamp, e.delegation_address,
                e.created_timestamp
            from (
                select address, null::bigint as id from unnest(%(addresses)s::bytea[]) address
                union all
                select null, id from unnest(%(ids)s::bigint[]) id
            ) wanted
            cross join lateral (
                select coalesce(wanted.id, (
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
        return entities_of(
            {row[0]: row[2:] for row in rows if row[0] is not None},
            {row[1]: row[2:] for row in rows if row[0] is None},
        )

    def nonce(self, entity: Entity) -> int:
        """Return, of a contract, the nonce with which it created the first contract after this time.

        Nonces go up without a new version of the entity, so the stored one may be that of a later time.
        """
        nonce = entity.nonce
        if entity.type != "CONTRACT":
            return nonce
        tried, after = 0, entity.nonce
        while after > _FIRST_NONCE:
            # Later ones first, in steps that double: most states are recent.
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
        stored = self._stored_slots(keys)
        others = [key for key in keys if key not in stored]
        if others and config.value("web3.evm.storageFallback"):
            return {**stored, **super().slots(others)}
        return {**stored, **dict.fromkeys(others, 0)}

    def _stored_slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        """Return the values of the slots that had changed by this time."""
        # Index: contract_state_change__id_slot_timestamp (contract_id, slot, consensus_timestamp). Its slots
        # have no leading zero bytes.
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

    # TOKENS

    def total_supply(self, token: Token) -> int:
        if token.unique:
            return self._nft_count(token)
        # Indexes: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp),
        # token_transfer__token_account_timestamp (consensus_timestamp, token_id, account_id).
        return self._number(
            f"""
                with snapshot as materialized ({self.snapshot})
                select coalesce((
                    select sum(balance) from (
                        select distinct on (account_id) balance from token_balance
                        where token_id = %(token)s and {self.in_snapshot}
                        order by account_id, consensus_timestamp desc
                    ) balances
                ), 0)::bigint + coalesce((
                    select sum(amount) from token_transfer
                    where token_id = %(token)s and consensus_timestamp <= %(time)s
                        and consensus_timestamp > coalesce((select at from snapshot), -1)
                ), 0)::bigint
            """,
            token=token.id,
        )

    def _nft_count(self, token: Token) -> int:
        # Indexes: the primary key of nft (token_id, serial_number), and the one of its history.
        serial = self.version("nft", "deleted", "token_id = %(token)s and serial_number = n.serial_number")
        return self._number(
            f"""
            select count(*) from nft n
            where token_id = %(token)s and created_timestamp <= %(time)s
                and not exists (select from ({serial}) version where deleted)
            """,
            token=token.id,
        )

    def relationship(self, token: Token, account_id: int) -> Relationship | None:
        if token.unique:
            held = SERIALS_HELD
        else:
            # Indexes: the primary key of token_balance (account_id, token_id, consensus_timestamp),
            # token_transfer__account_timestamp (account_id, consensus_timestamp).
            held = f"""
                coalesce((
                    select balance from token_balance
                    where account_id = %(account)s and token_id = %(token)s and {self.in_snapshot}
                    order by consensus_timestamp desc limit 1
                ), 0) + coalesce((
                    select sum(amount) from token_transfer
                    where account_id = %(account)s and token_id = %(token)s
                        and consensus_timestamp <= %(time)s
                        and consensus_timestamp > coalesce((select at from snapshot), -1)
                ), 0)::bigint
            """
        statement = f"with snapshot as materialized ({self.snapshot}) {self._relationship(held)}"
        row = self._row(statement, token=token.id, account=account_id)
        return None if row is None else Relationship(account_id, token.id, *row)

    def hbar_allowance(self, owner: int, spender: int) -> int:
        # Indexes: the primary key of crypto_allowance (owner, spender), the one of its history that ends in
        # lower(timestamp_range), crypto_transfer__entity_id_consensus_timestamp.
        return self._remaining_allowance(
            "crypto_allowance",
            "owner = %(owner)s and spender = %(spender)s",
            "crypto_transfer t where entity_id = %(owner)s",
            {"owner": owner, "spender": spender},
        )

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        # Indexes: the primary key of token_allowance (owner, spender, token_id), the one of its history that
        # ends in lower(timestamp_range), token_transfer__account_timestamp (account_id, consensus_timestamp).
        return self._remaining_allowance(
            "token_allowance",
            "owner = %(owner)s and spender = %(spender)s and token_id = %(token)s",
            "token_transfer t where account_id = %(owner)s and token_id = %(token)s",
            {"owner": owner, "spender": spender, "token": token_id},
        )

    def _remaining_allowance(self, table: str, allowance: str, transfers: str, values: dict[str, int]) -> int:
        """What is left of an allowance after the transfers that used it; 0 without one.

        Who spends is the sender that the result of a contract names, else the payer. Index: the primary key
        of contract_result (consensus_timestamp).
        """
        row = self.reading.fetch_one(
            f"""
            with granted as ({self._granted(table, allowance)})
            select amount_granted + coalesce((
                select sum(amount) from {transfers} and is_approval
                    and t.consensus_timestamp > since and t.consensus_timestamp <= %(time)s
                    and %(spender)s = coalesce((
                        select r.sender_id from contract_result r
                        where r.consensus_timestamp = t.consensus_timestamp
                    ), t.payer_account_id)
            ), 0)::bigint
            from granted order by since desc limit 1
            """,
            {**values, "time": self.time},
        )
        return 0 if row is None else max(int(row[0]), 0)

    def _granted(self, table: str, allowance: str) -> str:
        """A query for the versions of an allowance: how much, and since when."""
        condition = f"{allowance} and amount_granted > 0"
        return self.rows(table, "amount_granted, lower(timestamp_range) as since", condition)

    def schedule(self, schedule_id: int) -> Schedule | None:
        """Only the last version of a schedule is stored; whether it was executed follows from the time."""
        schedule = super().schedule(schedule_id)
        if schedule is None or schedule.consensus_timestamp > self.at:
            return None
        executed = schedule.executed_timestamp
        return replace(schedule, executed_timestamp=None) if executed and executed > self.at else schedule

    def tying_tokens(self, account_id: int) -> frozenset[int]:
        # Index: token_account_history__account_token_lower_timestamp (account_id, token_id,
        # lower(timestamp_range)) and the primary key of token_account (account_id, token_id).
        associated = self.rows("token_account", "token_id", "account_id = %(account)s and associated")
        rows = self.reading.fetch(associated, {"account": account_id, "time": self.time})
        return frozenset(token_id for (token_id,) in rows if self._ties(token_id, account_id))

    def _ties(self, token_id: int, account_id: int) -> bool:
        token = self.token(token_id)
        if token is None:
            return False
        held = self.relationship(token, account_id)
        return token.treasury_account_id == account_id or (held is not None and held.balance > 0)
