"""Indexes of a database that an older release has filled."""

from mirror.db.backfill import IndexBuild

BALANCE = IndexBuild(
    name="balance_index",
    index="entity__balance",
    statement="create index concurrently entity__balance on entity (balance, id) "
    "where type in ('ACCOUNT', 'CONTRACT')",
)

SCHEDULES = IndexBuild(
    name="schedule_index",
    index="schedule__creator_schedule",
    statement="create index concurrently schedule__creator_schedule "
    "on schedule (creator_account_id, schedule_id)",
)
