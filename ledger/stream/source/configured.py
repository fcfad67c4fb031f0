"""The buckets of the stream: those of the settings importer.downloader.*, or other locations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ledger.stream.source.bucket import Access, Bucket, InvalidLocation, open_bucket
from ledger.stream.source.download import Layout, PathType
from ledger.stream.source.stream_settings import (
    DOWNLOADER,
    PUBLIC_BLOCK_BUCKETS,
    PUBLIC_BUCKETS,
    downloader,
)
from mirror.core import config
from mirror.core.config.errors import OperatorError

SCHEMES = {"S3": "s3", "GCP": "gs"}

_RECORD_BUCKET = DOWNLOADER + "bucketName"
_BLOCK_BUCKET = "importer.block.bucketName"

#: Returns the value of a setting by its name below importer.downloader, or of one that overrides it.
Choose = Callable[[str], Any]


class NoBucket(OperatorError):
    """No bucket is named, and none of the network is known."""


def stream_layout() -> Layout:
    """Return the folders where nodes publish record files."""
    return Layout(
        network=config.value("network"),
        shard=config.value("common.shard"),
        path_type=PathType(config.value(DOWNLOADER + "pathType")),
        refresh=config.value(DOWNLOADER + "pathRefreshInterval"),
    )


def stream_bucket(location: str = "", choose: Choose = downloader) -> Bucket:
    """Open the bucket of record files. Errors: OperatorError."""
    return _bucket(location, choose("bucketName"), PUBLIC_BUCKETS, choose)


def block_bucket(location: str = "") -> Bucket:
    """Open the bucket of blocks. Errors: OperatorError."""
    return _bucket(location, config.value(_BLOCK_BUCKET), PUBLIC_BLOCK_BUCKETS, setting=_BLOCK_BUCKET)


def stream_location() -> str:
    """Return the configured location of record files. Errors: OperatorError."""
    return _configured(config.value(_RECORD_BUCKET), PUBLIC_BUCKETS)


def _bucket(
    location: str,
    name: str,
    public: Mapping[str, str],
    choose: Choose = downloader,
    setting: str = _RECORD_BUCKET,
) -> Bucket:
    """Open the bucket at `location`, or else that of the settings: `name`, or the network's public one."""
    location = location or _configured(name, public, choose, setting)
    provider = choose("cloudProvider")
    access = Access(
        endpoint="" if provider == "HTTP" else choose("endpointOverride"),
        region=choose("region"),
        access_key=choose("accessKey"),
        secret_key=choose("secretKey"),
        project=choose("gcpProjectId"),
        anonymous=choose("allowAnonymousAccess"),
        timeout=choose("timeout"),
        retries=choose("retries"),
    )
    try:
        return open_bucket(location, access)
    except InvalidLocation as error:
        raise OperatorError(str(error)) from error


def _configured(
    name: str, public: Mapping[str, str], choose: Choose = downloader, setting: str = _RECORD_BUCKET
) -> str:
    """Return the location that the settings name. `setting` is the one for `name`. Errors: OperatorError."""
    provider = choose("cloudProvider")
    prefix = choose("pathPrefix").strip("/")
    if provider == "LOCAL":
        return str(Path(config.value("importer.dataPath")) / "streams" / prefix)
    if provider == "HTTP":
        address = choose("endpointOverride").rstrip("/")
        if not address:
            variable = config.described(DOWNLOADER + "endpointOverride").variable
            raise OperatorError(f"{variable} has to name the web server that mirrors the bucket.")
        return f"{address}/{prefix}"
    network = choose("network")
    bucket = name or public.get(network)
    if not bucket:
        variable = config.described(setting).variable
        raise NoBucket(f"No public bucket of the network {network} is known: name it by {variable}.")
    return f"{SCHEMES[provider]}://{bucket}/{prefix}"
