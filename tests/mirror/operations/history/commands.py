"""The command and statements that tests of backfills run."""

from io import StringIO
from typing import Any

from django.core.management import call_command
from django.db import connection

from mirror.models import LoadedRange
from tests.ledger.ingest.tables import contents


def whole() -> dict[str, list[str]]:
    ranges = [str(row) for row in LoadedRange.objects.order_by("consensus_start").values()]
    return contents() | {"loaded_range": ranges}


def backfill(*words: Any) -> str:
    said = StringIO()
    call_command("backfill", *map(str, words), stdout=said)
    return said.getvalue()


def change(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
