"""The current state: what the tables hold now."""

from collections.abc import Mapping, Sequence

from mirror.core.db.distribution import choose
from mirror.core.db.reading.sql import Row
from web3sim.engine.interface import Address
from web3sim.state.database import Reading
from web3sim.state.tables.rows import (
    ENTITY_COLUMNS,
    FEE_COLUMNS,
    NFT_COLUMNS,
    NFT_SOURCE_COLUMNS,
    TOKEN_COLUMNS,
    TOKEN_ENTITY_COLUMNS,
    TOKEN_SELECTION,
    AirdropKey,
    Associations,
    CustomFees,
    Entities,
    Entity,
    Nft,
    Relationship,
    Schedule,
    SlotKey,
    Token,
    TokenFacts,
    custom_fees_of,
    entities_of,
    token_facts_of,
    token_of,
)

SLOT_LENGTH = 32
# Positions in ENTITY_COLUMNS.
_ID, _EVM_ADDRESS, _ALIAS, _CREATED = 0, 2, 3, -1
_NEVER_CREATED = -1


class CurrentTables:
    """The current state. Ids are encoded; amounts in the smallest unit; errors are those of Reading.

    `version` is the query for a row as it is in this state, on which the questions about a single row build.
    """

    #: The timestamp of the state in ns; None is the current one.
    time: int | None = None

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def version(self, table: str, columns: str, condition: str) -> str:
        """A query for some columns of a row. Index: the primary key."""
        return f"select {columns} from {table} where {condition}"

    def entities(self, addresses: Sequence[Address], ids: Sequence[int]) -> Entities:
        # Indexes: the primary key (id), entity__evm_address (evm_address), entity__alias (alias).
        condition = "id = any(%(ids)s)"
        if addresses:
            condition = f"({condition} or evm_address = any(%(addresses)s) or alias = any(%(addresses)s))"
        rows = self.reading.fetch(
            f"select {ENTITY_COLUMNS} from entity where deleted is not true and {condition}",
            {"ids": list(ids), "addresses": list(addresses)},
        )
        # A contract may have been created where another was deleted: the newest counts.
        rows.sort(key=lambda row: _NEVER_CREATED if row[_CREATED] is None else row[_CREATED])
        by_id = {row[_ID]: row for row in rows}
        by_address = {row[column]: row for row in rows for column in (_EVM_ADDRESS, _ALIAS)}
        return entities_of(
            {address: by_address[address] for address in addresses if address in by_address},
            {id: by_id[id] for id in ids if id in by_id},
        )

    def nonce(self, entity: Entity) -> int:
        return entity.nonce

    def slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        """Return the values of all slots; 0 for one that was never written."""
        # Index: the primary key (contract_id, slot). In distributed tables the list of contracts selects the
        # machines.
        contracts = [contract for contract, _ in keys]
        machines = choose("", distributed="where contract_state.contract_id = any(%(machines)s)")
        rows = self.reading.fetch(
            f"""
            select contract_id, slot, value
            from unnest(%(contracts)s::bigint[], %(slots)s::bytea[]) wanted (contract_id, slot)
                join contract_state using (contract_id, slot)
            {machines}
            """,
            {
                "contracts": contracts,
                "slots": [slot.to_bytes(SLOT_LENGTH, "big") for _, slot in keys],
                "machines": sorted({*contracts}),
            },
        )
        return dict.fromkeys(keys, 0) | {
            (contract, int.from_bytes(slot, "big")): int.from_bytes(value or b"", "big")
            for contract, slot, value in rows
        }

    # SINGLE ROWS

    def token(self, token_id: int) -> Token | None:
        return token_of(self._row(self._token("entity.deleted is not true"), token=token_id))

    def deleted_token(self, token_id: int) -> Token | None:
        """Return what a token was that is deleted; its relationships stay."""
        return token_of(self._row(self._token("entity.deleted"), token=token_id))

    def token_facts(self, token_id: int, serial_number: int | None) -> TokenFacts:
        """Return what `token`, `custom_fees` and `nft` do, in one statement."""
        token, fees, nft = self._token("entity.deleted is not true"), self._fees(), self._nft()
        statement = f"""
            select token.*, fees.*, nft.*
            from ({token}) token left join lateral ({fees}) fees on true left join lateral ({nft}) nft on true
        """
        return token_facts_of(self._row(statement, token=token_id, serial=serial_number))

    def custom_fees(self, token_id: int) -> CustomFees:
        return custom_fees_of(self._row(self._fees(), token=token_id))

    def nft(self, token_id: int, serial_number: int) -> Nft | None:
        row = self._row(self._nft(), token=token_id, serial=serial_number)
        return None if row is None else Nft(*row)

    def pending_airdrop(self, key: AirdropKey) -> int | None:
        """Return the amount of a pending airdrop, 0 for a serial; None if there is none."""
        # Index: token_airdrop__sender_id (sender_account_id, receiver_account_id, token_id, serial_number).
        condition = (
            "sender_account_id = %(sender)s and receiver_account_id = %(receiver)s "
            "and token_id = %(token_id)s and serial_number = %(serial_number)s"
        )
        version = self.version("token_airdrop", "coalesce(amount, 0) as amount, state", condition)
        row = self._row(f"select amount from ({version}) version where state = 'PENDING'", **key._asdict())
        return None if row is None else int(row[0])

    def approved_for_all(self, token_id: int, owner: int, spender: int) -> bool:
        condition = "owner = %(owner)s and spender = %(spender)s and token_id = %(token)s"
        version = self.version("nft_allowance", "approved_for_all", condition)
        row = self._row(version, token=token_id, owner=owner, spender=spender)
        return row is not None and bool(row[0])

    def _token(self, condition: str) -> str:
        token = self.version("token", TOKEN_COLUMNS, "token_id = %(token)s")
        entity = self.version("entity", TOKEN_ENTITY_COLUMNS, "id = %(token)s")
        return f"""
            select {TOKEN_SELECTION} from ({token}) token cross join ({entity}) entity
            where entity.type = 'TOKEN' and {condition}
        """

    def _fees(self) -> str:
        version = self.version("custom_fee", FEE_COLUMNS, "entity_id = %(token)s")
        return f"select {FEE_COLUMNS} from ({version}) version"

    def _nft(self) -> str:
        condition = "token_id = %(token)s and serial_number = %(serial)s"
        version = self.version("nft", NFT_SOURCE_COLUMNS, condition)
        return f"select {NFT_COLUMNS} from ({version}) version where deleted is not true"

    def _row(self, statement: str, **values: int | None) -> Row | None:
        return self.reading.fetch_one(statement, {**values, "time": self.time})

    def _number(self, statement: str, **values: int) -> int:
        """Return the number in the first row of a statement; 0 without a row."""
        row = self._row(statement, **values)
        return 0 if row is None else int(row[0])

    # MORE ROWS

    def rows(self, table: str, columns: str, condition: str) -> str:
        """A query for some columns of all rows of a condition, as they are in this state."""
        return f"select {columns} from {table} where {condition}"

    def until(self, column: str) -> str:
        """A condition for rows that are never changed, which begins with `and`: those of this state."""
        return ""

    def newest_serial(self, token_id: int) -> int:
        """Return the highest serial number that was ever minted; 0 if none was."""
        # Index: the primary key (token_id, serial_number). Serials are minted in their order.
        return self._number(
            f"""
            select serial_number from nft where token_id = %(token)s {self.until("created_timestamp")}
            order by serial_number desc limit 1
            """,
            token=token_id,
        )

    def signatories(self, schedule_id: int) -> frozenset[bytes]:
        """Return the public keys, or their prefixes, that have signed a schedule."""
        # Index: transaction_signature__entity_id (entity_id, consensus_timestamp).
        rows = self.reading.fetch(
            f"""
            select public_key_prefix from transaction_signature
            where entity_id = %(schedule)s {self.until("consensus_timestamp")}
            """,
            {"schedule": schedule_id, "time": self.time},
        )
        return frozenset(prefix for (prefix,) in rows)

    def associations(self, account_id: int) -> Associations:
        # Indexes: the primary key of token_account (account_id, token_id), and
        # token_account_history__account_token_lower_timestamp (account_id, token_id, lower(timestamp_range)).
        associated = "account_id = %(account)s and associated"
        row = self._row(
            f"""
            select count(*), count(*) filter (where automatic_association)
            from ({self.rows("token_account", "automatic_association", associated)}) associations
            """,
            account=account_id,
        )
        return Associations(*row) if row is not None else Associations(0, 0)

    def allowances(self, owner: int) -> int:
        """Return the number of spenders that an owner has granted something: hbar, units, all serials.

        In the past that includes allowances that had been spent.
        """
        # Indexes: the primary keys, and those of the histories that end in lower(timestamp_range); all begin
        # with owner.
        counts = " + ".join(
            f"(select count(*) from ({self.rows(table, 'owner', f'owner = %(owner)s and {granted}')}) valid)"
            for table, granted in (
                ("crypto_allowance", f"{self.granted} > 0"),
                ("token_allowance", f"{self.granted} > 0"),
                ("nft_allowance", "approved_for_all"),
            )
        )
        return self._number(f"select {counts}", owner=owner)

    # OF THE CURRENT STATE ALONE

    #: The column with the amount of an allowance.
    granted = "amount"

    def total_supply(self, token: Token) -> int:
        return token.total_supply

    def relationship(self, token: Token, account_id: int) -> Relationship | None:
        """Return the relationship of an account with a token; None unless it is associated."""
        row = self._row(self._relationship("balance"), token=token.id, account=account_id)
        return None if row is None else Relationship(account_id, token.id, *row)

    def _relationship(self, balance: str) -> str:
        """A query for the relationship of an associated account with a token, without their ids."""
        columns = "associated, balance, freeze_status, kyc_status, automatic_association"
        condition = "account_id = %(account)s and token_id = %(token)s"
        return f"""
            select {balance}, freeze_status, kyc_status, coalesce(automatic_association, false)
            from ({self.version("token_account", columns, condition)}) relationship where associated
        """

    def hbar_allowance(self, owner: int, spender: int) -> int:
        """Return what is left of an allowance in tinybars; 0 without one."""
        # Index: the primary key (owner, spender).
        return self._number(
            "select amount from crypto_allowance where owner = %(owner)s and spender = %(spender)s",
            owner=owner,
            spender=spender,
        )

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        # Index: the primary key (owner, spender, token_id).
        return self._number(
            """
            select amount from token_allowance
            where owner = %(owner)s and spender = %(spender)s and token_id = %(token)s
            """,
            owner=owner,
            spender=spender,
            token=token_id,
        )

    def schedule(self, schedule_id: int) -> Schedule | None:
        # Indexes: the primary keys (schedule_id) and (id).
        row = self._row(
            """
            select schedule_id, creator_account_id, s.payer_account_id, transaction_body, executed_timestamp,
                expiration_time, wait_for_expiry, s.consensus_timestamp, e.key, e.memo
            from schedule s join entity e on e.id = s.schedule_id
            where schedule_id = %(schedule)s and e.deleted is not true
            """,
            schedule=schedule_id,
        )
        return None if row is None else Schedule(*row)

    def tying_tokens(self, account_id: int) -> frozenset[int]:
        """Return the tokens that an account holds, or is the treasury of if they are not deleted."""
        # Indexes: the primary keys of token_account (account_id, token_id), token (token_id), entity (id). A
        # treasury is associated with its token.
        rows = self.reading.fetch(
            "select token_id, balance > 0 from token_account where account_id = %s and associated",
            (account_id,),
        )
        others = [token_id for token_id, is_held in rows if not is_held]
        treasury_of = others and self.reading.fetch(
            """
            select t.token_id from token t join entity e on e.id = t.token_id
            where t.token_id = any(%s) and t.treasury_account_id = %s and e.deleted is not true
            """,
            (others, account_id),
        )
        return frozenset(token_id for token_id, is_held in rows if is_held) | {
            token_id for (token_id,) in treasury_of
        }
