"""Accounts that dissociate from a deleted token: their units or serials end, which no transaction lists."""

from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from tokens.handlers.nft import MAX_LISTED, NFT_COLUMNS


class Dissociation(NamedTuple):
    """An account gives up a deleted token, and with it `amount` units or serials (negative)."""

    consensus_timestamp: int
    account_id: int
    token_id: int
    amount: int
    payer_account_id: int


def dissociate_deleted(cursor: CursorWrapper, dissociations: list[Dissociation]) -> None:
    """Delete the serials the accounts held; where there were none, store a transfer of units.

    A serial can't change again after that, so this may wait for the end of the batch.
    Rows: nft and nft_history; transaction.nft_transfer, with each serial, or if they are too many with the
    amount in place of a serial number; token_transfer.
    """
    history = NFT_COLUMNS.replace("timestamp_range", "int8range(lower(timestamp_range), consensus_timestamp)")
    cursor.execute(
        f"""
        with dissociated as (
            select * from unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
                as d (consensus_timestamp, account_id, token_id, amount, payer_account_id)
        ), held as materialized (
            select n.*, d.consensus_timestamp from nft n join dissociated d using (account_id, token_id)
            where lower(n.timestamp_range) < d.consensus_timestamp
        ), archived as (
            insert into nft_history ({NFT_COLUMNS}) select {history} from held
        ), ended as (
            update nft n set account_id = null, deleted = true, delegating_spender = null, spender = null,
                timestamp_range = int8range(h.consensus_timestamp, null)
            from held h where n.token_id = h.token_id and n.serial_number = h.serial_number
        ), noted as (
            update transaction t set nft_transfer = ended.transfers
            from (
                select consensus_timestamp, jsonb_agg(jsonb_build_object(
                    'is_approval', false, 'receiver_account_id', null, 'sender_account_id', account_id,
                    'serial_number', serial_number, 'token_id', token_id) order by token_id, serial_number
                ) as transfers
                from (
                    select distinct consensus_timestamp, account_id, token_id,
                        case when count(*) over listed > {MAX_LISTED:d} then amount else serial_number end
                            as serial_number
                    from dissociated join held using (consensus_timestamp, account_id, token_id)
                    window listed as (partition by consensus_timestamp)
                ) moved
                group by consensus_timestamp
            ) ended
            where t.consensus_timestamp = ended.consensus_timestamp
        )
        insert into token_transfer
            (account_id, amount, consensus_timestamp, is_approval, payer_account_id, token_id)
        select account_id, amount, consensus_timestamp, false, payer_account_id, token_id from dissociated d
        where not exists (select 1 from held h where h.token_id = d.token_id
            and h.consensus_timestamp = d.consensus_timestamp)
        """,
        [list(column) for column in zip(*dissociations, strict=True)],
    )
