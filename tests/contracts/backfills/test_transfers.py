"""Logs of transfers that an older release has not written are added, and the others move."""

from typing import Any

import pytest
from django.db import connection

from contracts.handlers.synthetic import TRANSFER
from mirror.core.values import log_bloom
from tests.build import START, Build
from tests.contracts.backfills.test_logs import APPROVAL, log, result, stored
from tests.ledger.ingest.load import settings
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

ALICE, BOB, CAROL = 1001, 1002, 1003
A, B, C = b"\3\xe9", b"\3\xea", b"\3\xeb"
TOKEN = 5005
MANY = [(TOKEN, ALICE, -7), (TOKEN, BOB, 4), (TOKEN, CAROL, 3)]
SUBMIT_MESSAGE, CALL, MINT = 27, 7, 37
LOG = "consensus_timestamp, index, contract_id, topic1, topic2, data, synthetic, transaction_index"


def block(hapi_minor: int = 75) -> None:
    Build().block(
        end=START + 9,
        consensus_start=START,
        hapi_version_major=0,
        hapi_version_minor=hapi_minor,
        hapi_version_patch=0,
        logs_bloom=bytes(256),
    )


def logs() -> list[tuple[Any, ...]]:
    rows: list[Any] = stored(LOG)
    return [
        (at - START, *(bytes(value) if isinstance(value, memoryview) else value for value in row))
        for at, *row in rows
    ]


def test_transfers_among_many_are_logged_and_later_logs_move(build: Build) -> None:
    block()
    build.entity(BOB, evm_address=b"\0\xab" + b"\1" * 18)
    build.transaction(START + 1, tokens=[*MANY, (TOKEN + 1, ALICE, -1), (TOKEN + 1, BOB, 1)])
    log(START + 1, 0, contract_id=TOKEN + 1, data=b"\1", synthetic=True, transaction_index=0)
    build.transaction(START + 2)
    log(START + 2, 1, APPROVAL, topic1=A, topic2=B, data=b"\5", transaction_index=1)

    (state,) = upgrade("block_positions")

    assert logs() == [
        (1, 0, TOKEN, A, b"\xab" + b"\1" * 18, b"\4", True, 0),
        (1, 1, TOKEN, A, C, b"\3", True, 0),
        (1, 2, TOKEN + 1, b"\1", b"\2", b"\1", True, 0),
        (2, 3, TOKEN, A, B, b"\5", None, 1),
    ]
    assert state.rows == 6
    assert upgrade("block_positions")[0].rows == 0


@pytest.mark.parametrize("parent", [None, 1], ids=["call", "child"])
def test_what_contracts_move_is_logged_with_the_call(build: Build, parent: int | None) -> None:
    block(70)
    above = None if parent is None else START + parent
    build.transaction(START + 1, type=CALL)
    result(START + 1, contract_id=4004, function_result=b"r", bloom=b"", transaction_hash=b"call")
    log(START + 1, contract_id=4004, data=bytes(32))
    build.transaction(
        START + 2,
        type=CALL,
        parent_consensus_timestamp=above,
        nonce=1,
        tokens=[(TOKEN, BOB, -1), (TOKEN, ALICE, 1)],
    )
    result(START + 2, contract_id=359, function_result=b"r", transaction_hash=b"child", bloom=b"")
    build.transaction(START + 3)
    log(START + 3, 1)

    upgrade("block_positions")

    at, contract = (1, 4004) if parent else (2, TOKEN)
    assert [row[:3] for row in logs()] == [(1, 0, 4004), (at, 1, contract), (3, 2, TOKEN)]
    bloom = log_bloom.create_bloom(contract.to_bytes(20, "big"), [TRANSFER, B, A])
    with connection.cursor() as cursor:
        cursor.execute(
            "select r.bloom, l.bloom, logs_bloom, substr(l.transaction_hash, 1, 5) from contract_log l "
            "join contract_result r using (consensus_timestamp), record_file where l.index = 1"
        )
        assert [bytes(value) for value in cursor.fetchone()] == [
            *[bloom] * 3,
            b"call\0" if parent else b"child",
        ]
    assert upgrade("block_positions")[0].rows == 0


def test_what_nodes_log_themselves_is_not_logged_again(build: Build) -> None:
    block(71)
    build.transaction(START + 1, type=CALL, tokens=MANY)
    result(START + 1, function_result=b"r")
    build.transaction(START + 2, type=MINT, tokens=[(TOKEN, ALICE, 1)])

    upgrade("block_positions")

    assert logs() == []


def test_records_of_many_tokens_are_left_out_if_wanted(build: Build) -> None:
    block()
    serial = {"token_id": 7, "serial_number": 1, "sender_account_id": ALICE, "receiver_account_id": BOB}
    build.transaction(START + 1, tokens=[*MANY, (9, ALICE, -1), (9, BOB, 1)], nft_transfer=[serial])
    build.transaction(START + 2, tokens=MANY, nft_transfer=[serial])

    with settings(persist__syntheticContractLogsMulti=False):
        upgrade("block_positions")

    assert [row[:3] for row in logs()] == [(2, 0, TOKEN), (2, 1, TOKEN)]


def test_messages_with_fees_to_many_are_found_by_hash(build: Build) -> None:
    block()
    build.transaction(START + 1, type=SUBMIT_MESSAGE, tokens=MANY)

    upgrade("block_positions")

    with connection.cursor() as cursor:
        cursor.execute("select consensus_timestamp from transaction_hash")
        assert cursor.fetchall() == [(START + 1,)]
