"""GET /api/v1/topics/{id}: a topic with its keys and its custom fees.

Source: topic, entity and custom_fee; the topic must be in all three.
Errors: 400 malformed id; 404 naming what is missing.
"""

from typing import TypedDict

from google.protobuf.message import DecodeError

from ledger.queries import topics as queries
from ledger.queries.topics import Topic as TopicRow
from mirror.core.rest.answers import not_loaded
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.views import SpringReadView
from mirror.core.rest.parameters.entity_ids import read_spring_id
from mirror.core.rest.parameters.spring import SpringParameterSet, read_spring_in_path
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi import wire
from mirror.core.values.json_types import EntityId, Int64, KeyJson, Timestamp, TimestampRangeJson
from mirror.core.values.keys import key_json

_KEYS_OF_A_LIST = 1  # the field of KeyList that holds its keys


# PARAMETERS
class TopicParameters(SpringParameterSet):
    """No parameters; the query string is ignored."""


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


def topic_json(topic: TopicRow) -> TopicJson:
    return {
        "admin_key": key_json(topic.admin_key),
        "auto_renew_account": entity_id.text(topic.auto_renew_account_id),
        "auto_renew_period": topic.auto_renew_period,
        "created_timestamp": timestamp.spring_text(topic.created_timestamp),
        "custom_fees": {
            "created_timestamp": timestamp.spring_text(topic.fees_since),
            "fixed_fees": [
                {
                    "amount": fee["amount"],
                    "collector_account_id": entity_id.text(fee.get("collector_account_id")),
                    "denominating_token_id": entity_id.text(fee.get("denominating_token_id")),
                }
                for fee in topic.fixed_fees or ()
            ],
        },
        "deleted": topic.deleted,
        "fee_exempt_key_list": [key_json(key) for key in keys_of_list(topic.fee_exempt_key_list or b"")],
        "fee_schedule_key": key_json(topic.fee_schedule_key),
        "memo": topic.memo,
        "submit_key": key_json(topic.submit_key),
        "timestamp": timestamp.spring_range_json(topic.since, topic.until),
        "topic_id": entity_id.text(topic.id),
    }


def keys_of_list(key_list: bytes) -> list[bytes]:
    """Return the serialized keys of a serialized KeyList; none of other bytes."""
    try:
        return wire.repeated_bytes(key_list, _KEYS_OF_A_LIST)
    except DecodeError:
        return []


# VIEW
class Topic(SpringReadView):
    """Get a topic with its keys and custom fees."""

    parameters, max_age, answers = TopicParameters, 5, TopicJson

    def read(self, parameters: TopicParameters, id: str) -> TopicJson:
        topic = queries.topic(read_spring_in_path(read_spring_id, id, "id"))
        if topic is None:
            raise NotFound("Topic not found", detail=not_loaded.entity())
        if not topic.has_entity:
            raise NotFound("Entity not found", detail=not_loaded.entity())
        if not topic.has_custom_fee:
            raise NotFound("Custom fee for entity not found", detail=not_loaded.entity())
        return topic_json(topic)
