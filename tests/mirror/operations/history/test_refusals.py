"""`manage.py backfill`: what it refuses, so that nothing is lost."""

import threading

import pytest
from django.db import connection

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.stream.source.local import find_record_files
from mirror.core.config.errors import OperatorError
from mirror.models import LoadedRange
from mirror.operations.history import backfill as running
from mirror.operations.history import plan, source, state
from mirror.operations.history.plan import instant_text
from tests.mirror.core.db.describe import describe
from tests.mirror.operations.history.commands import backfill, change, whole
from tests.upgrading import put_ahead

pytestmark = pytest.mark.django_db(transaction=True)


def test_source_without_the_loaded_files_is_refused_before_anything_changes(composed, tmp_path):
    files = find_record_files([composed])
    Pipeline().run(files[3:])
    for file in files[:5]:
        (tmp_path / file.name).write_bytes(file.path.read_bytes())

    with pytest.raises(OperatorError, match="has 2 files from .* and the node has loaded 3 of that time"):
        backfill("genesis", "head", tmp_path)

    assert plan.stored() is None


def test_another_backfill_is_refused_until_the_first_is_discarded(composed):
    files = find_record_files([composed])
    Pipeline().run(files[3:])
    first = plan.parse("genesis", "head", str(composed))
    plan.make(first)

    with pytest.raises(OperatorError, match="has not ended: go on with it"):
        backfill(instant_text(files[1].instant), "head", composed)
    assert state.read() == state.State(first, running=False)

    assert "is dropped" in backfill("--discard")
    assert state.read() is None
    assert LoadedRange.objects.get().files == 3


def test_new_index_survives_a_backfill_and_new_column_invalidates_it(composed):
    Pipeline().run(find_record_files([composed])[3:])
    plan.make(plan.parse("genesis", "head", str(composed)))
    change("create index of_an_upgrade on record_file (size)")
    try:
        change("alter table topic add of_an_upgrade bigint")
        with pytest.raises(OperatorError, match=r"have been changed since the backfill began \(topic\)"):
            backfill("genesis", "head", composed)
        change("alter table topic drop of_an_upgrade")

        backfill("genesis", "head", composed)

        assert "of_an_upgrade: " in " ".join(describe(connection)["tables"]["record_file"]["indexes"])
    finally:
        change("alter table topic drop if exists of_an_upgrade; drop index of_an_upgrade")


def test_unlisted_files_of_an_older_release_are_not_lost(composed):
    files = find_record_files([composed])
    Pipeline().run(files[:2])
    LoadedRange.objects.all().delete()
    with pytest.raises(OperatorError, match="files that are not listed yet"):
        backfill("genesis", "head", composed)
    Pipeline(options=LoadOptions(start=files[4].instant)).run(files[4:])
    put_ahead("loaded_ranges")
    with pytest.raises(OperatorError, match="files that are not listed yet"):
        backfill("genesis", "head", composed)
    put_ahead()
    before = whole()

    with pytest.raises(OperatorError, match=f"The node has loaded {files[0].name}, which"):
        backfill(instant_text(files[3].instant), "head", composed)

    assert whole() == before


def test_gap_before_a_head_that_rests_on_balances_is_refused(composed):
    files = find_record_files([composed])
    Pipeline().run(files[4:])
    LoadedRange.objects.update(rests_on="balances")

    with pytest.raises(OperatorError, match="end with `head` instead"):
        backfill(instant_text(files[1].instant), instant_text(files[2].instant), composed)

    assert plan.stored() is None


def test_killed_discard_leaves_no_plan(composed):
    Pipeline().run(find_record_files([composed])[3:])
    wanted = plan.parse("genesis", "head", str(composed))
    plan.make(wanted)
    change(
        "alter schema history rename to replaced_by_history; "
        "drop table replaced_by_history.backfill_plan, replaced_by_history.topic"
    )
    left = state.read()
    assert left and left.sentence.startswith("ended; `manage.py backfill --discard` drops the tables")

    running.prepare(wanted, source.open_source(wanted.source))

    assert state.read() == state.State(wanted, running=False, total_files=6)


def test_schema_of_others_with_the_name_is_refused_and_stays(composed):
    Pipeline().run(find_record_files([composed])[3:])
    change("create schema history create table theirs ()")
    try:
        assert state.read() is None
        with pytest.raises(OperatorError, match="a schema history that is not of a backfill"):
            backfill("genesis", "head", composed)
        backfill("--discard")
    finally:
        change("drop table history.theirs; drop schema history")


def test_views_that_are_made_meanwhile_are_never_dropped(composed):
    Pipeline().run(find_record_files([composed])[3:])
    plan.make(plan.parse("genesis", "head", str(composed)))
    change("create view names_of_blocks as select name from record_file")
    try:
        with pytest.raises(OperatorError, match=r"Views read the tables \(names_of_blocks\)"):
            backfill("genesis", "head", composed)
        change("create schema replaced_by_history create table topic (name varchar(250))")
        change("create or replace view names_of_blocks as select name from replaced_by_history.topic")
        with pytest.raises(
            OperatorError, match="view names_of_blocks depends on table replaced_by_history.topic"
        ):
            backfill("genesis", "head", composed)
    finally:
        change("drop view names_of_blocks")


def test_empty_database_and_views_of_others_are_refused(composed):
    with pytest.raises(OperatorError, match="Nothing is loaded yet"):
        backfill("genesis", "head", composed)
    Pipeline().run(find_record_files([composed])[3:])
    with connection.cursor() as cursor:
        cursor.execute("create view names_of_blocks as select name from record_file")
    try:
        with pytest.raises(OperatorError, match=r"Views read the tables \(names_of_blocks\)"):
            backfill("genesis", "head", composed)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("drop view names_of_blocks")

    assert plan.stored() is None


def test_two_backfills_at_once_are_refused(composed, monkeypatch):
    Pipeline().run(find_record_files([composed])[3:])
    monkeypatch.setattr("ledger.ingest.loader_lock.LOADER_LOCK_SECONDS", 0.0)
    begun, ended = threading.Event(), threading.Event()

    def another() -> None:
        with running.exclusive():
            begun.set()
            ended.wait()
        connection.close()

    thread = threading.Thread(target=another)
    thread.start()
    begun.wait()
    try:
        with pytest.raises(OperatorError, match="Another backfill works in this database"):
            backfill("genesis", "head", composed)
    finally:
        ended.set()
        thread.join()

    assert plan.stored() is None
