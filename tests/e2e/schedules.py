"""Schedules, their signatures and their ends in the API."""

import base64
from random import Random
from textwrap import wrap
from typing import Any

from mirror.demo.world.schedules import Schedule, Signature
from mirror.demo.world.world import World
from tests.e2e.forms import at, base_64, entity, key
from tests.e2e.rest import Rest, same

_LINE = 76


def check(rest: Rest, world: World, choose: Random) -> None:
    schedules = sorted(world.schedules.values(), key=lambda one: one.number)
    expected = [record(one) for one in schedules]
    order = choose.choice(("asc", "desc"))
    found = rest.all("schedules", "schedules", order=order)
    same(found, expected if order == "asc" else expected[::-1], "/schedules")
    for one in choose.sample(schedules, min(len(schedules), 3)):
        path = f"{choose.choice(('schedule', 'schedules'))}/0.0.{one.number}"
        same(rest.get(path), record(one), path)


# JSON
def record(one: Schedule) -> dict[str, Any]:
    return {
        "admin_key": key(one.admin_key),
        "deleted": one.deleted,
        "consensus_timestamp": at(one.created),
        "creator_account_id": entity(one.creator),
        "executed_timestamp": at(one.executed),
        "expiration_time": at(one.expiration),
        "memo": one.memo,
        "payer_account_id": entity(one.payer),
        "schedule_id": entity(one.number),
        "signatures": [signature_json(signature) for signature in one.signatures],
        "transaction_body": base_64(one.scheduled),
        "wait_for_expiry": one.waits,
    }


def signature_json(signature: Signature) -> dict[str, Any]:
    return {
        "consensus_timestamp": at(signature.consensus_timestamp),
        "public_key_prefix": in_lines(signature.prefix),
        "signature": in_lines(signature.signature),
        "type": signature.kind.upper(),
    }


def in_lines(data: bytes) -> str:
    """Return Base64 with the line breaks of MIME."""
    return "\n".join(wrap(base64.b64encode(data).decode(), _LINE))
