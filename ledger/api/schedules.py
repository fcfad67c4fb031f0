"""GET /api/v1/schedules, and /api/v1/schedules/{scheduleId}, also known as /api/v1/schedule/{scheduleId}.

Source: schedule, with entity and transaction_signature.
Errors: 400 malformed parameter or id; 404 no such schedule.
"""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.models.transaction import SIGNATURE_TYPES
from ledger.queries import schedules as queries
from ledger.queries.schedules import FullSchedule
from mirror.core.config.clock import now_ns
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import read_in_path, read_numeric_id
from mirror.core.rest.parameters.parameter_set import NoParameters
from mirror.core.rest.views import ReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import Base64, EntityId, KeyJson, Timestamp, page_type
from mirror.core.values.timestamp import NANOS_PER_SECOND

# How long a schedule without an expiration time waits for signatures, and how long after its expiration time
# an execution may still arrive; with some time for the clocks to differ.
_LIFETIME = 31 * 60 * NANOS_PER_SECOND
_GRACE = 60 * NANOS_PER_SECOND


# PARAMETERS
class ScheduleParameters(classic.PageParameters):
    account_id = classic.EntityId("account.id", any_equal=False, help="Creator of the schedule.")
    order = classic.Order("asc")
    schedule_id = classic.EntityId("schedule.id", any_equal=False, help="Id of the schedule.")


# JSON
class ScheduleSignatureJson(TypedDict):
    consensus_timestamp: Timestamp | None
    public_key_prefix: Base64 | None
    signature: Base64 | None
    type: str


class ScheduleJson(TypedDict):
    """In a list `deleted` and `memo` are left out of a schedule whose entity is not known."""

    admin_key: KeyJson | None
    deleted: NotRequired[bool | None]
    consensus_timestamp: Timestamp | None
    creator_account_id: EntityId | None
    executed_timestamp: Timestamp | None
    expiration_time: Timestamp | None
    memo: NotRequired[str | None]
    payer_account_id: EntityId | None
    schedule_id: EntityId | None
    signatures: list[ScheduleSignatureJson]
    transaction_body: Base64 | None
    wait_for_expiry: bool


def signatures_json(signatures: Sequence[Any] | None) -> list[ScheduleSignatureJson]:
    return [
        {
            "consensus_timestamp": timestamp.text(at),
            "public_key_prefix": prefix,
            "signature": signature,
            "type": SIGNATURE_TYPES.get(kind or 0, "UNKNOWN"),
        }
        for at, prefix, signature, kind in signatures or ()
    ]


_SCHEDULE = Record(ScheduleJson, written={"signatures": signatures_json})


def schedule_json(schedule: FullSchedule, *, listed: bool = False) -> ScheduleJson:
    """Return a schedule; in a list without the members that only the entity has if there is none."""
    *members, has_entity = schedule
    answer = _SCHEDULE.json(members)
    if listed and not has_entity:
        del answer["deleted"], answer["memo"]
    return answer


def is_finished(schedule: FullSchedule, now: int) -> bool:
    if schedule.executed_timestamp is not None or schedule.deleted:
        return True
    if schedule.expiration_time is None:
        return now >= schedule.consensus_timestamp + _LIFETIME
    return now >= schedule.expiration_time + _GRACE


# VIEWS
class Schedules(ReadView):
    """List schedules.

    Each is a transaction that waits for signatures, or waited for them.
    """

    parameters, max_age, answers = ScheduleParameters, 10, page_type("Schedules", schedules=ScheduleJson)
    paging = {"schedule.id": "schedule_id"}

    def read(self, parameters: ScheduleParameters) -> Response:
        rows, seen_until = queries.page(parameters.account_id, parameters.schedule_id, self.query)
        schedules = [schedule_json(row, listed=True) for row in rows]
        return self.page("schedules", schedules, after=entity_id.bound(seen_until))


class Schedule(ReadView):
    """Get a schedule with the signatures it has.

    Once it is executed, deleted or expired it may be kept for an hour.
    """

    answers = ScheduleJson

    def read(self, parameters: NoParameters, schedule_id: str) -> ScheduleJson:
        # Clients may write 0x before the number.
        number = read_in_path(read_numeric_id, schedule_id.removeprefix("0x"), "scheduleid")
        schedule = not_loaded.found(queries.schedule(number))
        self.max_age = 3600 if is_finished(schedule, now_ns()) else 1
        return schedule_json(schedule)
