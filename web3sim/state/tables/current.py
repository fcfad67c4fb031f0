"""The current state: what the tables hold now."""

from collections.abc import Mapping, Sequence

from web3sim.engine.interface import Address
from web3sim.state.database import Reading
from web3sim.state.tables.interface import Entities, Entity, Nft, SlotKey, Token, entities_of, token_of

SLOT_LENGTH = 32

_ENTITY = "id, type::text, evm_address, alias, balance, ethereum_nonce, receiver_sig_required"


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
            select wanted.address, wanted.asked, {_ENTITY}
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
        # Indexes: the primary keys (token_id) and (id).
        return token_of(
            self._reading.fetch_one(
                """
                select token_id, name, symbol, decimals, t.type::text, treasury_account_id, total_supply
                from token t join entity e on e.id = t.token_id
                where t.token_id = %s and e.type = 'TOKEN' and e.deleted is not true
                """,
                (token_id,),
            )
        )

    def total_supply(self, token: Token) -> int:
        return token.total_supply

    def token_balance(self, token: Token, account_id: int) -> int:
        # Index: the primary key (account_id, token_id).
        row = self._reading.fetch_one(
            "select balance from token_account where account_id = %s and token_id = %s and associated",
            (account_id, token.id),
        )
        return 0 if row is None else int(row[0])

    def tied_to_tokens(self, account_id: int) -> bool:
        # Indexes: the primary keys of token_account (account_id, token_id), token (token_id), entity (id). A
        # treasury is associated with its token.
        row = self._reading.fetch_one(
            """
            select exists (
                select from token_account a
                    left join token t on t.token_id = a.token_id
                    left join entity e on e.id = a.token_id
                where a.account_id = %s and a.associated
                    and (a.balance > 0 or t.treasury_account_id = a.account_id and e.deleted is not true)
            )
            """,
            (account_id,),
        )
        return row is not None and bool(row[0])

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
            """
            select account_id, spender, coalesce(metadata, '') from nft
            where token_id = %s and serial_number = %s and deleted is not true
            """,
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
