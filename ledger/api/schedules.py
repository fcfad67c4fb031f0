"""GET /api/v1/schedules, and /api/v1/schedules/{scheduleId}, also known as /api/v1/schedule/{scheduleId}.

Source: schedule, with entity and transaction_signature.
Errors: 400 malformed parameter or id; 404 no such schedule.
"""

from typing import NotRequired, TypedDict

from rest_framework.response import Response

from ledger.queries import schedules as queries
from ledger.queries.schedules import FullSchedule
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.sql import Where
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.query import Query
from mirror.core.db.sql.windowed_scan import AT_ONCE, FIRST_IDS, WHOLE, walk
from mirror.core.rest.answers import not_loaded
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.views import ReadView
from mirror.core.rest.parameters.entity_ids import read_in_path, read_numeric_id
from mirror.core.rest.parameters.parameter_set import NoParameters, ParameterSet
from mirror.core.rest.parameters.types import EntityIdParameter, LimitParameter, OrderParameter
from mirror.core.values import entity_id, hexadecimal, timestamp
from mirror.core.values.json_types import Base64, EntityId, KeyJson, Page, Timestamp
from mirror.core.values.keys import key_json
from mirror.core.values.timestamp import NANOS_PER_SECOND

# How long a schedule without an expiration time waits for signatures, and how long after its expiration time
# an execution may still arrive; with some time for the clocks to differ.
_LIFETIME = 31 * 60 * NANOS_PER_SECOND
_GRACE = 60 * NANOS_PER_SECOND

_SIGNATURE_TYPES = {2: "CONTRACT", 3: "ED25519", 4: "RSA_3072", 5: "ECDSA_384", 6: "ECDSA_SECP256K1"}


# PARAMETERS
class ScheduleParameters(ParameterSet):
    account_id = EntityIdParameter("account.id", any_equal=False, help="Creator of the schedule.")
    limit = LimitParameter()
    order = OrderParameter("asc")
    schedule_id = EntityIdParameter("schedule.id", any_equal=False, help="Id of the schedule.")


# QUERY
def schedule_rows(parameters: ScheduleParameters, query: Query) -> tuple[list[FullSchedule], int | None]:
    """Return a page of schedules, and the id after which it continues if it came to no end."""
    comparisons = [*parameters.account_id, *parameters.schedule_id]
    if any(comparison.value is None for comparison in comparisons):
        return [], None
    accounts, ids = Bounds.of(parameters.account_id), Bounds.of(parameters.schedule_id)
    creators = None
    if accounts.equal:
        # All comparisons have to hold.
        creators = list(accounts.equal_within - accounts.unequal) if len(accounts.equal) == 1 else []
    elif accounts.lower is not None or accounts.upper is not None:
        creators = queries.creators_within(accounts)
    others = Where() if creators is not None else accounts.where("creator_account_id")
    return walk(
        lambda within: queries.schedules(query.filter(others), within, creators),
        ids,
        query,
        ends=queries.first_and_last,
        first=FIRST_IDS,
        at_once=AT_ONCE if others.conditions else WHOLE,
    )


def is_finished(schedule: FullSchedule, now: int) -> bool:
    """Return whether the schedule can no longer change."""
    if schedule.executed_timestamp is not None or schedule.deleted:
        return True
    if schedule.expiration_time is None:
        return now >= schedule.consensus_timestamp + _LIFETIME
    return now >= schedule.expiration_time + _GRACE


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


class SchedulesJson(Page):
    schedules: list[ScheduleJson]


def schedule_json(schedule: FullSchedule) -> ScheduleJson:
    return {
        "admin_key": key_json(schedule.admin_key),
        "deleted": schedule.deleted,
        "consensus_timestamp": timestamp.text(schedule.consensus_timestamp),
        "creator_account_id": entity_id.text(schedule.creator_account_id),
        "executed_timestamp": timestamp.text(schedule.executed_timestamp),
        "expiration_time": timestamp.text(schedule.expiration_time),
        "memo": schedule.memo,
        "payer_account_id": entity_id.text(schedule.payer_account_id),
        "schedule_id": entity_id.text(schedule.schedule_id),
        "signatures": [
            {
                "consensus_timestamp": timestamp.text(at),
                "public_key_prefix": prefix,
                "signature": signature,
                "type": _SIGNATURE_TYPES.get(kind or 0, "UNKNOWN"),
            }
            for at, prefix, signature, kind in schedule.signatures or ()
        ],
        "transaction_body": hexadecimal.base64_text(schedule.transaction_body),
        "wait_for_expiry": schedule.wait_for_expiry,
    }


def listed_schedule_json(schedule: FullSchedule) -> ScheduleJson:
    """Return the same for a list, without the members that only the entity has if there is none."""
    answer = schedule_json(schedule)
    if not schedule.has_entity:
        del answer["deleted"], answer["memo"]
    return answer


# VIEWS
class Schedules(ReadView):
    """List schedules.

    Each is a transaction that waits for signatures, or waited for them.
    """

    parameters, max_age, answers = ScheduleParameters, 10, SchedulesJson
    paging = {"schedule.id": "schedule_id"}

    def read(self, parameters: ScheduleParameters) -> Response:
        rows, seen_until = schedule_rows(parameters, self.query)
        if seen_until is not None:
            self.continue_after(**{"schedule.id": entity_id.bound(seen_until)})
        return self.page("schedules", [listed_schedule_json(row) for row in rows])


class Schedule(ReadView):
    """Get a schedule with the signatures it has.

    Once it is executed, deleted or expired it may be kept for an hour.
    """

    answers = ScheduleJson

    def read(self, parameters: NoParameters, schedule_id: str) -> ScheduleJson:
        # Clients may write 0x before the number.
        number = read_in_path(read_numeric_id, schedule_id.removeprefix("0x"), "scheduleid")
        schedule = queries.schedule(number)
        if schedule is None:
            raise NotFound(detail=not_loaded.entity())
        self.max_age = 3600 if is_finished(schedule, now_ns()) else 1
        return schedule_json(schedule)
