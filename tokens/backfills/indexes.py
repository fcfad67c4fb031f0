"""Indexes of a database that an older release has filled."""

from mirror.core.db.backfill import IndexBuild

HOLDINGS = IndexBuild(
    name="holdings_index",
    index="token_account__token_balance_account",
    statement="create index concurrently token_account__token_balance_account "
    "on token_account (token_id, balance, account_id)",
)
PAST_HOLDINGS = IndexBuild(
    name="past_holdings_index",
    index="token_balance__token_balance_account",
    statement="create index concurrently token_balance__token_balance_account "
    "on token_balance (token_id, balance, account_id)",
)
TYPE = IndexBuild(
    name="token_type_index",
    index="token__type_id",
    statement="create index concurrently token__type_id on token (type, token_id)",
)
SYMBOL = IndexBuild(
    name="token_symbol_index",
    index="token__symbol",
    statement="create index concurrently token__symbol on token (symbol, token_id)",
)
SENT_AIRDROPS = IndexBuild(
    name="sent_airdrops_index",
    index="token_airdrop__pending_of_sender",
    statement="create index concurrently token_airdrop__pending_of_sender on token_airdrop "
    "(sender_account_id, receiver_account_id, token_id, serial_number) where state = 'PENDING'",
)
RECEIVED_AIRDROPS = IndexBuild(
    name="received_airdrops_index",
    index="token_airdrop__pending_of_receiver",
    statement="create index concurrently token_airdrop__pending_of_receiver on token_airdrop "
    "(receiver_account_id, sender_account_id, token_id, serial_number) where state = 'PENDING'",
)
