"""Transaction indexes of an older release become those that Ethereum tools count."""

import pytest
from django.db import connection

from tests.build import START, Build
from tests.contracts.backfills.test_logs import APPROVAL, log, result
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

CALL, TRANSFER, MINT, HOOKS = 7, 14, 37, 365


def happen(build: Build, offset: int, kind: int, *, parent: int | None = None, **columns: object) -> None:
    """Store a transaction of a kind, its index as an older release counted; a call has a result."""
    at = START + offset
    nonce = 0 if parent is None else 1
    above = None if parent is None else START + parent
    build.transaction(at, type=kind, nonce=nonce, index=offset, parent_consensus_timestamp=above)
    if kind == CALL or columns:
        result(at, transaction_index=offset, transaction_nonce=nonce, **columns)


def places(table: str) -> dict[int, int | None]:
    with connection.cursor() as cursor:
        cursor.execute(f"select consensus_timestamp, transaction_index from {table} order by 1")
        return {at - START: index for at, index in cursor.fetchall()}


def block(start: int, end: int) -> None:
    Build().block(start, end=START + end, consensus_start=START + start)


def test_transfers_between_calls_do_not_count(build: Build) -> None:
    block(0, 3)
    for offset, kind in enumerate((TRANSFER, CALL, TRANSFER, CALL)):
        happen(build, offset, kind)
    log(START + 3, transaction_index=3)

    (state,) = upgrade("block_positions")

    assert places("contract_result") == {1: 0, 3: 1}
    assert places("contract_log") == {3: 1}
    assert state.rows == 3


def test_each_block_counts_from_0(build: Build) -> None:
    block(0, 4)
    block(5, 9)
    for offset in (1, 2, 6, 7):
        happen(build, offset, CALL)

    upgrade("block_positions")

    assert places("contract_result") == {1: 0, 2: 1, 6: 0, 7: 1}


def test_a_transaction_with_a_wrong_nonce_has_no_place(build: Build) -> None:
    block(0, 9)
    happen(build, 1, CALL)
    happen(build, 2, CALL, transaction_result=312)
    happen(build, 3, CALL)

    upgrade("block_positions")

    assert places("contract_result") == {1: 0, 2: None, 3: 1}


def test_calls_that_failed_their_checks_have_a_place(build: Build) -> None:
    block(0, 9)
    happen(build, 1, CALL, transaction_result=10)
    happen(build, 2, CALL, transaction_result=33, gas_used=5)
    happen(build, 3, CALL, parent=2, transaction_result=33)
    happen(build, 4, CALL, transaction_result=33, function_result=b"r", gas_used=0)

    upgrade("block_positions")

    assert places("contract_result") == {1: 0, 2: 1, 3: 1, 4: 2}


def test_what_a_contract_causes_shares_the_place_of_its_call(build: Build) -> None:
    block(0, 9)
    happen(build, 1, CALL)
    happen(build, 2, CALL, parent=1)
    happen(build, 3, MINT, parent=1, contract_id=359)
    happen(build, 4, CALL)

    upgrade("block_positions")

    assert places("contract_result") == {1: 0, 2: 0, 3: 0, 4: 1}


def test_the_call_of_a_hook_has_a_place_that_its_children_share(build: Build) -> None:
    block(0, 9)
    happen(build, 1, TRANSFER)
    happen(build, 2, CALL, parent=1, contract_id=HOOKS)
    happen(build, 3, CALL, parent=1)
    happen(build, 4, CALL, parent=1, contract_id=HOOKS)

    upgrade("block_positions")

    assert places("contract_result") == {2: 0, 3: 0, 4: 1}


def test_hooks_of_a_logged_transfer_have_its_place(build: Build) -> None:
    block(0, 9)
    happen(build, 1, CALL)
    happen(build, 2, TRANSFER)
    log(START + 2)
    happen(build, 3, CALL, parent=2, contract_id=HOOKS)
    happen(build, 4, TRANSFER, parent=2, contract_id=359)
    happen(build, 5, CALL)

    upgrade("child_positions")

    assert places("contract_log") == {2: 1}
    assert places("contract_result") == {1: 0, 3: 1, 4: 1, 5: 2}


def test_transactions_with_a_synthetic_log_count_too(build: Build) -> None:
    block(0, 9)
    happen(build, 1, TRANSFER)
    log(START + 1)
    happen(build, 2, CALL)
    happen(build, 3, TRANSFER)
    log(START + 3, topic0=APPROVAL)
    log(START + 3, 1)

    upgrade("block_positions")

    assert places("contract_log") == {1: 0, 3: 2}
    assert places("contract_result") == {2: 1}


def test_places_that_are_right_are_not_written_again(build: Build) -> None:
    block(0, 9)
    happen(build, 1, CALL)
    upgrade("block_positions")

    assert upgrade("block_positions")[0].rows == 0
