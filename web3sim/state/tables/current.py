"""The current state: what the tables hold now."""

from collections.abc import Mapping, Sequence

from web3sim.engine.interface import Address
from web3sim.state.database import Reading
from web3sim.state.tables.interface import (
    ENTITY_COLUMNS,
    FEE_COLUMNS,
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
    token_facts_statement,
    token_of,
)

SLOT_LENGTH = 32

# Indexes: the primary keys (token_id) and (id).
_ANY_TOKEN = f"""
    select {TOKEN_SELECTION}
    from (select {TOKEN_COLUMNS} from token where token_id = %(token)s) token
        cross join (select {TOKEN_ENTITY_COLUMNS} from entity where id = %(token)s) entity
    where entity.type = 'TOKEN'
"""
_LIVE_TOKEN = f"{_ANY_TOKEN} and entity.deleted is not true"
_DELETED_TOKEN = f"{_ANY_TOKEN} and entity.deleted"
_NFT = "account_id, spender, coalesce(metadata, '') as metadata, created_timestamp, delegating_spender"


class CurrentTables:
    """See web3sim.state.tables.interface.Tables."""

    time = None

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def entities(self, addresses: Sequence[Address], ids: Sequence[int]) -> Entities:
        # Indexes: entity__evm_address (evm_address), entity__alias (alias), the primary key (id). A contract
        # may have come where another was deleted.
        rows = self._reading.fetch(
            f"""
            select wanted.address, wanted.asked, {ENTITY_COLUMNS}
            from (
                select address, null::bigint asked from unnest(%s::bytea[]) address
                union all
                select null, asked from unnest(%s::bigint[]) asked
            ) wanted cross join lateral (
                select * from entity where evm_address = wanted.address and deleted is not true
                union all
                select * from entity where alias = wanted.address and deleted is not true
                union all
                select * from entity where id = wanted.asked and deleted is not true
                order by created_timestamp desc nulls last limit 1
            ) found
            """,
            (list(addresses), list(ids)),
        )
        return entities_of(rows)

    def nonce(self, entity: Entity) -> int:
        return entity.nonce

    def slots(self, keys: Sequence[SlotKey]) -> Mapping[SlotKey, int]:
        # Index: the primary key (contract_id, slot).
        rows = self._reading.fetch(
            """
            select contract_id, slot, value
            from unnest(%s::bigint[], %s::bytea[]) wanted (contract_id, slot)
                join contract_state using (contract_id, slot)
            """,
            ([contract for contract, _ in keys], [slot.to_bytes(SLOT_LENGTH, "big") for _, slot in keys]),
        )
        return dict.fromkeys(keys, 0) | {
            (contract, int.from_bytes(slot, "big")): int.from_bytes(value or b"", "big")
            for contract, slot, value in rows
        }

    def token(self, token_id: int) -> Token | None:
        return token_of(self._reading.fetch_one(_LIVE_TOKEN, {"token": token_id}))

    def deleted_token(self, token_id: int) -> Token | None:
        return token_of(self._reading.fetch_one(_DELETED_TOKEN, {"token": token_id}))

    def token_facts(self, token_id: int, serial_number: int | None) -> TokenFacts:
        # Indexes: those of a token, the primary keys (entity_id) and (token_id, serial_number).
        statement = token_facts_statement(
            _LIVE_TOKEN,
            f"select {FEE_COLUMNS} from custom_fee where entity_id = %(token)s",
            f"""
            select {_NFT} from nft
            where token_id = %(token)s and serial_number = %(serial)s and deleted is not true
            """,
        )
        row = self._reading.fetch_one(statement, {"token": token_id, "serial": serial_number})
        return token_facts_of(row)

    def total_supply(self, token: Token) -> int:
        return token.total_supply

    def relationship(self, token: Token, account_id: int) -> Relationship | None:
        # Index: the primary key (account_id, token_id).
        row = self._reading.fetch_one(
            """
            select account_id, token_id, balance, freeze_status, kyc_status,
                coalesce(automatic_association, false)
            from token_account where account_id = %s and token_id = %s and associated
            """,
            (account_id, token.id),
        )
        return None if row is None else Relationship(*row)

    def associations(self, account_id: int) -> Associations:
        # Index: the primary key (account_id, token_id).
        row = self._reading.fetch_one(
            """
            select count(*), count(*) filter (where automatic_association)
            from token_account where account_id = %s and associated
            """,
            (account_id,),
        )
        return Associations(*row) if row is not None else Associations(0, 0)

    def newest_serial(self, token_id: int) -> int:
        # Index: the primary key (token_id, serial_number).
        row = self._reading.fetch_one(
            "select serial_number from nft where token_id = %s order by serial_number desc limit 1",
            (token_id,),
        )
        return 0 if row is None else int(row[0])

    def custom_fees(self, token_id: int) -> CustomFees:
        # Index: the primary key (entity_id).
        return custom_fees_of(
            self._reading.fetch_one(f"select {FEE_COLUMNS} from custom_fee where entity_id = %s", (token_id,))
        )

    def allowances(self, owner: int) -> int:
        # Indexes: the primary keys, which begin with owner.
        row = self._reading.fetch_one(
            """
            select (select count(*) from crypto_allowance where owner = %(owner)s and amount > 0)
                + (select count(*) from token_allowance where owner = %(owner)s and amount > 0)
                + (select count(*) from nft_allowance where owner = %(owner)s and approved_for_all)
            """,
            {"owner": owner},
        )
        return 0 if row is None else int(row[0])

    def hbar_allowance(self, owner: int, spender: int) -> int:
        # Index: the primary key (owner, spender).
        row = self._reading.fetch_one(
            "select amount from crypto_allowance where owner = %s and spender = %s", (owner, spender)
        )
        return 0 if row is None else int(row[0])

    def pending_airdrop(self, key: AirdropKey) -> int | None:
        # Index: token_airdrop__sender_id (sender_account_id, receiver_account_id, token_id, serial_number).
        row = self._reading.fetch_one(
            """
            select coalesce(amount, 0) from token_airdrop
            where sender_account_id = %s and receiver_account_id = %s and token_id = %s
                and serial_number = %s and state = 'PENDING'
            """,
            key,
        )
        return None if row is None else int(row[0])

    def schedule(self, schedule_id: int) -> Schedule | None:
        # Indexes: the primary keys (schedule_id) and (id).
        row = self._reading.fetch_one(
            """
            select schedule_id, creator_account_id, s.payer_account_id, transaction_body, executed_timestamp,
                expiration_time, wait_for_expiry, s.consensus_timestamp, e.key, e.memo
            from schedule s join entity e on e.id = s.schedule_id
            where schedule_id = %s and e.deleted is not true
            """,
            (schedule_id,),
        )
        return None if row is None else Schedule(*row)

    def signatories(self, schedule_id: int) -> frozenset[bytes]:
        # Index: transaction_signature__entity_id (entity_id, consensus_timestamp).
        rows = self._reading.fetch(
            "select public_key_prefix from transaction_signature where entity_id = %s", (schedule_id,)
        )
        return frozenset(prefix for (prefix,) in rows)

    def tying_tokens(self, account_id: int) -> frozenset[int]:
        # Indexes: the primary keys of token_account (account_id, token_id), token (token_id), entity (id). A
        # treasury is associated with its token.
        rows = self._reading.fetch(
            """
            select a.token_id
            from token_account a
                left join token t on t.token_id = a.token_id
                left join entity e on e.id = a.token_id
            where a.account_id = %s and a.associated
                and (a.balance > 0 or t.treasury_account_id = a.account_id and e.deleted is not true)
            """,
            (account_id,),
        )
        return frozenset(token_id for (token_id,) in rows)

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        # Index: the primary key (owner, spender, token_id).
        row = self._reading.fetch_one(
            "select amount from token_allowance where owner = %s and spender = %s and token_id = %s",
            (owner, spender, token_id),
        )
        return 0 if row is None else int(row[0])

    def nft(self, token_id: int, serial_number: int) -> Nft | None:
        # Index: the primary key (token_id, serial_number).
        row = self._reading.fetch_one(
            f"select {_NFT} from nft where token_id = %s and serial_number = %s and deleted is not true",
            (token_id, serial_number),
        )
        return None if row is None else Nft(*row)

    def approved_for_all(self, token_id: int, owner: int, spender: int) -> bool:
        # Index: the primary key (owner, spender, token_id).
        row = self._reading.fetch_one(
            "select approved_for_all from nft_allowance where owner = %s and spender = %s and token_id = %s",
            (owner, spender, token_id),
        )
        return row is not None and bool(row[0])
