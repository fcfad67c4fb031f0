"""Synthetic logs of an older release get blooms, which their results and blocks have too, and marks."""

from typing import Any

import pytest
from django.db import connection

from contracts.handlers.synthetic import TRANSFER
from mirror.core.values import entity_id, log_bloom
from tests.build import START, Build
from tests.contracts.backfills.test_logs import APPROVAL, log, result, stored
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

TOKEN, ADDRESS = 5005, b"\xab" * 20
OF_NODE = bytes(255) + b"\1"
_TIMES = {
    "contract_log": "consensus_timestamp",
    "contract_result": "consensus_timestamp",
    "record_file": "consensus_end",
}


def bloom_of(address: bytes, topic0: bytes, topic3: bytes | None = None) -> bytes:
    return log_bloom.create_bloom(address, [topic0, b"\1", b"\2", *([] if topic3 is None else [topic3])])


def blooms(table: str, column: str) -> list[bytes]:
    with connection.cursor() as cursor:
        cursor.execute(f"select {column} from {table} order by {_TIMES[table]}")
        return [bytes(bloom) for (bloom,) in cursor.fetchall()]


def block(number: int, bloom: bytes | None, start: int, end: int) -> None:
    Build().block(number, end=START + end, consensus_start=START + start, logs_bloom=bloom)


def test_blooms_are_filled_and_what_no_node_logged_is_marked() -> None:
    block(1, OF_NODE, 0, 9)
    block(2, None, 10, 19)
    log(START + 1, synthetic=None)
    log(START + 2, topic3=b"\3", synthetic=False)
    log(START + 11, topic0=APPROVAL, data=b"", synthetic=False)
    log(START + 12, bloom=OF_NODE, synthetic=None)
    log(START + 20)

    (state,) = upgrade("log_blooms", newest=START + 19)

    token = entity_id.long_zero(TOKEN)
    unit, serial, approval = (
        bloom_of(token, TRANSFER),
        bloom_of(token, TRANSFER, b"\3"),
        bloom_of(token, APPROVAL),
    )
    logs: list[Any] = stored("bloom, synthetic, data")
    rows = [(bytes(bloom), mark, bytes(data)) for bloom, mark, data in logs]
    assert rows == [
        (unit, True, b"\7"),
        (serial, True, b"\7"),
        (approval, True, b"\0"),
        (OF_NODE, None, b"\7"),
        (b"\0", None, b"\7"),
    ]
    united = log_bloom.union([OF_NODE, unit, serial])
    assert blooms("record_file", "logs_bloom") == [united, approval]
    assert state.rows == 3
    assert upgrade("log_blooms", newest=START + 19)[0].rows == 0


def test_transfers_of_a_serial_that_does_not_exist_go() -> None:
    block(1, b"", 0, 9)
    log(START + 1, topic3=b"\xff" * 8)
    log(START + 2, topic3=b"\xff")

    (state,) = upgrade("log_blooms")

    assert stored("consensus_timestamp") == [(START + 2,)]
    assert state.rows == 2


@pytest.mark.parametrize("mark", [b"\0", b"\1"])
def test_the_result_of_the_call_has_the_bloom_too(build: Build, mark: bytes) -> None:
    block(1, OF_NODE, 0, 9)
    build.entity(4004, type="CONTRACT", evm_address=ADDRESS)
    result(START + 1, contract_id=4004, bloom=OF_NODE)
    result(START + 2, contract_id=4004, bloom=b"")
    log(START + 1, contract_id=4004, bloom=mark, synthetic=True)

    upgrade("log_blooms")

    own = bloom_of(ADDRESS, TRANSFER)
    assert blooms("contract_log", "bloom") == [own]
    assert blooms("contract_result", "bloom") == [log_bloom.union([OF_NODE, own]), b""]
