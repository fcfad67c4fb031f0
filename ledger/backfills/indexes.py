"""Indexes of a database that an older release has filled."""

from mirror.core.db.backfill import IndexBuild

_FAILED = "where not (result in (22, 104, 220))"


def _build(name: str, index: str, on: str) -> IndexBuild:
    return IndexBuild(name=name, index=index, statement=f"create index concurrently {index} on {on}")


BALANCE = IndexBuild(
    name="balance_index",
    index="entity__balance",
    statement="create index concurrently entity__balance on entity (balance, id) "
    "where type in ('ACCOUNT', 'CONTRACT')",
)
PAST_BALANCE = IndexBuild(
    name="past_balance_index",
    index="account_balance__balance_account",
    statement="create index concurrently account_balance__balance_account "
    "on account_balance (balance, account_id)",
)

SCHEDULES = IndexBuild(
    name="schedule_index",
    index="schedule__creator_schedule",
    statement="create index concurrently schedule__creator_schedule "
    "on schedule (creator_account_id, schedule_id)",
)
TRANSACTIONS = [
    _build("failed_index", "transaction__failed", f"transaction (consensus_timestamp) {_FAILED}"),
    _build(
        "failed_type_index",
        "transaction__failed_type",
        f"transaction (type, consensus_timestamp) {_FAILED}",
    ),
    _build(
        "credit_index",
        "crypto_transfer__credit",
        "crypto_transfer (entity_id, consensus_timestamp) where amount > 0 and entity_id > 1000",
    ),
    _build(
        "debit_index",
        "crypto_transfer__debit_of_others",
        "crypto_transfer (entity_id, consensus_timestamp) where amount < 0 and entity_id <> payer_account_id",
    ),
    _build(
        "token_debit_index",
        "token_transfer__debit_of_others",
        "token_transfer (account_id, consensus_timestamp) "
        "where amount < 0 and account_id <> payer_account_id",
    ),
    _build(
        "entity_transaction_index",
        "entity_transaction__consensus_timestamp",
        "entity_transaction (consensus_timestamp)",
    ),
]
