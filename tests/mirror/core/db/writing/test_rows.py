"""Changes of versioned rows: in memory, in the database, and in batches of any size."""

import pickle
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.models import CryptoTransfer, CustomFee, Entity, StakingRewardTransfer
from mirror.core.db.writing import rows as writing
from mirror.core.db.writing.recorded import RecordedRows
from mirror.core.db.writing.rows import Rows
from mirror.core.values.timestamp import NANOS_PER_DAY
from tokens.models import TokenAccount

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True, params=[writing._MAX_INLINE, 0], ids=["few", "staged"])
def most_changes_without_staging(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_MAX_INLINE", request.param)


NEXT_FILE: dict[str, Any] = {}
BARRIER: dict[str, Any] = {"barrier": True}


def change(rows: Rows, columns: dict[str, Any], *, move: bool = True) -> None:
    """Add a change; one of a balance alone also as what has moved."""
    if move and columns.keys() == {"id", "since", "balance", "balance_timestamp"} and not columns["since"]:
        rows.changes_for(Entity).add_amounts(
            [(columns["id"], columns["balance"])], columns["balance_timestamp"]
        )
    else:
        rows.upsert(Entity, **columns)


def write(*changes: dict[str, Any], move: bool = True) -> None:
    rows = Rows()
    for columns in changes:
        if columns is NEXT_FILE:
            rows.end_file()
        elif columns is BARRIER:
            rows.barrier(lambda cursor: None)
        else:
            change(rows, columns, move=move)
    with connection.cursor() as cursor:
        rows.write(cursor)


def _nothing(cursor: CursorWrapper) -> None:
    pass


def write_recorded(*changes: dict[str, Any]) -> None:
    """Write the same, with the changes of each file recorded in another process."""
    rows, recorded = Rows(), RecordedRows()
    for columns in changes:
        if columns is BARRIER:
            recorded.barrier(_nothing)
            continue
        if columns is not NEXT_FILE:
            change(recorded, columns)
            continue
        for part in pickle.loads(pickle.dumps(recorded.parts())):
            rows.add_part(part)
        rows.end_file()
        recorded = RecordedRows()
    with connection.cursor() as cursor:
        rows.write(cursor)


Stored = list[tuple[Any, ...]]


def stored(table: str, columns: str = "id, timestamp_range, memo, balance, deleted, key") -> Stored:
    columns = columns.replace("timestamp_range", "timestamp_range::text")
    with connection.cursor() as cursor:
        cursor.execute(f"select {columns} from {table} order by 1, 2")
        return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in cursor.fetchall()]


def account(entity: int, since: int, **columns: Any) -> dict[str, Any]:
    return {
        "id": entity,
        "since": since,
        "type": "ACCOUNT",
        "created_timestamp": since,
        "deleted": False,
    } | columns


@pytest.mark.checklist("ENT-06", "MRG-05")
def test_a_created_row_is_open_ended_and_has_its_defaults() -> None:
    write(account(1001, 5, memo="first", balance=0))

    assert stored(
        "entity", "id, timestamp_range, num, realm, shard, staked_node_id, decline_reward, ethereum_nonce"
    ) == [(1001, "[5,)", 1001, 0, 0, -1, False, 0)]
    assert stored("entity_history") == []


def test_the_parts_of_an_id_are_stored_beside_it() -> None:
    write(account((1023 << 54 | 65535 << 38 | 7) - (1 << 64), 5))

    assert stored("entity", "shard, realm, num") == [(1023, 65535, 7)]


@pytest.mark.checklist("MRG-02", "MRG-11")
def test_a_new_version_closes_the_stored_one_where_it_starts() -> None:
    write(account(1001, 5, memo="first", balance=10))
    write({"id": 1001, "since": 9, "memo": "second"})

    assert stored("entity") == [(1001, "[9,)", "second", 10, False, None)]
    assert stored("entity_history") == [(1001, "[5,9)", "first", 10, False, None)]


@pytest.mark.checklist("MRG-03", "MRG-11")
def test_several_versions_of_one_batch_leave_no_gap() -> None:
    write(
        account(1001, 5, memo="first"),
        {"id": 1001, "since": 7, "memo": "second"},
        {"id": 1001, "since": 9, "key": b"k"},
    )

    assert stored("entity") == [(1001, "[9,)", "second", 0, False, b"k")]
    assert stored("entity_history") == [
        (1001, "[5,7)", "first", 0, False, None),
        (1001, "[7,9)", "second", 0, False, None),
    ]


@pytest.mark.checklist("MRG-10")
def test_two_changes_of_one_transaction_are_one_version() -> None:
    write(account(1001, 5, memo="kept", balance=0), {"id": 1001, "since": 5, "memo": "ignored", "key": b"k"})

    assert stored("entity") == [(1001, "[5,)", "kept", 0, False, b"k")]
    assert stored("entity_history") == []


@pytest.mark.checklist("MRG-01", "ENT-11")
def test_a_silent_change_moves_the_balance_and_starts_no_version() -> None:
    write(account(1001, 5, balance=10))
    write(
        {"id": 1001, "balance": -3, "balance_timestamp": 8},
        {"id": 1001, "balance": 1, "balance_timestamp": 9},
    )

    assert stored("entity", "id, timestamp_range, balance, balance_timestamp") == [(1001, "[5,)", 8, 9)]
    assert stored("entity_history") == []


@pytest.mark.checklist("MRG-01")
def test_a_silent_change_of_an_unknown_object_is_dropped() -> None:
    write({"id": 1001, "balance": 5})
    write({"id": 1002, "balance": 5}, NEXT_FILE, {"id": 1002, "since": 7, "type": "ACCOUNT"})

    assert stored("entity", "id, balance") == [(1002, 0)]


@pytest.mark.checklist("MRG-09")
@pytest.mark.parametrize("between", [[], [BARRIER]], ids=["together", "across a barrier"])
def test_a_silent_change_counts_for_the_version_of_its_file_that_creates_the_object(
    between: list[dict[str, Any]],
) -> None:
    write(
        {"id": 1001, "balance": 5, "balance_timestamp": 4, "ethereum_nonce": 3},
        *between,
        {"id": 1001, "balance": 1, "balance_timestamp": 6},
        {"id": 1001, "since": 7, "type": "ACCOUNT", "memo": "first"},
        *between,
        {"id": 1001, "balance": 10, "balance_timestamp": 8},
        {"id": 1001, "since": 9, "memo": "second"},
    )

    columns = "timestamp_range, memo, balance, balance_timestamp, ethereum_nonce"
    assert stored("entity", columns) == [("[9,)", "second", 16, 8, 3)]
    assert stored("entity_history", columns) == [("[7,9)", "first", 16, 8, 3)]


@pytest.mark.checklist("MRG-09")
def test_an_archived_version_has_the_balance_it_ended_with() -> None:
    write(account(1001, 5, balance=10))
    write({"id": 1001, "balance": 7}, {"id": 1001, "since": 9, "memo": "second"}, {"id": 1001, "balance": 2})

    assert stored("entity", "timestamp_range, balance") == [("[9,)", 19)]
    assert stored("entity_history", "timestamp_range, balance") == [("[5,9)", 17)]


@pytest.mark.checklist("MRG-06", "ENT-01", "ENT-02")
def test_columns_fixed_at_creation_stay() -> None:
    write(account(1001, 5, alias=b"alias", evm_address=b"address"))
    write({"id": 1001, "since": 9, "alias": b"other", "evm_address": b"other", "created_timestamp": 9})

    assert stored("entity", "created_timestamp, alias, evm_address") == [(5, b"alias", b"address")]


@pytest.mark.checklist("ENT-08")
def test_a_fixed_column_may_get_its_value_later() -> None:
    write({"id": 1001, "since": 5, "type": "ACCOUNT", "memo": "seen before its creation"})
    write({"id": 1001, "since": 9, "created_timestamp": 9, "alias": b"alias"})

    assert stored("entity", "created_timestamp, alias, memo") == [(9, b"alias", "seen before its creation")]


def test_a_key_without_a_single_public_key_clears_the_stored_one() -> None:
    write(account(1001, 5, public_key="aa"), account(1002, 5, public_key="bb"))
    write({"id": 1001, "since": 9, "public_key": ""}, {"id": 1002, "since": 9, "memo": "x"})

    assert stored("entity", "id, public_key") == [(1001, None), (1002, "bb")]


@pytest.mark.checklist("MRG-07")
def test_an_object_first_seen_in_an_update_has_only_the_columns_of_that() -> None:
    write({"id": 1001, "since": 9, "type": "ACCOUNT", "memo": "seen late"})

    assert stored("entity", "id, created_timestamp, memo, balance") == [(1001, None, "seen late", 0)]


@pytest.mark.checklist("ENT-04")
def test_only_accounts_and_contracts_start_to_have_a_balance() -> None:
    write({"id": 7, "since": 5, "type": "TOPIC"})
    write({"id": 7, "balance": 5})

    assert stored("entity", "id, balance") == [(7, None)]


def test_rows_are_inserted_with_the_defaults_of_their_columns() -> None:
    rows = Rows()
    rows.insert(StakingRewardTransfer, account_id=1, amount=2, consensus_timestamp=3, payer_account_id=4)
    with connection.cursor() as cursor:
        rows.write(cursor)

    assert stored("staking_reward_transfer", "account_id, amount, consensus_timestamp, payer_account_id") == [
        (1, 2, 3, 4)
    ]


def test_rows_may_be_added_as_their_values_in_the_order_of_the_columns() -> None:
    rows, recorded = Rows(), RecordedRows()
    rows.rows_for(StakingRewardTransfer).append((1, 2, 3, 4))
    rows.insert(StakingRewardTransfer, account_id=5, amount=6, consensus_timestamp=7, payer_account_id=8)
    recorded.rows_for(StakingRewardTransfer).append([9, 10, 11, 12])
    expected = [{"account_id": 1, "amount": 2, "consensus_timestamp": 3, "payer_account_id": 4}]
    assert list(rows.inserted(StakingRewardTransfer))[1:] == expected
    for part in recorded.parts():
        rows.add_part(part)

    with connection.cursor() as cursor:
        rows.write(cursor)

    assert stored("staking_reward_transfer", "account_id, amount, consensus_timestamp, payer_account_id") == [
        (1, 2, 3, 4),
        (5, 6, 7, 8),
        (9, 10, 11, 12),
    ]


def test_a_model_without_a_rule_takes_no_changes() -> None:
    with pytest.raises(TypeError, match="StakingRewardTransfer has no merge rule"):
        Rows().upsert(StakingRewardTransfer, since=1, account_id=1)


def test_a_version_states_some_columns_anew() -> None:
    rows = Rows()
    rows.upsert(CustomFee, since=5, entity_id=1, fixed_fees=[], royalty_fees=[])
    rows.upsert(CustomFee, since=6, entity_id=1, fractional_fees=[])
    with connection.cursor() as cursor:
        rows.write(cursor)

    columns = "entity_id, fixed_fees, fractional_fees, royalty_fees, timestamp_range"
    assert stored("custom_fee", columns) == [(1, None, "[]", None, "[6,)")]
    assert stored("custom_fee_history", columns) == [(1, "[]", None, "[]", "[5,6)")]


def associate(rows: Rows, since: int, **columns: Any) -> None:
    rows.create_if_absent(TokenAccount, since, account_id=1, token_id=2, associated=True, **columns)


@pytest.mark.parametrize(("associated", "kept"), [(True, "[5,)"), (False, "[9,)")])
def test_establishing_an_object_that_exists_does_nothing(associated: bool, kept: str) -> None:
    first, second = Rows(), Rows()
    first.upsert(TokenAccount, since=5, account_id=1, token_id=2, associated=associated)
    associate(second, 9, created_timestamp=9, balance=0)
    associate(second, 10, created_timestamp=10, balance=0)
    with connection.cursor() as cursor:
        first.write(cursor)
        second.write(cursor)

    assert stored("token_account", "associated, timestamp_range") == [(True, kept)]


def test_work_is_done_once_for_all_that_was_noted_up_to_a_barrier() -> None:
    done: list[Any] = []

    def note(cursor: CursorWrapper, noted: list[int]) -> None:
        cursor.execute("select max(lower(timestamp_range)) from entity")
        done.append((noted, cursor.fetchone()[0]))

    rows = Rows()
    for since in (5, 6):
        rows.upsert(Entity, **account(1000 + since, since))
        rows.defer(note, since)
    rows.barrier(lambda cursor: done.append("barrier"))
    rows.upsert(Entity, **account(1007, 7))
    rows.defer(note, 7)
    with connection.cursor() as cursor:
        rows.write(cursor)

    assert done == [([5, 6], 6), "barrier", ([7], 7)]


class Step(NamedTuple):
    entity: int
    silent: bool
    columns: dict[str, Any]


steps = st.lists(
    st.builds(
        Step,
        entity=st.integers(1, 3),
        silent=st.booleans(),
        columns=st.fixed_dictionaries(
            {"balance": st.integers(-50, 50)},
            optional={
                "balance_timestamp": st.integers(1, 99),
                "ethereum_nonce": st.integers(1, 9),
            },
        ),
    ),
    max_size=14,
)


@pytest.mark.checklist("MRG-04", "MRG-11")
@given(
    steps=steps,
    sizes=st.lists(st.integers(1, 6), min_size=1),
    same=st.lists(st.booleans(), min_size=14, max_size=14),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_batches_of_any_size_give_the_same_tables(
    steps: list[Step], sizes: list[int], same: list[bool]
) -> None:
    changes: list[list[dict[str, Any]]] = []  # by file: the changes of one are never in two batches
    for position, step in enumerate(steps):
        if same[position] and changes:
            at = changes[-1][0]["at"]
        else:
            at = 10 + position
            changes.append([])
        columns = step.columns if step.silent else step.columns | {"memo": str(position), "type": "ACCOUNT"}
        changes[-1].append({"id": step.entity, "since": None if step.silent else at, "at": at} | columns)

    def load(batches: list[list[dict[str, Any]]], write: Any = write) -> tuple[Stored, Stored]:
        with connection.cursor() as cursor:
            cursor.execute("delete from entity; delete from entity_history")
        for batch in batches:
            write(*({k: v for k, v in change.items() if k != "at"} if change else change for change in batch))
        columns = "id, timestamp_range, balance, balance_timestamp, ethereum_nonce, memo"
        return stored("entity", columns), stored("entity_history", columns)

    one_by_one = load(changes, partial(write, move=False))
    batches: list[list[dict[str, Any]]] = []
    rest = list(changes)
    while rest:
        size = sizes[len(batches) % len(sizes)]
        batches.append([columns for group in rest[:size] for columns in [*group, NEXT_FILE]])
        rest = rest[size:]

    assert load(batches) == one_by_one
    assert load(batches, write_recorded) == one_by_one
    assert load([[columns for group in changes for columns in [*group, NEXT_FILE]]]) == one_by_one


@pytest.mark.parametrize("kind", [Rows, RecordedRows])
def test_the_days_of_rows_are_known_however_they_are_kept(kind: type[Rows]) -> None:
    rows = kind()
    for at in (0, 5, 3 * NANOS_PER_DAY):
        transfer = {"entity_id": 2, "amount": 1, "payer_account_id": 2, "is_approval": False}
        rows.insert(CryptoTransfer, consensus_timestamp=at, **transfer)
    taken = Rows()
    for part in rows.parts() if isinstance(rows, RecordedRows) else ():
        taken.add_part(part)

    assert (taken if kind is RecordedRows else rows).days() == {0, 3}
