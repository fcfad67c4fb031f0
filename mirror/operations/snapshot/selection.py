"""The rows of some entities: what these took part in, their state, and what explains both.

Transactions are included whole, with the rows of all entities that took part. Other entities that they name
are included in their current state, without relationships and allowances. Blocks, address books, stakes, and
the files of the network's own accounts are included whole.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django.apps import apps
from django.db.models import Model

from ledger.loaded_ranges import SNAPSHOT_ENTITIES
from mirror.core.db.schema import fields
from mirror.core.values import entity_id
from mirror.operations.backup.dump import Query
from mirror.operations.backup.sessions import Session

# Tables of the network, and of blocks.
_WHOLE_APPS = ("network", "mirror")
_WHOLE = {"record_file", "sidecar_file", "account_balance_file", "reconciliation_job"}
_RANGES = "loaded_range"
# The key of tables about what a reader looks up by its id.
_LOOKED_UP = {
    "entity": "id", "entity_history": "id", "token": "token_id", "token_history": "token_id",
    "custom_fee": "entity_id", "custom_fee_history": "entity_id", "contract": "id", "topic": "id",
    "topic_history": "id",
}  # fmt: skip
# They have a consensus timestamp, but describe the state of something.
_STATE = {"schedule"}
_FILES = "file_data"
_TREASURY = 2
_LAST_SYSTEM_FILE = 199

# The most entities or times in one statement.
_NAMED_AT_ONCE = 20_000
# A condition names a row by about 20 letters, and a row has about 300 bytes: for progress alone.
_BYTES_PER_LETTER = 15


def whole_tables() -> set[str]:
    """Return the tables that are included whole, whatever the entities."""
    own = {table for table, model in _models().items() if model._meta.app_label in _WHOLE_APPS}
    return (own | _WHOLE) - {_RANGES}


def queries(own: Session, tables: dict[str, list[str]], entities: frozenset[int]) -> list[Query]:
    """Return the rows of tables that are not included whole."""
    models = {table: model for table, model in _models().items() if table in tables}
    timed = {table for table, model in models.items() if _is_timed(table, model)}
    times = _times(own, {table: models[table] for table in timed}, entities)
    named = _named(own, {table: models[table] for table in timed}, times, entities)
    parts = []
    for table, columns in tables.items():
        if table == _RANGES:
            parts.append(_ranges(columns, entities))
            continue
        if table in timed:
            conditions = list(_any("consensus_timestamp", times))
        elif table in _LOOKED_UP:
            conditions = list(_any(_LOOKED_UP[table], sorted(named)))
        else:
            those = {*entities, _TREASURY} if table == "account_balance" else entities
            conditions = [_one_of(_entity_columns(models[table]), those)]
        if table == _FILES:
            first = f"entity_id between 0 and {_LAST_SYSTEM_FILE}"
            conditions = [first, *(f"{condition} and not {first}" for condition in conditions)]
        parts += [
            query(table, columns, f'from "{table}" where {condition}', len(condition) * _BYTES_PER_LETTER)
            for condition in conditions
        ]
    return parts


def query(table: str, columns: list[str], rows: str, size: int) -> Query:
    """Return some rows of a table, which have about so many bytes."""
    return Query(table, [f'"{column}"' for column in columns], rows, size)


def filters(before: dict[str, Any] | None, entities: list[str]) -> dict[str, Any]:
    """Return the filters of a loaded range limited to the rows of these entities."""
    return {**(before or {}), SNAPSHOT_ENTITIES: ",".join(entities)}


def _ranges(columns: list[str], entities: frozenset[int]) -> Query:
    texts = ",".join(str(entity_id.text(entity)) for entity in sorted(entities))
    changed = f"""coalesce(filters, '{{}}') || '{{"{SNAPSHOT_ENTITIES}": "{texts}"}}'"""
    named = [changed if column == "filters" else f'"{column}"' for column in columns]
    return Query(_RANGES, named, f"from {_RANGES}", 1)


# WHAT IS NAMED


def _times(own: Session, timed: dict[str, type[Model]], entities: frozenset[int]) -> list[int]:
    """Return the times of the transactions that the entities took part in, and of those that caused them."""
    times: set[int] = set()
    for table, model in timed.items():
        condition = _one_of(_entity_columns(model), entities)
        times |= _selected(own, f'select consensus_timestamp from "{table}" where {condition}')
    # Serials change hands in a column of their transaction, and leave versions in their history.
    for table in ("nft", "nft_history"):
        condition = _one_of(["account_id", "token_id"], entities)
        ends = "unnest(array[lower(timestamp_range), upper(timestamp_range)])"
        times |= _selected(own, f"select {ends} from {table} where {condition}")
    for condition in _any("consensus_timestamp", sorted(times)):
        times |= _selected(own, f"select parent_consensus_timestamp from transaction where {condition}")
    return sorted(times)


def _named(
    own: Session, timed: dict[str, type[Model]], times: list[int], entities: frozenset[int]
) -> set[int]:
    """Return the entities, their tokens, and all others that the transactions of these times name."""
    named = set(entities)
    for table in ("token_account", "nft"):
        condition = _one_of(["account_id"], entities)
        named |= _selected(own, f"select distinct token_id from {table} where {condition}")
    for table, model in timed.items():
        for column in _entity_columns(model):
            for condition in _any("consensus_timestamp", times):
                named |= _selected(own, f'select distinct {column} from "{table}" where {condition}')
    return named - {0}


def _selected(own: Session, query: str) -> set[int]:
    """Return the values of a column that are not null."""
    return {value for (value,) in own.execute(query.encode()) if value is not None}


# CONDITIONS


def _any(column: str, values: list[int]) -> Iterator[str]:
    for start in range(0, len(values), _NAMED_AT_ONCE):
        some = ",".join(map(str, values[start : start + _NAMED_AT_ONCE]))
        yield f"{column} = any('{{{some}}}'::bigint[])"


def _one_of(columns: list[str], entities: Iterable[int]) -> str:
    text = ",".join(map(str, sorted(entities)))
    each = " or ".join(f"{column} = any('{{{text}}}'::bigint[])" for column in columns)
    return f"({each or 'false'})"


def _models() -> dict[str, type[Model]]:
    return {model._meta.db_table: model for model in apps.get_models()}


def _is_timed(table: str, model: type[Model]) -> bool:
    """Return whether the table has rows of single transactions."""
    return table not in _STATE and any(
        field.column == "consensus_timestamp" and isinstance(field, fields.ConsensusTimestampField)
        for field in model._meta.concrete_fields
    )


def _entity_columns(model: type[Model]) -> list[str]:
    return [
        field.column
        for field in model._meta.concrete_fields
        if isinstance(field, fields.EntityIdField) and field.column
    ]
