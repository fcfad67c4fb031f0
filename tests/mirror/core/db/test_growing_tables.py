"""The tables that are divided on request."""

from django.apps import apps

from mirror.core.db.partitions.catalogue import growing_tables
from mirror.core.db.schema.tables import GrowingTable


def test_every_model_of_a_growing_table_is_divided_and_no_other():
    models = {model._meta.db_table for model in apps.get_models() if issubclass(model, GrowingTable)}
    assert sorted(growing_tables()) == sorted(models)
    assert growing_tables()[0] == "transaction"
