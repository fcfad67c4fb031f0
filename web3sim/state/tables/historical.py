"""The state at a time in the past.

Of versioned rows it has the version that was valid then; balances are those of the last snapshot and the
transfers since. Keys are read first and rows second, and the time of the snapshot once: where the tables are
distributed, no statement joins rows of different machines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ledger.queries.versions_at import latest_version
from mirror.core import config
from mirror.core.db.reading.sql import Row
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
_REACH = 31 * NANOS_PER_DAY
_TREASURY_NUM = 2
# The first nonce of a contract, and how many of its last nonces are tried first.
_FIRST_NONCE, _FIRST_STEP = 1, 16
# Positions in ENTITY_COLUMNS.
_ID, _TYPE, _BALANCE, _CREATED = 0, 1, 4, -1
_WITH_BALANCE = frozenset({"ACCOUNT", "CONTRACT"})
# Of its balance only the snapshots are read: the index of transfers leaves it out.
_FEE_ACCOUNT = 98

# How many serials an account held. Indexes: nft__account_token_serialnumber (account_id, token_id,
# serial_number), nft_history__account_timestamp_range (account_id, timestamp_range).
_SERIALS_HELD = " + ".join(
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
        self._months = (
            f"consensus_timestamp >= {month_start(max(time - 2 * _REACH, 0)):d} "
            f"and consensus_timestamp < {month_start(max(time, 0), 1):d}"
        )
        # The time of the last snapshot, in one row or none: the treasury is part of each. Index: the primary
        # key (account_id, consensus_timestamp).
        self._snapshot = f"""
            select consensus_timestamp as at from account_balance
            where account_id = {treasury:d} and {self._months}
                and consensus_timestamp > %(time)s - {_REACH:d} and consensus_timestamp <= %(time)s
            order by consensus_timestamp desc limit 1
        """

    @cached_property
    def _snapshot_time(self) -> int | None:
        row = self.reading.fetch_one(self._snapshot, {"time": self.time})
        return None if row is None else int(row[0])

    @property
    def _in_snapshot(self) -> str:
        """The condition of the rows that make up the last snapshot, which there is."""
        return (
            f"{self._months} and consensus_timestamp > %(snapshot)s - {_REACH:d} "
            "and consensus_timestamp <= %(snapshot)s"
        )

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
        named = self._ids_by_address(addresses) if addresses else {}
        versions = self._versions(sorted({*ids, *named.values()}))
        return entities_of(
            {address: versions[id] for address, id in named.items() if id in versions},
            {id: versions[id] for id in ids if id in versions},
        )

    def _ids_by_address(self, addresses: Sequence[Address]) -> dict[Address, int]:
        """Return the newest entities that had come by this time, by their addresses."""
        # Indexes: entity__evm_address, entity__alias, entity_history__evm_address, entity_history__alias.
        named = " union all ".join(
            f"select id, created_timestamp, evm_address, alias from {table} "
            "where (evm_address = any(%(addresses)s) or alias = any(%(addresses)s)) "
            "and created_timestamp <= %(time)s"
            for table in ("entity", "entity_history")
        )
        rows = self.reading.fetch(named, {"addresses": list(addresses), "time": self.time})
        rows.sort(key=lambda row: row[1])
        by_address = {address: id for id, _, *own in rows for address in own}
        return {address: by_address[address] for address in addresses if address in by_address}

    def _versions(self, ids: Sequence[int]) -> dict[int, Row]:
        """Return the columns of the entities as they were, with their balances, without deleted ones."""
        if not ids:
            return {}
        # Indexes: the primary key (id), entity_history__id_lower (id, lower(timestamp_range)).
        version = " union all ".join(
            f"select {ENTITY_COLUMNS}, deleted, lower(timestamp_range) as since from {table} "
            "where id = any(%(ids)s) and lower(timestamp_range) <= %(time)s"
            for table in ("entity", "entity_history")
        )
        rows = self.reading.fetch(
            f"""
            select distinct on (id) * from ({version}) version
            order by id, since desc
            """,
            {"ids": list(ids), "time": self.time},
        )
        live = {row[_ID]: row[:-2] for row in rows if not row[-2]}
        holders = [
            id
            for id, row in live.items()
            if row[_TYPE] in _WITH_BALANCE and (row[_CREATED] is None or row[_CREATED] <= self.at)
        ]
        balances = self._balances(holders)
        return {id: (*row[:_BALANCE], balances.get(id, 0), *row[_BALANCE + 1 :]) for id, row in live.items()}

    def _balances(self, accounts: Sequence[int]) -> dict[int, int]:
        if not accounts:
            return {}
        balances = dict.fromkeys(accounts, 0)
        since = dict.fromkeys(accounts, -1)
        if self._snapshot_time is not None:
            # Index: the primary key of account_balance (account_id, consensus_timestamp).
            rows = self.reading.fetch(
                f"""
                select distinct on (account_id) account_id, balance, consensus_timestamp from account_balance
                where account_id = any(%(accounts)s) and {self._in_snapshot}
                order by account_id, consensus_timestamp desc
                """,
                {"accounts": list(accounts), "snapshot": self._snapshot_time},
            )
            for account, balance, time in rows:
                balances[account], since[account] = balance, time
        moved = [account for account in accounts if account != _FEE_ACCOUNT]
        # Index: crypto_transfer__entity_id_consensus_timestamp, which leaves out the fee account 98.
        rows = self.reading.fetch(
            f"""
            select entity_id, sum(amount)::bigint
            from unnest(%(accounts)s::bigint[], %(since)s::bigint[]) wanted (account_id, since)
                join crypto_transfer on entity_id = account_id and consensus_timestamp > since
            where entity_id <> {_FEE_ACCOUNT} and consensus_timestamp <= %(time)s
                and errata is distinct from 'DELETE'
            group by entity_id
            """,
            {"accounts": moved, "since": [since[account] for account in moved], "time": self.time},
        )
        for account, amount in rows:
            balances[account] += amount
        return balances

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
        by_contract: dict[int, list[int]] = {}
        for contract, slot in keys:
            by_contract.setdefault(contract, []).append(slot)
        values: dict[SlotKey, int] = {}
        for contract, slots in by_contract.items():
            # Index: contract_state_change__id_slot_timestamp (contract_id, slot, consensus_timestamp).
            rows = self.reading.fetch(
                """
                select wanted.slot, change.value
                from unnest(%(slots)s::bytea[]) wanted (slot) cross join lateral (
                    select coalesce(value_written, value_read) as value from contract_state_change
                    where contract_id = %(contract)s and slot = wanted.slot
                        and consensus_timestamp <= %(time)s
                    order by consensus_timestamp desc limit 1
                ) change
                """,
                {"slots": [stripped(slot) for slot in slots], "contract": contract, "time": self.time},
            )
            values |= {
                (contract, int.from_bytes(slot, "big")): int.from_bytes(value, "big") for slot, value in rows
            }
        return values

    # TOKENS

    def total_supply(self, token: Token) -> int:
        if token.unique:
            return self._nft_count(token)
        balances, since = 0, self._snapshot_time
        if since is not None:
            # Index: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp).
            balances = self._number(
                f"""
                select coalesce(sum(balance), 0)::bigint from (
                    select distinct on (account_id) account_id, balance from token_balance
                    where token_id = %(token)s and {self._in_snapshot}
                    order by account_id, consensus_timestamp desc
                ) balances
                """,
                token=token.id,
                snapshot=since,
            )
        # Index: token_transfer__token_account_timestamp (consensus_timestamp, token_id, account_id).
        return balances + self._number(
            """
            select coalesce(sum(amount), 0)::bigint from token_transfer
            where token_id = %(token)s and consensus_timestamp <= %(time)s and consensus_timestamp > %(since)s
            """,
            token=token.id,
            since=-1 if since is None else since,
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
        row = self._row(self._relationship("0"), token=token.id, account=account_id)
        if row is None:
            return None
        return Relationship(account_id, token.id, self._held_balance(token, account_id), *row[1:])

    def _held_balance(self, token: Token, account_id: int) -> int:
        if token.unique:
            return self._number(f"select {_SERIALS_HELD}", token=token.id, account=account_id)
        balance, since = 0, self._snapshot_time
        if since is not None:
            # Index: the primary key of token_balance (account_id, token_id, consensus_timestamp).
            balance = self._number(
                f"""
                select balance from token_balance
                where account_id = %(account)s and token_id = %(token)s and {self._in_snapshot}
                order by consensus_timestamp desc limit 1
                """,
                account=account_id,
                token=token.id,
                snapshot=since,
            )
        # Index: token_transfer__account_timestamp (account_id, consensus_timestamp).
        return balance + self._number(
            """
            select coalesce(sum(amount), 0)::bigint from token_transfer
            where account_id = %(account)s and token_id = %(token)s
                and consensus_timestamp <= %(time)s and consensus_timestamp > %(since)s
            """,
            account=account_id,
            token=token.id,
            since=-1 if since is None else since,
        )

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

        Who spends is the sender that the result of a contract names, else the payer.
        """
        row = self.reading.fetch_one(
            f"select amount_granted, since from ({self._granted(table, allowance)}) granted "
            "order by since desc limit 1",
            {**values, "time": self.time},
        )
        if row is None:
            return 0
        amount, since = row
        # Indexes: those of the transfers of an account; the primary key of contract_result, which begins with
        # the time.
        spent = self.reading.fetch(
            f"""
            select consensus_timestamp, payer_account_id, amount from {transfers} and is_approval
                and consensus_timestamp > %(since)s and consensus_timestamp <= %(time)s
            """,
            {**values, "since": since, "time": self.time},
        )
        results: Sequence[Row] = spent and self.reading.fetch(
            """
            select consensus_timestamp, sender_id from contract_result
            where consensus_timestamp = any(%s) and sender_id is not null
            """,
            ([time for time, *_ in spent],),
        )
        senders: dict[int, int] = dict(results)
        spender = values["spender"]
        left: int = amount + sum(moved for time, payer, moved in spent if senders.get(time, payer) == spender)
        return max(left, 0)

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
