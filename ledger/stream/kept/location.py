"""What of the stream is kept, and where, by the settings."""

from pathlib import Path

import mirror
from mirror import config

PLACE, PERIOD = "importer.kept.place", "importer.kept.period"
RECORDS, BLOCKS = "importer.downloader.record.writeFiles", "importer.block.writeFiles"
SIGNATURES = "importer.downloader.record.writeSignatures"

_FOLDER = "kept"
_KINDS = {RECORDS: "record files", SIGNATURES: "signatures", BLOCKS: "blocks"}


def kept_location() -> str:
    """Return the place in the settings: a folder or a URL."""
    place: str = config.value(PLACE)
    if "://" in place:
        return place
    home = Path(mirror.__file__).resolve().parent.parent
    return str((home / (place or Path(config.value("data")) / _FOLDER)).resolve())


def kept_kinds() -> list[str]:
    """Return what is kept, in words."""
    return [kind for setting, kind in _KINDS.items() if config.value(setting)]
