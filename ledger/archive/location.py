"""The archive of verified stream files: what is archived, where, and under which paths."""

from pathlib import Path

from django.db.backends.utils import CursorWrapper

import mirror
from ledger.stream import block_names
from mirror.core import config
from mirror.core.db import statements
from mirror.core.values import entity_id

# SETTINGS

LOCATION, PERIOD = "importer.archive.location", "importer.archive.period"
RECORDS, BLOCKS = "importer.downloader.record.writeFiles", "importer.block.writeFiles"
SIGNATURES = "importer.downloader.record.writeSignatures"

_FOLDER = "kept"
_KINDS = {RECORDS: "record files", SIGNATURES: "signatures", BLOCKS: "blocks"}


def archive_location() -> str:
    """Return the location in the settings: a folder or a URL."""
    location: str = config.value(LOCATION)
    if "://" in location:
        return location
    home = Path(mirror.__file__).resolve().parent.parent
    return str((home / (location or Path(config.value("data")) / _FOLDER)).resolve())


def archived_kinds() -> list[str]:
    return [kind for setting, kind in _KINDS.items() if config.value(setting)]


# PATHS

RECORD_STREAMS = "recordstreams"


def record_path(account_id: int, name: str) -> str:
    return f"{RECORD_STREAMS}/record{entity_id.text(account_id)}/{name}"


def block_path(network_folder: str, number: int) -> str:
    return f"{network_folder}/{block_names.in_bucket(number)}"


# USE
# A node that is started while the disk of its archive is not mounted finds an empty folder, which looks like
# a new archive: the table archive_location lists the locations that are in use.

# Index: the primary key (location).
_IN_USE = "select exists (select from archive_location where location = %s)"
_SET_IN_USE = """
    insert into archive_location (location, since) values (%s, now()) on conflict (location) do nothing"""


def is_in_use() -> bool:
    """Return whether a batch with a file in the archive has been committed."""
    return bool(statements.value(_IN_USE, [_key()]))


def set_in_use(cursor: CursorWrapper) -> None:
    """Store the location of the archive, in the transaction of the cursor."""
    cursor.execute(_SET_IN_USE, [_key()])


def _key() -> str:
    return archive_location().rstrip("/")
