"""Tokens, NFTs, relationships and allowances at a time in the past.

Of versioned rows those count that were valid then; balances are those of the last snapshot and the transfers
since.
"""

from dataclasses import replace

from mirror.core import config
from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_DAY, month_start
from web3sim.state.database import Reading
from web3sim.state.tables.current import CurrentTables
from web3sim.state.tables.interface import (
    FEE_COLUMNS,
    NFT_COLUMNS,
    TOKEN_COLUMNS,
    TOKEN_ENTITY_COLUMNS,
    TOKEN_SELECTION,
    AirdropKey,
    Associations,
    CustomFees,
    Nft,
    Relationship,
    Schedule,
    Token,
    TokenFacts,
    custom_fees_of,
    token_facts_of,
    token_facts_statement,
    token_of,
)

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


_ANY_TOKEN = f"""
    select {TOKEN_SELECTION}
    from ({newest("token", TOKEN_COLUMNS, "token_id = %(token)s")}) token
        cross join ({newest("entity", TOKEN_ENTITY_COLUMNS, "id = %(token)s")}) entity
    where entity.type = 'TOKEN'
"""
_LIVE_TOKEN = f"{_ANY_TOKEN} and entity.deleted is not true"
_DELETED_TOKEN = f"{_ANY_TOKEN} and entity.deleted"
_FEES = newest("custom_fee", FEE_COLUMNS, "entity_id = %(token)s")
_NFT = newest(
    "nft",
    "account_id, spender, coalesce(metadata, '') as metadata, created_timestamp, delegating_spender, deleted",
    "token_id = %(token)s and serial_number = %(serial)s",
)


# How many serials an account held. Indexes: nft__account_token_serialnumber (account_id, token_id,
# serial_number), nft_history__account_timestamp_range (account_id, timestamp_range).
SERIALS_HELD = " + ".join(
    f"""(
                    select count(*) from {table} where account_id = %(account)s and token_id = %(token)s
                        and deleted is not true and timestamp_range @> %(time)s::bigint
                )"""
    for table in ("nft", "nft_history")
)


def granted(table: str, allowance: str) -> str:
    """A query for the versions of an allowance that were valid at %(time)s: how much, and since when."""
    return f"""
                select amount_granted, lower(timestamp_range) as since from {table}
                where {allowance} and lower(timestamp_range) <= %(time)s and amount_granted > 0
                union all
                select amount_granted, lower(timestamp_range) from {table}_history
                where {allowance} and lower(timestamp_range) <= %(time)s
                    and upper(timestamp_range) > %(time)s
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
        return token_of(self.reading.fetch_one(_LIVE_TOKEN, {"token": token_id, "time": self.time}))

    def deleted_token(self, token_id: int) -> Token | None:
        return token_of(self.reading.fetch_one(_DELETED_TOKEN, {"token": token_id, "time": self.time}))

    def token_facts(self, token_id: int, serial_number: int | None) -> TokenFacts:
        statement = token_facts_statement(
            _LIVE_TOKEN,
            f"select {FEE_COLUMNS} from ({_FEES}) version",
            f"select {NFT_COLUMNS} from ({_NFT}) version where deleted is not true",
        )
        parameters = {"token": token_id, "serial": serial_number, "time": self.time}
        return token_facts_of(self.reading.fetch_one(statement, parameters))

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
        relationship = newest(
            "token_account",
            "associated, freeze_status, kyc_status, automatic_association",
            "account_id = %(account)s and token_id = %(token)s",
        )
        row = self.reading.fetch_one(
            f"""
            with snapshot as materialized ({self.snapshot})
            select {held}, freeze_status, kyc_status, coalesce(automatic_association, false)
            from ({relationship}) relationship where associated
            """,
            {"token": token.id, "account": account_id, "time": self.time},
        )
        return None if row is None else Relationship(account_id, token.id, *row)

    def newest_serial(self, token_id: int) -> int:
        # Index: the primary key (token_id, serial_number). Serials are minted in their order.
        row = self.reading.fetch_one(
            """
            select serial_number from nft where token_id = %s and created_timestamp <= %s
            order by serial_number desc limit 1
            """,
            (token_id, self.time),
        )
        return 0 if row is None else int(row[0])

    def associations(self, account_id: int) -> Associations:
        # Indexes: the primary key of token_account (account_id, token_id), and
        # token_account_history__account_token_lower_timestamp (account_id, token_id, lower(timestamp_range)).
        valid = "account_id = %(account)s and associated and timestamp_range @> %(time)s::bigint"
        row = self.reading.fetch_one(
            f"""
            select count(*), count(*) filter (where automatic_association)
            from (
                select automatic_association from token_account where {valid}
                union all
                select automatic_association from token_account_history where {valid}
            ) associations
            """,
            {"account": account_id, "time": self.time},
        )
        return Associations(*row) if row is not None else Associations(0, 0)

    def custom_fees(self, token_id: int) -> CustomFees:
        row = self.reading.fetch_one(
            f"select {FEE_COLUMNS} from ({_FEES}) version", {"token": token_id, "time": self.time}
        )
        return custom_fees_of(row)

    def allowances(self, owner: int) -> int:
        """Those that were used up count, too: what was spent of each is not looked at."""
        # Indexes: the primary keys of the tables, and those of their histories that end in
        # lower(timestamp_range); all begin with owner.
        counts = " + ".join(
            f"""(
                select count(*) from {table}{suffix}
                where owner = %(owner)s and {granted} and lower(timestamp_range) <= %(time)s
                    and coalesce(upper(timestamp_range), %(time)s + 1) > %(time)s
            )"""
            for table, granted in (
                ("crypto_allowance", "amount_granted > 0"),
                ("token_allowance", "amount_granted > 0"),
                ("nft_allowance", "approved_for_all"),
            )
            for suffix in ("", "_history")
        )
        row = self.reading.fetch_one(f"select {counts}", {"owner": owner, "time": self.time})
        return 0 if row is None else int(row[0])

    def hbar_allowance(self, owner: int, spender: int) -> int:
        # Indexes: the primary key of crypto_allowance (owner, spender), the one of its history that ends in
        # lower(timestamp_range), crypto_transfer__entity_id_consensus_timestamp.
        return self._left(
            "crypto_allowance",
            "owner = %(owner)s and spender = %(spender)s",
            "crypto_transfer t where entity_id = %(owner)s",
            {"owner": owner, "spender": spender},
        )

    def pending_airdrop(self, key: AirdropKey) -> int | None:
        condition = (
            "sender_account_id = %(sender)s and receiver_account_id = %(receiver)s "
            "and token_id = %(token_id)s and serial_number = %(serial_number)s"
        )
        version = newest("token_airdrop", "coalesce(amount, 0) as amount, state::text as state", condition)
        row = self.reading.fetch_one(
            f"select amount from ({version}) version where state = 'PENDING'",
            {**key._asdict(), "time": self.time},
        )
        return None if row is None else int(row[0])

    @property
    def _current(self) -> CurrentTables:
        return CurrentTables(self.reading)

    def schedule(self, schedule_id: int) -> Schedule | None:
        """Of its versions only the last is stored; that it was executed is known by the time."""
        found = self._current.schedule(schedule_id)
        if found is None or found.consensus_timestamp > self.time:
            return None
        executed = found.executed_timestamp
        return found if executed is None or executed <= self.time else replace(found, executed_timestamp=None)

    def signatories(self, schedule_id: int) -> frozenset[bytes]:
        # Index: transaction_signature__entity_id (entity_id, consensus_timestamp).
        rows = self.reading.fetch(
            """
            select public_key_prefix from transaction_signature
            where entity_id = %s and consensus_timestamp <= %s
            """,
            (schedule_id, self.time),
        )
        return frozenset(prefix for (prefix,) in rows)

    def tying_tokens(self, account_id: int) -> frozenset[int]:
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
        return frozenset(token_id for (token_id,) in rows if self._ties(token_id, account_id))

    def _ties(self, token_id: int, account_id: int) -> bool:
        token = self.token(token_id)
        if token is None:
            return False
        held = self.relationship(token, account_id)
        return token.treasury_account_id == account_id or (held is not None and held.balance > 0)

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        # Indexes: the primary key of token_allowance (owner, spender, token_id), the one of its history that
        # ends in lower(timestamp_range), token_transfer__account_timestamp (account_id, consensus_timestamp).
        return self._left(
            "token_allowance",
            "owner = %(owner)s and spender = %(spender)s and token_id = %(token)s",
            "token_transfer t where account_id = %(owner)s and token_id = %(token)s",
            {"owner": owner, "spender": spender, "token": token_id},
        )

    def _left(self, table: str, allowance: str, transfers: str, values: dict[str, int]) -> int:
        """What is left of an allowance after the transfers that used it; 0 without one.

        Who spends is the sender that the result of a contract names, else the payer. Index: the primary key
        of contract_result (consensus_timestamp).
        """
        row = self.reading.fetch_one(
            f"""
            with granted as ({granted(table, allowance)})
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

    def nft(self, token_id: int, serial_number: int) -> Nft | None:
        row = self.reading.fetch_one(
            f"select {NFT_COLUMNS} from ({_NFT}) version where deleted is not true",
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
