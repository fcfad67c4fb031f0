"""The schedule of fees in the file 0.0.113, and the facts of tokens and topics that it is applied to."""

import time
from collections.abc import Collection
from threading import Lock

from ledger.queries.system_files import SIMPLE_FEES, system_file
from mirror.core import config
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import fetch
from mirror.core.values.hapi.messages import DecodeError, FeeSchedule
from network.fees.estimate import Schedule
from network.fees.genesis import genesis
from network.fees.usage import Facts

_REFRESH = "rest.fee.refreshInterval"

_OF_TOKENS = ("token", "token_id", "t.type = 'NON_FUNGIBLE_UNIQUE'")

_GENESIS = Schedule(genesis())

_lock = Lock()
_read: tuple[float, Schedule] | None = None  # when the file was last read, and its schedule


def schedule() -> Schedule:
    """Return the file's schedule, read again after a while, or the built-in one. Errors: psycopg.Error."""
    global _read
    now = time.monotonic()
    with _lock:
        if _read is not None and now < _read[0] + config.value(_REFRESH):
            return _read[1]
    version = system_file(SIMPLE_FEES, Bounds(), _decoded)
    with _lock:
        _read = None if version is None else (now, version[0])
    return _GENESIS if version is None else version[0]


def forget() -> None:
    """Read the file anew for the next estimate."""
    global _read
    _read = None


def _decoded(content: bytes) -> Schedule:
    try:
        return Schedule(FeeSchedule.FromString(content))
    except ValueError as error:
        raise DecodeError(str(error)) from None


def facts(ids: Collection[int], *, of_topics: bool = False) -> dict[int, Facts]:
    """Return the facts of these tokens, or topics, by id; others are left out. Errors: psycopg.Error."""
    if not ids:
        return {}
    # Indexes: the primary keys (token_id, id, entity_id).
    table, key, non_fungible = ("topic", "id", "false") if of_topics else _OF_TOKENS
    rows = fetch(
        f"""
        select i.id, {non_fungible}, c.fixed_fees, c.fractional_fees, c.royalty_fees
        from unnest(%s::bigint[]) i(id) join {table} t on t.{key} = i.id
        left join custom_fee c on c.entity_id = i.id
        """,
        (list(ids),),
    )
    return {
        number: Facts(non_fungible, bool(fixed or fractional or royalty))
        for number, non_fungible, fixed, fractional, royalty in rows
    }
