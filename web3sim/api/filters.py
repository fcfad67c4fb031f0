"""Filters of contract calls, by which an operator logs, refuses, slows or redirects calls of some kind.

Filters come from the setting `web3.throttle.request` and from the admin; each that matches a request acts on
it, in this order, until one refuses it.
"""

import json
import os
import random
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import DatabaseError

from mirror.core import config, logs
from mirror.core.config.setting import InvalidSetting
from mirror.core.db.availability import outage
from mirror.core.rest.limits.buckets import Buckets
from web3sim.api.throttle import REQUESTS_EXCEEDED, Throttled
from web3sim.calls.body import CallBody
from web3sim.models import (
    FIELDS,
    MAX_RATE,
    Condition,
    ContractCallFilter,
    InvalidCondition,
    condition,
    parse_conditions,
)

log = logs.logger("mirror.web3")

REJECTED = "Invalid request"

#: The engines that the two redirecting actions stand for.
ENGINES = {"MODULARIZED": "pyevm-blocks", "MONOLITHIC": "pyevm"}

_MEMBERS = {"action", "filters", "limit", "rate"}
_CONDITION_MEMBERS = {"expression", "field", "type"}
_RELOAD_SECONDS = 2.0


class RequestFilter(NamedTuple):
    """One filter; `name` is the key of its counts, `limit` None for none."""

    name: str
    action: str = "LOG"
    conditions: tuple[Condition, ...] = ()
    limit: int | None = None
    rate: int = 100

    def matches(self, body: CallBody, buckets: Buckets) -> bool:
        if self.rate == 0 or (self.action != "THROTTLE" and random.random() * 100 >= self.rate):
            return False
        # The processes of a web server have one parent.
        if self.limit is not None and not buckets.count(f"limit:{os.getppid()}:{self.name}", self.limit):
            return False
        return not self.conditions or any(each.matches(body) for each in self.conditions)


def apply(filters: Sequence[RequestFilter], body: CallBody, buckets: Buckets) -> str | None:
    """Let all filters act on a request; the name of the engine that one of them chose. Errors: Throttled."""
    engine = None
    taken: list[RequestFilter] = []
    for each in filters:
        if not each.matches(body, buckets):
            continue
        if each.action == "LOG":
            # A warning, so that it is logged by default.
            log.warning("contract_call", filter=each.name, request=log_text(body))
        elif each.action == "REJECT":
            _return_tokens(taken, buckets)
            raise Throttled(REJECTED)
        elif each.action == "THROTTLE":
            if not buckets.try_consume(f"filter:{each.name}", each.rate, 1):
                _return_tokens(taken, buckets)
                raise Throttled(REQUESTS_EXCEEDED)
            taken.append(each)
        else:
            engine = ENGINES[each.action]
    return engine


def _return_tokens(taken: Sequence[RequestFilter], buckets: Buckets) -> None:
    """Return what a request took from the buckets of filters before another one refused it."""
    for each in taken:
        buckets.add_tokens(f"filter:{each.name}", each.rate, 1)


def log_text(body: CallBody) -> str:
    """Return a request in the form of the log, cut at the length that the setting says."""
    text = " ".join(f"{name.lower()}={get(body)}" for name, get in FIELDS.items())
    max_length: int = config.value("web3.maxPayloadLogSize")
    return text if len(text) <= max_length else f"{text[:max_length]}…"


# SETTING


def configured() -> tuple[RequestFilter, ...]:
    """The filters of the setting. Errors: InvalidSetting."""
    setting = config.lookup("web3.throttle.request")
    try:
        filters = json.loads(config.value(setting.name))
        if not isinstance(filters, list):
            raise InvalidCondition("it must be a JSON list of filters")
        return tuple(_configured(f"setting:{number}", each) for number, each in enumerate(filters))
    except (InvalidCondition, json.JSONDecodeError) as error:
        raise InvalidSetting(f"{setting.variable} can't be used: {error}") from None


def _configured(name: str, members: Any) -> RequestFilter:
    _check_members(members, _MEMBERS)
    action = str(members.get("action", "LOG")).upper()
    if action not in ContractCallFilter.Action:
        raise InvalidCondition(f"“{action}” is no action: choose {', '.join(ContractCallFilter.Action)}.")
    filters = members.get("filters") or []
    if not isinstance(filters, list):
        raise InvalidCondition("“filters” must be a list")
    conditions = []
    for each in filters:
        _check_members(each, _CONDITION_MEMBERS)
        conditions.append(
            condition(
                str(each.get("field", "DATA")),
                str(each.get("type", "CONTAINS")),
                str(each.get("expression", "")),
            )
        )
    limit, rate = members.get("limit"), members.get("rate", 100)
    if limit is not None and not (_is_number(limit) and limit >= 0):
        raise InvalidCondition(f"“limit” must be a number of requests, not {limit!r}")
    max_rate = MAX_RATE if action == "THROTTLE" else 100
    if not (_is_number(rate) and 0 <= rate <= max_rate):
        raise InvalidCondition(f"“rate” must be a whole number from 0 to {max_rate}, not {rate!r}")
    return RequestFilter(name, action, tuple(conditions), limit, rate)


def _check_members(members: Any, allowed: set[str]) -> None:
    if not isinstance(members, dict):
        raise InvalidCondition(f"{members!r} must be an object with {', '.join(sorted(allowed))}")
    if unknown := members.keys() - allowed:
        raise InvalidCondition(f"“{min(unknown)}” is none of {', '.join(sorted(allowed))}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# ADMIN


class Filters:
    """All filters, those of the admin read again every two seconds."""

    def __init__(self) -> None:
        self._configured_filters = configured()
        self._all = self._configured_filters
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def current(self) -> Sequence[RequestFilter]:
        if time.monotonic() - self._read_at > _RELOAD_SECONDS and self._reading.acquire(blocking=False):
            try:
                self._all = (*self._configured_filters, *_stored_filters())
            except DatabaseError as error:
                if outage.is_outage(error):
                    outage.report(error)
                else:
                    log.warning("filters_not_read", reason=outage.reason(error))
            finally:
                self._read_at = time.monotonic()
                self._reading.release()
        return self._all


def _stored_filters() -> list[RequestFilter]:
    """The filters of the admin."""
    return [
        # A change begins a new count.
        RequestFilter(
            f"{each.name}:{each.changed.timestamp()}",
            each.action,
            parse_conditions(each.conditions),
            each.limit,
            each.rate,
        )
        for each in ContractCallFilter.objects.filter(enabled=True).order_by("name")
    ]
