"""Indexes that are built while their tables are in use are those that a new database has from the start."""

import pytest
from django.db import connection

from mirror.core.db.schema.backfill import IndexBuild
from mirror.upgrade.runner import BACKFILLS
from tests.upgrading import upgrade

BUILDS = {name: build.index for name, build in BACKFILLS.items() if isinstance(build, IndexBuild)}


def definitions() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select indexname, indexdef from pg_indexes where indexname = any(%s)", [list(BUILDS.values())]
        )
        return dict(cursor.fetchall())


@pytest.mark.django_db(transaction=True)
def test_index_that_is_built_later_is_the_same() -> None:
    made = definitions()
    assert made.keys() == set(BUILDS.values())
    with connection.cursor() as cursor:
        for index in made:
            cursor.execute(f"drop index {index}")
        cursor.execute(
            "create index entity__public_key_type on entity (public_key, type) where public_key is not null"
        )

    upgrade(*BUILDS)

    assert definitions() == made
    with connection.cursor() as cursor:
        cursor.execute("select to_regclass('entity__public_key_type') is null")
        assert cursor.fetchone() == (True,)
