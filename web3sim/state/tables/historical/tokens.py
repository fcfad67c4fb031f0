"""Tokens, NFTs, relationships and allowances at a time in the past.

Of versioned rows those count that were valid then; balances are those of the last snapshot and the transfers
since.
"""

from mirror import config
from mirror.values import entity_id
from mirror.values.timestamp import NANOS_PER_DAY, month_start
from web3sim.state.database import Reading
from web3sim.state.tables.interface import Nft, Token, token_of

# How far back the last snapshot may lie, and from it a balance's last row: a snapshot only has what changed.
REACH = 31 * NANOS_PER_DAY
_TREASURY_NUM = 2


def newest(table: str, columns: str, condition: str) -> str:
    """A query for the version of a row at %(time)s, and `since` when it was valid.

    Indexes: the primary key of the table; of its history the one that ends in lower(timestamp_range).
    """
    version = f"select {columns}, lower(timestamp_range) as since from"
    valid = f"where {condition} and lower(timestamp_range) <= %(time)s"
    return f"""
        ({version} {table} {valid})
        union all
        ({version} {table}_history {valid} order by lower(timestamp_range) desc limit 1)
        order by since desc limit 1
    """


class HistoricalTokens:
    """The part of web3sim.state.tables.interface.Tables that is about tokens, just after `time` (ns)."""

    def __init__(self, time: int, reading: Reading) -> None:
        self.reading = reading
        self.time = time
        treasury = entity_id.encode(config.value("common.shard"), config.value("common.realm"), _TREASURY_NUM)
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

    def token(self, token_id: int) -> Token | None:
        token = newest(
            "token",
            "token_id, name, symbol, decimals, type::text as kind, treasury_account_id, total_supply",
            "token_id = %(token)s",
        )
        entity = newest("entity", "type::text as type, deleted", "id = %(token)s")
        return token_of(
            self.reading.fetch_one(
                f"""
                select token_id, name, symbol, decimals, kind, treasury_account_id, total_supply
                from ({token}) token cross join ({entity}) entity
                where entity.type = 'TOKEN' and entity.deleted is not true
                """,
                {"token": token_id, "time": self.time},
            )
        )

    def total_supply(self, token: Token) -> int:
        if token.unique:
            serial = newest("nft", "deleted", "token_id = n.token_id and serial_number = n.serial_number")
            statement = f"""
                select count(*) from nft n
                where token_id = %(token)s and created_timestamp <= %(time)s
                    and not exists (select from ({serial}) version where deleted)
            """
        else:
            # Indexes: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp),
            # token_transfer__token_account_timestamp (consensus_timestamp, token_id, account_id).
            statement = f"""
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
            """
        row = self.reading.fetch_one(statement, {"token": token.id, "time": self.time})
        assert row is not None
        return int(row[0])

    def token_balance(self, token: Token, account_id: int) -> int:
        if token.unique:
            # Indexes: nft__account_token_serialnumber (account_id, token_id, serial_number),
            # nft_history__account_timestamp_range (account_id, timestamp_range).
            held = " + ".join(
                f"""(
                    select count(*) from {table} where account_id = %(account)s and token_id = %(token)s
                        and deleted is not true and timestamp_range @> %(time)s::bigint
                )"""
                for table in ("nft", "nft_history")
            )
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
        relationship = newest(
            "token_account", "associated", "account_id = %(account)s and token_id = %(token)s"
        )
        row = self.reading.fetch_one(
            f"""
            with snapshot as materialized ({self.snapshot})
            select {held} from ({relationship}) relationship where associated
            """,
            {"token": token.id, "account": account_id, "time": self.time},
        )
        return 0 if row is None else int(row[0])

    def tied_to_tokens(self, account_id: int) -> bool:
        # Index: token_account_history__account_token_lower_timestamp (account_id, token_id,
        # lower(timestamp_range)) and the primary key of token_account (account_id, token_id).
        rows = self.reading.fetch(
            """
            select token_id from token_account where account_id = %(account)s
                and lower(timestamp_range) <= %(time)s and associated
            union
            select token_id from token_account_history where account_id = %(account)s
                and lower(timestamp_range) <= %(time)s and upper(timestamp_range) > %(time)s and associated
            """,
            {"account": account_id, "time": self.time},
        )
        for (token_id,) in rows:
            token = self.token(token_id)
            if token is not None and (
                token.treasury_account_id == account_id or self.token_balance(token, account_id)
            ):
                return True
        return False

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        # Indexes: the primary key of token_allowance (owner, spender, token_id), the one of its history that
        # ends in lower(timestamp_range), token_transfer__account_timestamp (account_id, consensus_timestamp),
        # the primary key of contract_result (consensus_timestamp). Who spends is the sender that the result
        # of a contract names, else the payer.
        allowance = "owner = %(owner)s and spender = %(spender)s and token_id = %(token)s"
        row = self.reading.fetch_one(
            f"""
            with granted as (
                select amount_granted, lower(timestamp_range) as since from token_allowance
                where {allowance} and lower(timestamp_range) <= %(time)s and amount_granted > 0
                union all
                select amount_granted, lower(timestamp_range) from token_allowance_history
                where {allowance} and lower(timestamp_range) <= %(time)s
                    and upper(timestamp_range) > %(time)s
            )
            select amount_granted + coalesce((
                select sum(amount) from token_transfer t
                where account_id = %(owner)s and token_id = %(token)s and is_approval
                    and t.consensus_timestamp > since and t.consensus_timestamp <= %(time)s
                    and %(spender)s = coalesce((
                        select r.sender_id from contract_result r
                        where r.consensus_timestamp = t.consensus_timestamp
                    ), t.payer_account_id)
            ), 0)::bigint
            from granted order by since desc limit 1
            """,
            {"owner": owner, "spender": spender, "token": token_id, "time": self.time},
        )
        return 0 if row is None else max(int(row[0]), 0)

    def nft(self, token_id: int, serial_number: int) -> Nft | None:
        version = newest(
            "nft",
            "account_id, spender, coalesce(metadata, '') as metadata, deleted",
            "token_id = %(token)s and serial_number = %(serial)s",
        )
        row = self.reading.fetch_one(
            f"select account_id, spender, metadata from ({version}) version where deleted is not true",
            {"token": token_id, "serial": serial_number, "time": self.time},
        )
        return None if row is None else Nft(*row)

    def approved_for_all(self, token_id: int, owner: int, spender: int) -> bool:
        row = self.reading.fetch_one(
            newest(
                "nft_allowance",
                "approved_for_all",
                "owner = %(owner)s and spender = %(spender)s and token_id = %(token)s",
            ),
            {"owner": owner, "spender": spender, "token": token_id, "time": self.time},
        )
        return row is not None and bool(row[0])
