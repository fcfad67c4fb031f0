"""A loader killed at any moment leaves whole files, and loading again ends where an undisturbed load ends."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
from mirror.core.values.hapi.messages import CryptoUpdateTransactionBody
from tests import forking
from tests.composing import Composer
from tests.ledger.ingest.load import settings
from tests.ledger.ingest.tables import contents, empty_tables
from tests.waiting import wait_until

KILLS = 20
BLOCKS, TRANSFERS_PER_BLOCK, ACCOUNTS = 60, 150, 20


def compose(folder: Path) -> None:
    choose = random.Random(7)
    composer = Composer()
    people = range(1001, 1001 + ACCOUNTS)
    for person in people:
        composer.crypto_create(person, initial_balance=1_000_000)
    composer.block().write(folder)
    for block in range(BLOCKS):
        for _ in range(TRANSFERS_PER_BLOCK):
            payer, receiver = choose.sample(people, 2)
            composer.crypto_transfer({payer: -7, receiver: 7}, payer=payer)
        update = CryptoUpdateTransactionBody()
        update.memo.value = f"block {block}"
        composer.crypto_update(choose.choice(people), update)
        composer.block().write(folder)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    database = connection.settings_dict
    url = make_conninfo(
        dbname=database["NAME"],
        user=database["USER"] or None,
        password=database["PASSWORD"] or None,
        host=database["HOST"] or None,
        port=database["PORT"] or None,
    )
    manage = [sys.executable, str(django_settings.BASE_DIR / "manage.py")]
    environment = os.environ | {"DATABASE_URL": url}
    return subprocess.Popen([*manage, "ingest", str(folder)], env=environment, stdout=subprocess.DEVNULL)


def load(folder: Path) -> None:
    # Small batches, so that there are many moments between two commits.
    with settings(importer__parser__record__batch__maxItems=400):
        Pipeline().run(find_record_files([folder]))


def number_of_files() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from record_file")
        return int(cursor.fetchone()[0])


def whole_files() -> tuple[int, int]:
    """Files and transactions stored; fails when a file is stored in part."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(1), pg_advisory_unlock(1)")
        cursor.execute(
            "select f.name, f.count, count(t) from record_file f left join transaction t "
            "on t.consensus_timestamp between f.consensus_start and f.consensus_end group by f.name, f.count"
        )
        files = cursor.fetchall()
        cursor.execute("select count(*) from transaction")
        transactions = cursor.fetchone()[0]
    assert [file for file in files if file[1] != file[2]] == []
    assert transactions == sum(file[1] for file in files)
    return len(files), transactions


@pytest.mark.checklist("FILE-01")
@pytest.mark.django_db(transaction=True)
def test_killed_at_random_moments_it_ends_where_an_undisturbed_load_ends(tmp_path: Path) -> None:
    compose(tmp_path)
    choose = random.Random()
    Pipeline().run(find_record_files([tmp_path]))
    undisturbed = contents()
    empty_tables()

    loaded = 0
    for _ in range(KILLS):
        loader = forking.begun(load, tmp_path)
        more = choose.choice((0, 0, 1, 5))
        enough = loaded + more
        wait_until(lambda one=loader, enough=enough: one.exitcode is not None or number_of_files() >= enough)
        time.sleep(choose.uniform(0, 0.1))
        forking.kill(loader)
        before, (loaded, _) = loaded, whole_files()
        assert loaded >= before
        if loaded == BLOCKS + 1:
            empty_tables()
            loaded = 0

    assert start(tmp_path).wait() == 0
    assert whole_files()[0] == BLOCKS + 1
    assert contents() == undisturbed
