"""Pages of schedules where tables are distributed: ids first, then the rows."""

from collections.abc import Sequence

from ledger.queries.schedules import COLUMNS, FullSchedule
from mirror.core.db.reading.sql import Where, fetch
from mirror.core.db.sql.query import Query


def schedules(query: Query, creators: Sequence[int] | None) -> list[FullSchedule]:
    """Return a page of schedules by id, of these creators if they are given."""
    # Indexes: the primary key (schedule_id); of creators schedule__creator_schedule (creator_account_id,
    # schedule_id).
    if creators is not None:
        query = query.filter(Where(("creator_account_id = any(%s)",), (list(creators),)))
    page = f"""
        select schedule_id from schedule {query.where.sql}
        order by schedule_id {query.direction} limit {query.limit:d}
    """
    ids = [number for (number,) in fetch(page, query.where.values)]
    if not ids:
        return []
    statement = f"""
        select {COLUMNS} from schedule s left join entity e on e.id = s.schedule_id
        where s.schedule_id = any(%s) order by s.schedule_id {query.direction}
    """
    return [FullSchedule(*row) for row in fetch(statement, (ids,))]
