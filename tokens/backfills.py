"""transaction.nft_transfer with each serial that a change of treasury or the end of a token has moved.

Older releases stored a negative number in place of the serials: -1, or how many they were. A serial that has
moved has a version from then on.
"""

from functools import partial

from mirror.core.db.schema.backfill import Backfill, execute_range
from mirror.core.values.hapi.transaction_types import NUMBERS
from tokens.handlers.nft import MAX_LISTED

_TYPES = ", ".join(str(NUMBERS[name]) for name in ("TOKENUPDATE", "TOKENDISSOCIATE"))
# Index: transaction__type_consensus_timestamp.
_OF_THESE_TYPES = f"type in ({_TYPES}) and jsonb_typeof(nft_transfer) = 'array'"
# Indexes: that, the primary key of nft, nft_history__token_serial_lower_timestamp.
_LIST = f"""
    with entry as (
        select t.consensus_timestamp as at, e.entry, e.place, (e.entry ->> 'token_id')::bigint as token_id,
            (e.entry ->> 'serial_number')::bigint as serial_number
        from transaction t, jsonb_array_elements(t.nft_transfer) with ordinality e (entry, place)
        where t.consensus_timestamp > %(after)s and t.consensus_timestamp <= %(to)s and t.{_OF_THESE_TYPES}
    ), listed as (
        select at, jsonb_agg(coalesce(entry || moved.serial, entry) order by place, moved.number)
            filter (where serial_number > 0 or moved.number is not null) as transfers
        from entry left join lateral (
            select version.serial_number as number,
                jsonb_build_object('serial_number', version.serial_number) as serial
            from (
                select serial_number, lower(timestamp_range) as since from nft
                where nft.token_id = entry.token_id
                union all
                select serial_number, lower(timestamp_range) from nft_history h
                where h.token_id = entry.token_id
            ) version
            where version.since = at and entry.serial_number < 0
        ) moved on true
        where exists (select from entry other where other.at = entry.at and other.serial_number < 0)
        group by at
        having count(*) <= {MAX_LISTED:d}
    )
    update transaction t set nft_transfer = coalesce(listed.transfers, '[]')
    from listed where t.consensus_timestamp = listed.at"""

NFT_TRANSFERS = Backfill(
    name="nft_transfers",
    table=f"(select consensus_timestamp from transaction where {_OF_THESE_TYPES}) moving",
    change=partial(execute_range, _LIST),
)
