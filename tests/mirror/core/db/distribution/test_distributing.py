"""Databases that are distributed, are not yet, or can't be."""

from collections.abc import Callable

import pytest
from django.apps import apps

from mirror.core.config.setting import OperatorError
from mirror.core.db.distribution import BY_ENTITY, BY_HASH, COPIED, cluster
from tests import cluster as test_cluster
from tests.cluster import needs_cluster

alone = pytest.mark.skipif(bool(test_cluster.URL), reason="The tests' database is distributed.")


def test_every_distribution_column_is_one_of_its_table() -> None:
    models = {model._meta.db_table: model for model in apps.get_models()}

    for table, column in (BY_ENTITY | BY_HASH).items():
        assert column in {field.column for field in models[table]._meta.concrete_fields}, table
    assert set(COPIED) <= models.keys()


@alone
def test_the_nodes_own_database_can_not_be_distributed(settings_of: Callable[..., None], db: None) -> None:
    settings_of({"db.distributed": True, "db.url": None})

    with pytest.raises(OperatorError, match="own PostgreSQL has no Citus"):
        cluster.check_setting()


@alone
def test_a_database_without_citus_is_refused(settings_of: Callable[..., None], db: None) -> None:
    settings_of({"db.distributed": True, "db.url": "dbname=other"})

    with pytest.raises(OperatorError, match="has no Citus: `create extension citus`"):
        cluster.check_distributed()


@alone
def test_a_single_database_has_no_distributed_table(db: None) -> None:
    cluster.check_distributed()
    cluster.distribute_if_configured()

    assert cluster.distributed_tables() == set()


@needs_cluster
def test_a_distributed_database_needs_the_setting(settings_of: Callable[..., None], db: None) -> None:
    settings_of({"db.distributed": False})

    with pytest.raises(OperatorError, match="SVC_MIRROR_DB_DISTRIBUTED has to be true"):
        cluster.check_setting()


@needs_cluster
def test_every_table_that_is_to_be_distributed_is(db: None) -> None:
    cluster.check_distributed()

    assert cluster.distributed_tables() >= {*BY_ENTITY, *BY_HASH, *COPIED}
    assert cluster.undistributed_tables() == []
