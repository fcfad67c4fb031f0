"""The state at a time in the past where the tables are distributed over several machines.

The time of the last snapshot is read once. What joins rows of different machines becomes several statements:
keys first, rows second.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

from mirror.core.db.reading.sql import Row
from mirror.core.values.ethereum import stripped
from web3sim.engine.interface import Address
from web3sim.state.tables.historical import REACH, SERIALS_HELD, HistoricalTables
from web3sim.state.tables.rows import ENTITY_COLUMNS, Entities, Relationship, SlotKey, Token, entities_of

# Where they stand in ENTITY_COLUMNS.
_ID, _TYPE, _BALANCE, _CREATED = 0, 1, 4, -1
_WITH_BALANCE = frozenset({"ACCOUNT", "CONTRACT"})
# Of its balance only the snapshots are read: the index of transfers leaves it out.
_FEE_ACCOUNT = 98


class DistributedHistoricalTables(HistoricalTables):
    """The state just after `time` (ns)."""

    @cached_property
    def _snapshot_time(self) -> int | None:
        row = self.reading.fetch_one(self.snapshot, {"time": self.time})
        return None if row is None else int(row[0])

    @property
    def _in_snapshot(self) -> str:
        """The condition of the rows that make up the last snapshot, which there is."""
        return (
            f"{self.months} and consensus_timestamp > %(snapshot)s - {REACH:d} "
            "and consensus_timestamp <= %(snapshot)s"
        )

    # ACCOUNTS

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

    def relationship(self, token: Token, account_id: int) -> Relationship | None:
        row = self._row(self._relationship("0"), token=token.id, account=account_id)
        if row is None:
            return None
        return Relationship(account_id, token.id, self._held_balance(token, account_id), *row[1:])

    def _held_balance(self, token: Token, account_id: int) -> int:
        if token.unique:
            return self._number(f"select {SERIALS_HELD}", token=token.id, account=account_id)
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

    def _remaining_allowance(self, table: str, allowance: str, transfers: str, values: dict[str, int]) -> int:
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
