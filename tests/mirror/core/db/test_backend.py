import pytest
from django.db import NotSupportedError, connection

from ledger.models import CryptoTransfer, Entity, TransactionHash

pytestmark = pytest.mark.django_db


def table_sql(model: type) -> str:
    with connection.schema_editor(collect_sql=True) as editor:
        sql, _ = editor.table_sql(model)
    return sql


def test_a_keyless_table_has_no_primary_key_in_the_database() -> None:
    row = CryptoTransfer(consensus_timestamp=1, entity_id=2, amount=3)

    assert row.pk == (1, 2, 3)
    assert "PRIMARY KEY" not in table_sql(CryptoTransfer)
    assert '"id" bigint NOT NULL PRIMARY KEY' in table_sql(Entity)


def test_a_partitioned_table_has_its_partition_key() -> None:
    assert table_sql(TransactionHash).endswith(") PARTITION BY LIST (mod(get_byte(hash, 0), 32))")


def test_a_server_that_is_too_old_is_named_in_one_sentence() -> None:
    other = connection.copy()
    assert other.features.minimum_database_version == (15,)
    other.features.minimum_database_version = (99,)
    try:
        with pytest.raises(
            NotSupportedError, match=r"^PostgreSQL 99 or later is required \(found 1\d\.\d+\)\.$"
        ):
            other.check_database_version_supported()
    finally:
        other.close()
