"""What of the stream is kept, and where, by the settings."""

from pathlib import Path

import mirror
from mirror.core import config

PLACE, PERIOD = "importer.archive.location", "importer.archive.period"
RECORDS, BLOCKS = "importer.downloader.record.writeFiles", "importer.block.writeFiles"
SIGNATURES = "importer.downloader.record.writeSignatures"

_FOLDER = "kept"
_KINDS = {RECORDS: "record files", SIGNATURES: "signatures", BLOCKS: "blocks"}


def archive_location() -> str:
    """Return the place in the settings: a folder or a URL."""
    place: str = config.value(PLACE)
    if "://" in place:
        return place
    home = Path(mirror.__file__).resolve().parent.parent
    return str((home / (place or Path(config.value("data")) / _FOLDER)).resolve())


def archived_kinds() -> list[str]:
    """Return what is kept, in words."""
    return [kind for setting, kind in _KINDS.items() if config.value(setting)]
