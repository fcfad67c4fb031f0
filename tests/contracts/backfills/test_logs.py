"""Contract logs of an older release: marks of synthetic ones, transfers logged twice."""

import threading

import pytest
from django.db import connection

from contracts.backfills.logs import _NODES_LOG_SINCE
from contracts.handlers.synthetic import TRANSFER
from mirror.upgrade import runner
from tests.build import START, insert
from tests.upgrading import put_ahead, upgrade

APPROVAL = bytes.fromhex("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")
INDEX = "contract_log__synthetic_timestamp"


def log(at: int, index: int = 0, topic0: bytes = TRANSFER, **columns: object) -> None:
    insert(
        "contract_log",
        **{
            "consensus_timestamp": at,
            "index": index,
            "bloom": b"\0",
            "contract_id": 5005,
            "data": b"\x07",
            "payer_account_id": 1001,
            "topic0": topic0,
            "topic1": b"\x01",
            "topic2": b"\x02",
            "transaction_hash": b"own",
        }
        | columns,
    )


def result(at: int, **columns: object) -> None:
    insert(
        "contract_result",
        **{
            "consensus_timestamp": at,
            "contract_id": 5005,
            "function_parameters": b"",
            "gas_limit": 1,
            "payer_account_id": 1001,
            "transaction_result": 22,
        }
        | columns,
    )


def stored(columns: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"select {columns} from contract_log order by consensus_timestamp, index")
        return list(cursor.fetchall())


@pytest.mark.django_db
def test_transfers_that_no_contract_logged_are_marked() -> None:
    log(START)
    log(START, 1, APPROVAL)
    log(START, 2, topic3=b"\x01")
    log(START + 1)
    result(START + 1)
    log(START + 2, synthetic=False)

    (state,) = upgrade("synthetic_logs")

    assert stored("synthetic") == [(True,), (None,), (None,), (None,), (False,)]
    assert state.rows == 1


@pytest.mark.django_db
def test_rows_after_the_older_release_are_left_alone() -> None:
    log(START)
    log(START + 1)

    upgrade("synthetic_logs", newest=START)

    assert stored("synthetic") == [(True,), (None,)]


@pytest.mark.django_db
def test_of_a_transfer_that_the_node_has_logged_too_the_mirrors_log_goes() -> None:
    at = _NODES_LOG_SINCE + 1
    of_node = {"transaction_hash": b"node", "bloom": b"real", "data": b"\x07".rjust(32, b"\0")}
    log(at, 0)
    log(at, 1, **of_node)
    # Another amount, another receiver, and a time at which nodes did not log yet.
    log(at, 2, data=b"\x08")
    log(at, 3, topic2=b"\x03")
    log(at - 10, 0)
    log(at - 10, 1, **of_node)

    (state,) = upgrade("duplicate_logs")

    assert stored("consensus_timestamp, index") == [(at - 10, 0), (at - 10, 1), (at, 1), (at, 2), (at, 3)]
    assert state.rows == 1


def index() -> tuple[bool, str]:
    """Return whether the index is valid, and its condition."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"select indisvalid, pg_get_expr(indpred, indrelid) from pg_index "
            f"where indexrelid = '{INDEX}'::regclass"
        )
        valid, condition = cursor.fetchone()
        return valid, condition


@pytest.fixture
def index_is_there_afterwards() -> object:
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"drop index if exists {INDEX}")
        cursor.execute(
            f"create index {INDEX} on contract_log (consensus_timestamp desc, index desc) where synthetic"
        )


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("index_is_there_afterwards")
@pytest.mark.parametrize("there", [False, True])
def test_the_index_of_marks_is_built_if_it_is_not_there(there: bool) -> None:
    if not there:
        with connection.cursor() as cursor:
            cursor.execute(f"drop index {INDEX}")

    upgrade("synthetic_index")

    assert index() == (True, "synthetic")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("index_is_there_afterwards")
def test_building_the_index_can_be_interrupted_and_what_is_left_of_it_is_replaced() -> None:
    put_ahead("synthetic_index")
    with connection.cursor() as cursor:
        cursor.execute(f"drop index {INDEX}")
    reader = connection.copy()
    stopping = threading.Event()
    try:
        # Until this transaction ends no index can be finished.
        with reader.cursor() as cursor:
            cursor.execute("begin; lock table contract_log in row exclusive mode")
        threading.Timer(0.5, stopping.set).start()

        assert not runner.run(lambda state: None, stopping)
    finally:
        reader.close()
    assert index() == (False, "synthetic")

    upgrade()

    assert index() == (True, "synthetic")


@pytest.mark.django_db
def test_logs_of_one_transaction_stay_together_however_many_they_are() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into contract_log (consensus_timestamp, index, bloom, contract_id, data, "
            "payer_account_id, topic0) select %s, n, '', 5005, '', 1001, %s from generate_series(1, 5100) n",
            [START, TRANSFER],
        )

    assert upgrade("synthetic_logs", newest=START)[0].rows == 5100
