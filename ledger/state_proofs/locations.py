"""The buckets of signed record files and of blocks: the archive, and those where they are published.

Record files are published in the bucket of importer.downloader.*, or of rest.stateproof.streams.*. A node
that runs its own demo network has it in a folder.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from ledger.archive.location import archive_location
from ledger.archive.published_files import NodeFolders
from ledger.archive.store import archive_bucket
from ledger.stream.source import configured, stream_settings
from ledger.stream.source.bucket import Access, Bucket, open_bucket
from ledger.stream.source.download import Layout, PathType
from mirror.core import config, logs
from mirror.core.config.setting import OperatorError

_STREAMS = "rest.stateproof.streams."
_LOCATION = ("cloudProvider", "network", "bucketName", "endpointOverride")
_ACCESS_SETTINGS = ("region", "accessKey", "secretKey", "gcpProjectId")
_CREDENTIALS = ("accessKey", "secretKey")
_DEMO = "demo"

# An archived file is in the folder of one of the nodes that signed it; in the source each of them has it.
_CONCURRENT, _SEQUENTIAL = 16, 1

log = logs.logger(__name__)


def record_file_buckets() -> Sequence[NodeFolders]:
    """Return the buckets of record files, in the order in which they are read."""
    published = _published(_own_demo(), _values(_STREAMS, "importer.", "network"))
    return [folders for folders in (_archive(_values("importer.", "data")), published) if folders is not None]


def block_buckets() -> Sequence[Bucket]:
    """Return the buckets of blocks, in the order in which they are read."""
    archive = _archive(_values("importer.", "data"))
    demo = settings.DATA_DIR / settings.DEMO_STREAM
    own_demo = str(demo) if config.value("network") == _DEMO and demo.is_dir() else ""
    buckets = [] if archive is None else [archive.bucket]
    if own_demo:
        buckets.append(_folder(own_demo))
    # Not every network publishes blocks in a bucket.
    with suppress(OperatorError):
        buckets.append(_published_blocks(_values("importer.", "network")))
    return buckets


def _values(*prefixes: str) -> tuple[Any, ...]:
    """Return the values of the settings on which a bucket depends: the key of a cache."""
    return tuple(value for name, value in config.values().items() if name.startswith(prefixes))


def _archive(values: tuple[Any, ...]) -> NodeFolders | None:
    location = archive_location()
    if "://" not in location and not Path(location).is_dir():
        return None
    return _open_archive(values)


@lru_cache(maxsize=1)
def _open_archive(values: tuple[Any, ...]) -> NodeFolders | None:
    layout = Layout(network=config.value("network"), path_type=PathType.ACCOUNT_ID)
    try:
        bucket = archive_bucket()
    except OperatorError as error:
        log.warning("state_proof_location_unusable", reason=str(error))
        return None
    return None if bucket is None else NodeFolders(bucket, layout, _CONCURRENT)


@lru_cache(maxsize=1)
def _published(location: str, values: tuple[Any, ...]) -> NodeFolders | None:
    layout = replace(configured.stream_layout(Layout), network=_read_setting("network"))
    try:
        return NodeFolders(configured.stream_bucket(location, _read_setting), layout, _SEQUENTIAL)
    except OperatorError as error:
        log.warning("state_proof_location_unusable", reason=str(error))
        return None


@lru_cache(maxsize=1)
def _published_blocks(values: tuple[Any, ...]) -> Bucket:
    """Errors: OperatorError, after which it is tried again."""
    return configured.block_bucket()


@lru_cache(maxsize=1)
def _folder(location: str) -> Bucket:
    return open_bucket(location, Access())


def _own_demo() -> str:
    """Return the folder of the demo network that this node makes; "" if it makes none."""
    elsewhere = any(config.value(_STREAMS + name) for name in _LOCATION) or stream_settings.is_named()
    folder = settings.DATA_DIR / settings.DEMO_STREAM
    return str(folder) if _read_setting("network") == _DEMO and not elsewhere and folder.is_dir() else ""


def _read_setting(name: str) -> Any:
    """Return the value of a setting of rest.stateproof.streams, or else of importer.downloader."""
    if name == "timeout":
        return config.value(_STREAMS + "httpOptions.timeout")
    value = config.value(_STREAMS + name) if name in (*_LOCATION, *_ACCESS_SETTINGS) else None
    if value:
        return value
    # Credentials are for the service that they were made for.
    is_own_endpoint = bool(config.value(_STREAMS + "endpointOverride"))
    if is_own_endpoint and name in _CREDENTIALS:
        return ""
    if is_own_endpoint and name == "allowAnonymousAccess":
        return not config.value(_STREAMS + "accessKey")
    return stream_settings.downloader(name)
