"""Rows that a table takes, made from what a record says."""

import pickle
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from contracts.models import ContractStateChange
from ledger.models import Prng, TopicMessage
from mirror.core.db.writing.recorded import RecordedRows
from mirror.core.db.writing.rows import Rows
from network.models import NetworkStake, Node
from tests.ledger.ingest.load import stored
from tokens.models import Token

pytestmark = pytest.mark.usefixtures("ledger_tables")

MAX, MIN = (1 << 63) - 1, -(1 << 63)


@pytest.fixture(params=[Rows, RecordedRows], ids=["here", "in another process"])
def kind(request: pytest.FixtureRequest) -> type[Rows]:
    """Return the kind of rows that a process keeps, or that it hands over to another."""
    return request.param  # type: ignore[no-any-return]


def write(rows: Rows) -> None:
    if isinstance(rows, RecordedRows):
        taken = Rows()
        for part in pickle.loads(pickle.dumps(rows.parts())):
            taken.add_part(part)
        rows = taken
    with transaction.atomic(), connection.cursor() as cursor:
        rows.write(cursor)


@pytest.mark.parametrize(
    ("number", "kept"),
    [(5, 5), (MAX, MAX), ((1 << 64) - 1, -1), (1 << 63, MIN), (1 << 70, MAX), (-(1 << 70), MIN)],
)
def test_an_unsigned_number_keeps_its_bits_and_one_beyond_64_bits_is_the_nearest(
    kind: type[Rows], number: int, kept: int
) -> None:
    rows = kind()
    numbers = dict.fromkeys((column.name for column in NetworkStake._meta.concrete_fields), 0)
    rows.insert(NetworkStake, **numbers | {"consensus_timestamp": 1, "stake_total": number})

    write(rows)

    assert stored("network_stake", "stake_total") == [(kept,)]


def test_an_unsigned_number_of_32_bits_keeps_its_bits(kind: type[Rows]) -> None:
    rows = kind()
    rows.insert(Prng, consensus_timestamp=1, payer_account_id=2, range=1, prng_number=(1 << 32) - 1)

    write(rows)

    assert stored("prng", "prng_number") == [(-1,)]


def test_text_is_cut_to_its_column_and_has_no_nul(kind: type[Rows]) -> None:
    rows = kind()
    token: dict[str, Any] = {"name": "a\0" + "x" * 200, "symbol": "s", "decimals": 0, "initial_supply": 0}
    token |= {"freeze_default": False, "freeze_status": 0, "kyc_status": 0, "pause_status": "UNPAUSED"}
    token |= {
        "max_supply": 0,
        "treasury_account_id": 2,
        "supply_type": "FINITE",
        "total_supply": 0,
        "type": "FUNGIBLE_COMMON",
    }
    rows.upsert(Token, since=1, token_id=1, created_timestamp=1, **token)
    endpoint = {"domain_name": "a\0b", "ip_address_v4": "", "port": 1}
    node: dict[str, Any] = {"created_timestamp": 1, "deleted": False, "decline_reward": False}
    rows.upsert(Node, since=1, node_id=1, grpc_proxy_endpoint=endpoint, **node)

    write(rows)

    assert stored("token", "name") == [("a\ufffd" + "x" * 98,)]
    ((kept,),) = stored("node", "grpc_proxy_endpoint")
    assert kept["domain_name"] == "a\ufffdb"


@pytest.mark.parametrize("batches", [1, 3])
def test_the_first_row_of_a_key_counts_in_batches_of_any_size(kind: type[Rows], batches: int) -> None:
    def change(at: int, value: bytes) -> dict[str, Any]:
        message = {"message": value, "running_hash": b"", "payer_account_id": 2}
        return {"consensus_timestamp": at, "topic_id": 9, "sequence_number": 1, **message}

    messages = [change(1, b"first"), change(2, b"second"), change(3, b"third")]
    for part in range(batches):
        rows = kind()
        for message in messages if batches == 1 else [messages[part]]:
            rows.insert(TopicMessage, **message)
        write(rows)

    assert stored("topic_message", "message") == [(b"first",)]


def test_a_slot_written_twice_is_stored_once(kind: type[Rows]) -> None:
    rows = kind()
    for read in (b"first", b"second"):
        slot = {"consensus_timestamp": 1, "contract_id": 5, "slot": b"\1", "value_read": read}
        rows.insert(ContractStateChange, **slot, migration=False, payer_account_id=2)

    write(rows)

    assert stored("contract_state_change", "value_read") == [(b"first",)]


def test_a_transaction_that_is_stored_already_is_an_error(kind: type[Rows]) -> None:
    for attempt in range(2):
        rows = kind()
        rows.insert(Prng, consensus_timestamp=1, payer_account_id=2, range=5)
        if attempt:
            # The second one comes from a worker of Citus.
            with pytest.raises((psycopg.errors.UniqueViolation, psycopg.errors.InternalError_)):
                write(rows)
        else:
            write(rows)
