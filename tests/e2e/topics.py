"""Topics and their messages in the API."""

from random import Random
from typing import Any

from mirror.core.values.hapi.messages import TransactionID
from mirror.demo.world.topics import RUNNING_HASH_VERSION, Message, Topic
from mirror.demo.world.world import World
from tests.e2e.forms import at, base_64, entity, key, since
from tests.e2e.rest import Rest, same


def check(rest: Rest, world: World, choose: Random) -> None:
    for topic in world.topics.values():
        path = f"topics/0.0.{topic.number}"
        same(rest.get(path), record(topic), path)
        order = choose.choice(("asc", "desc"))
        found = rest.all(f"{path}/messages", "messages", order=order)
        expected = [message_json(topic, one) for one in topic.messages]
        same(found, expected if order == "asc" else expected[::-1], path, "messages")
        if topic.messages:
            _check_one(rest, topic, choose)


def _check_one(rest: Rest, topic: Topic, choose: Random) -> None:
    """Check a message by its number and by its time, and those around it."""
    one = choose.choice(topic.messages)
    expected, path = message_json(topic, one), f"topics/0.0.{topic.number}/messages"
    same(rest.get(f"{path}/{one.sequence_number}"), expected, path, one.sequence_number)
    same(rest.get(f"topics/messages/{at(one.consensus_timestamp)}"), expected, path, "by time")
    found = rest.all(path, "messages", sequencenumber=f"gte:{one.sequence_number}", encoding="utf-8")
    texts = [later.contents.decode(errors="replace") for later in topic.messages[one.sequence_number - 1 :]]
    same([row["message"] for row in found], texts, path, "as text")


# JSON
def record(topic: Topic) -> dict[str, Any]:
    fees = (
        []
        if topic.fee is None
        else [
            {
                "amount": topic.fee,
                "collector_account_id": entity(topic.owner),
                "denominating_token_id": entity(topic.fee_token),
            }
        ]
    )
    return {
        "admin_key": key(topic.admin_key),
        "auto_renew_account": entity(topic.auto_renew_account),
        "auto_renew_period": topic.auto_renew_period,
        "created_timestamp": at(topic.created),
        "custom_fees": {"created_timestamp": at(topic.fee_changed or topic.created), "fixed_fees": fees},
        "deleted": topic.deleted,
        "fee_exempt_key_list": [key(one) for one in topic.fee_exempt_keys],
        "fee_schedule_key": key(topic.fee_schedule_key),
        "memo": topic.memo,
        "submit_key": key(topic.submit_key),
        "timestamp": since(topic.changed or topic.created),
        "topic_id": entity(topic.number),
    }


def message_json(topic: Topic, message: Message) -> dict[str, Any]:
    chunk = None
    if message.chunk is not None:
        initial = TransactionID.FromString(message.initial_transaction_id)
        start = initial.transactionValidStart
        chunk = {
            "initial_transaction_id": {
                "account_id": entity(initial.accountID.accountNum),
                "nonce": initial.nonce,
                "scheduled": initial.scheduled,
                "transaction_valid_start": f"{start.seconds}.{start.nanos:09}",
            },
            "number": message.chunk[0],
            "total": message.chunk[1],
        }
    return {
        "chunk_info": chunk,
        "consensus_timestamp": at(message.consensus_timestamp),
        "message": base_64(message.contents),
        "payer_account_id": entity(message.payer),
        "running_hash": base_64(message.running_hash),
        "running_hash_version": RUNNING_HASH_VERSION,
        "sequence_number": message.sequence_number,
        "topic_id": entity(topic.number),
    }
