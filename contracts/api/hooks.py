"""GET /api/v1/accounts/{id}/hooks and .../hooks/{hookId}/storage: the hooks of an account (HIP-1195) and
their storage.

Source: hook, also deleted ones; hook_storage, at a time hook_storage_change.
Shape: keys and values are 32 bytes in hex. A slot freed at the requested time is all zeros, one that was only
read has no value.
Errors: 400 malformed parameter; 404 unknown alias or EVM address. An unknown hook has no storage.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from rest_framework.response import Response

from contracts.api import formats
from contracts.queries import hooks as queries
from contracts.queries.hooks import HookSlot, Keys
from ledger.api.account_names import SpringOfAccount, spring_account_id
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64, Comparison
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.entity_ids import AccountName
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE, InvalidValue
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import (
    EntityId,
    Hex,
    Int64,
    KeyJson,
    Page,
    Timestamp,
    TimestampRangeJson,
    page_type,
)

_WORD = 32
_LAST_KEY = (1 << 8 * _WORD) - 1
_KEY = re.compile(r"(?:(eq|gt|gte|lt|lte):)?(?:0x)?([0-9a-fA-F]{1,64})")
_HOOK_ID = re.compile(r"[+-]?[0-9]{1,19}")
_MOST = 100


# PARAMETERS
class HookParameters(spring.ParameterSet):
    hook_id = spring.Number("hook.id", variable="hookId", most=_MOST, help="Hook id.")
    limit = spring.Limit()
    order = spring.Order("desc")


class StorageKeyParameter(spring.ListParameter):
    """Keys of storage slots in hex, read as whole numbers; operators are in lower case."""

    schema = {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{1,64}$"}

    def comparison(self, text: str, split: Callable[[str], tuple[str, str]]) -> Comparison:
        match = _KEY.fullmatch(text)
        if match is None:
            raise InvalidValue(text)
        return Comparison(match[1] or "eq", int(match[2], 16))


class HookStorageParameters(spring.ParameterSet):
    key = StorageKeyParameter(
        "key", variable="keys", most=_MOST, operators=WITHOUT_NE, help="Key of a slot, in hex."
    )
    timestamp = spring.Timestamp(variable="timestamps", help="Time of the storage.")
    limit = spring.Limit()
    order = spring.Order()


# QUERY
def slots(
    parameters: HookStorageParameters, query: Query, owner_id: int, hook_id: int
) -> tuple[list[HookSlot], bytes | None]:
    """Return a page of slots, and the key after which it continues if it came to no end."""
    found = Bounds.combine(parameters.key)
    if not parameters.timestamp:
        return queries.storage_now(owner_id, hook_id, selected(found, found.equal_within), query)
    # At a time all keys count if one of them is within the range.
    return queries.storage_at(
        owner_id,
        hook_id,
        selected(found, found.equal if found.equal_within else frozenset()),
        spring.time_window(parameters.timestamp),
        query,
    )


def selected(bounds: Bounds, equal: frozenset[int]) -> Keys:
    """Return the range, or the keys named by eq that count."""
    beyond = bounds.lower is not None and bounds.lower > _LAST_KEY
    if bounds.equal or beyond or (bounds.upper is not None and bounds.upper < 0):
        return Keys(equal=[_word(key) for key in equal])
    return Keys(
        lower=None if bounds.lower is None else _word(bounds.lower),
        upper=None if bounds.upper is None else _word(bounds.upper),
    )


def _word(number: int) -> bytes:
    return number.to_bytes(_WORD, "big")


# JSON
class HookJson(TypedDict):
    admin_key: KeyJson | None
    contract_id: EntityId | None
    created_timestamp: Timestamp | None
    deleted: bool
    extension_point: str
    hook_id: Int64
    owner_id: EntityId | None
    timestamp_range: TimestampRangeJson | None
    type: str


class HookSlotJson(TypedDict):
    """A slot that was only read has no value."""

    key: Hex
    value: Hex | None
    timestamp: Timestamp | None


class HookStorageJson(Page):
    hook_id: Int64
    owner_id: EntityId | None
    storage: list[HookSlotJson]


def _validity(ends: Sequence[int | None] | None) -> TimestampRangeJson | None:
    return None if ends is None else timestamp.spring_range_json(*ends)


HOOK = Record(
    HookJson,
    spring=True,
    extension_point="extension_point::text",
    timestamp_range="case when timestamp_range is not null"
    " then array[lower(timestamp_range), upper(timestamp_range)] end",
    type="type::text",
    written={"timestamp_range": _validity},
)


def slot_json(slot: HookSlot) -> HookSlotJson:
    return {
        "key": formats.word(slot.key),
        "value": None if slot.value is None else formats.word(slot.value),
        "timestamp": timestamp.spring_text(slot.timestamp),
    }


# VIEWS
class Hooks(SpringOfAccount):
    """List the hooks of an account.

    A hook is code of a contract that decides about transfers of its owner.
    """

    parameters, max_age, answers = HookParameters, 1, page_type("Hooks", hooks=HookJson)
    paging = {"hook.id": "hook_id"}
    account_part = "ownerId"

    def read(self, parameters: HookParameters, account: AccountName) -> Response:
        owner_id, hook_ids = spring_account_id(account), Bounds.combine(parameters.hook_id)
        rows = queries.hooks(HOOK.columns, owner_id, hook_ids, self.query)
        return self.page("hooks", [HOOK.json(row) for row in rows])


class HookStorage(SpringOfAccount):
    """List the storage slots of a hook.

    With `timestamp` as they were at that time.
    """

    parameters, max_age, answers = HookStorageParameters, 1, HookStorageJson
    paging = {"key": "key"}
    account_part = "ownerId"

    def resolve(self, **path: str) -> dict[str, Any]:
        text = path.pop("hook_id")
        parts = super().resolve(**path)
        if _HOOK_ID.fullmatch(text) is None or not MIN_INT64 <= int(text) <= MAX_INT64:
            raise spring.not_converted("hookId")
        self.broken = ["hookId must be greater than or equal to 0"] if int(text) < 0 else []
        return {**parts, "hook_id": int(text)}

    def filter_queryset(self, queryset: Any) -> Any:
        """Report problems of the hook id before those of the parameters, in one answer."""
        try:
            query = super().filter_queryset(queryset)
        except spring.BrokenConstraints as others:
            raise spring.BrokenConstraints(*self.broken, *others.problems) from None
        if self.broken:
            raise spring.BrokenConstraints(*self.broken)
        return query

    def read(self, parameters: HookStorageParameters, account: AccountName, hook_id: int) -> Response:
        owner_id = spring_account_id(account)
        found, seen_until = slots(parameters, self.query, owner_id, hook_id)
        rows = [slot_json(slot) for slot in found]
        # The link always has the limit, as often as the request.
        if not any(text.strip() for text in parameters.texts.get("limit", ())):
            parameters.texts["limit"] = [str(parameters.limit)]
        # `page` fills in the links, which stand before the owner here.
        before = {"hook_id": hook_id, "links": None, "owner_id": entity_id.text(owner_id)}
        after = None if seen_until is None else formats.word(seen_until)
        return self.page("storage", rows, before=before, after=after)
