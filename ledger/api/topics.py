"""GET /api/v1/topics/{id}: a topic with its keys and its custom fees.

Source: topic, entity and custom_fee; the topic must be in all three.
Errors: 400 malformed id; 404 naming what is missing.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from google.protobuf.message import DecodeError

from ledger.api import not_loaded
from mirror.core.db.reading.sql import fetch_one
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.entity_ids import read_spring_id
from mirror.core.rest.views import SpringReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi import wire
from mirror.core.values.json_types import EntityId, Int64, KeyJson, Timestamp, TimestampRangeJson
from mirror.core.values.keys import key_json

_KEYS_OF_A_LIST = 1  # the field of KeyList that holds its keys


# JSON
class TopicFeeJson(TypedDict):
    amount: Int64
    collector_account_id: EntityId | None
    denominating_token_id: EntityId | None


class TopicFeesJson(TypedDict):
    created_timestamp: Timestamp | None
    fixed_fees: list[TopicFeeJson]


class TopicJson(TypedDict):
    admin_key: KeyJson | None
    auto_renew_account: EntityId | None
    auto_renew_period: Int64 | None
    created_timestamp: Timestamp | None
    custom_fees: TopicFeesJson
    deleted: bool | None
    fee_exempt_key_list: list[KeyJson | None]
    fee_schedule_key: KeyJson | None
    memo: str | None
    submit_key: KeyJson | None
    timestamp: TimestampRangeJson
    topic_id: EntityId | None


def fees_json(fees: Mapping[str, Any]) -> TopicFeesJson:
    return {
        "created_timestamp": timestamp.spring_text(fees["since"]),
        "fixed_fees": [
            {
                "amount": fee["amount"],
                "collector_account_id": entity_id.text(fee.get("collector_account_id")),
                "denominating_token_id": entity_id.text(fee.get("denominating_token_id")),
            }
            for fee in fees["fixed"] or ()
        ],
    }


def keys_of_list(key_list: bytes) -> list[bytes]:
    """Return the serialized keys of a serialized KeyList; none of other bytes."""
    try:
        return wire.repeated_bytes(key_list, _KEYS_OF_A_LIST)
    except DecodeError:
        return []


TOPIC = Record(
    TopicJson,
    of="t",
    spring=True,
    auto_renew_account="e.auto_renew_account_id",
    auto_renew_period="e.auto_renew_period",
    created_timestamp="e.created_timestamp",
    custom_fees="json_build_object('since', lower(f.timestamp_range), 'fixed', f.fixed_fees)",
    deleted="e.deleted",
    memo="e.memo",
    timestamp="lower(e.timestamp_range), upper(e.timestamp_range)",
    topic_id="t.id",
    written={
        "custom_fees": fees_json,
        "fee_exempt_key_list": lambda keys: [key_json(key) for key in keys_of_list(keys or b"")],
    },
)


# VIEW
class Topic(SpringReadView):
    """Get a topic with its keys and custom fees."""

    parameters, max_age, answers = spring.NoParameters, 5, TopicJson

    def read(self, parameters: spring.NoParameters, id: str) -> TopicJson:
        # Indexes: the primary keys of topic, entity and custom_fee.
        row = fetch_one(
            f"""
            select {TOPIC.columns}, e.id is not null, f.entity_id is not null from topic t
            left join entity e on e.id = t.id
            left join custom_fee f on f.entity_id = t.id
            where t.id = %s
            """,
            (spring.read_in_path(read_spring_id, id, "id"),),
        )
        if row is None:
            raise NotFound("Topic not found", detail=not_loaded.entity())
        *topic, has_entity, has_custom_fee = row
        if not has_entity:
            raise NotFound("Entity not found", detail=not_loaded.entity())
        if not has_custom_fee:
            raise NotFound("Custom fee for entity not found", detail=not_loaded.entity())
        return TOPIC.json(topic)
