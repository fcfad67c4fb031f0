"""From composed transactions to what the tables hold: stream files in a folder, loaded by the pipeline."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import connection

from ledger.ingest.pipeline import Pipeline, Progress
from ledger.stream.source.local import find_record_files
from mirror.core import config
from mirror.demo.streams.record_files import Block
from tests.ledger.ingest.tables import contents, empty_tables

Row = tuple[Any, ...]

_JSONB = 3802  # type number in pg_type
_PERSIST = "importer.parser.record.entity.persist."


def load(*blocks: Block) -> Progress:
    """Load blocks, in one batch, after those loaded before."""
    with TemporaryDirectory() as folder:
        for block in blocks:
            block.write(Path(folder))
        return Pipeline().run(find_record_files([Path(folder)]))


def stored(table: str, columns: str, where: str = "true") -> list[Row]:
    """The rows of a table, ordered by the columns.

    Bytea is bytes, jsonb what it says, ranges are text such as `[5,9)`.
    """
    names = [name.strip() for name in columns.split(",")]
    selected = [f"{name}::text" if name.endswith("_range") else f'"{name}"' for name in names]
    with connection.cursor() as cursor:
        cursor.execute(f"select {', '.join(selected)} from {table} where {where}")
        json_columns = [column.type_code == _JSONB for column in cursor.description]
        rows = [tuple(map(_plain, row, json_columns)) for row in cursor.fetchall()]
    return sorted(rows, key=lambda row: [(value is not None, str(type(value)), value) for value in row])


def _plain(value: Any, is_json: bool = False) -> Any:
    if is_json:
        return value and json.loads(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return bytes(value) if isinstance(value, memoryview) else value


@contextmanager
def settings(**changes: Any) -> Iterator[None]:
    """Load under other settings: `settings(persist__claims=True, common__shard=1)`.

    Two underscores stand for a dot, `persist__` for the long prefix of the settings of that name.
    """
    renamed = {}
    for name, value in changes.items():
        dotted = name.replace("__", ".")
        renamed[_PERSIST + dotted.removeprefix("persist.") if name.startswith("persist__") else dotted] = (
            value
        )
    restore = config.overridden(renamed)
    try:
        yield
    finally:
        restore.close()


def load_in_any_batches(*blocks: Block) -> dict[str, list[str]]:
    """Load the blocks one by one and all at once into empty tables; both must give the same.

    Leaves the tables loaded, and returns their contents.
    """
    for block in blocks:
        load(block)
    one_by_one = contents()
    empty_tables()
    load(*blocks)
    concurrency = contents()
    assert concurrency == one_by_one
    return concurrency
