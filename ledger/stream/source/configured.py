"""The buckets of the stream: those of the settings importer.downloader.*, or other locations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ledger.stream.source.bucket import Access, Bucket, InvalidLocation, open_bucket
from ledger.stream.source.download import Layout, PathType
from ledger.stream.source.stream_settings import (
    DOWNLOADER,
    PUBLIC_BLOCK_BUCKETS,
    PUBLIC_BUCKETS,
    downloader,
)
from mirror.core import config
from mirror.core.config.setting import OperatorError

SCHEMES = {"S3": "s3", "GCP": "gs"}

AnyLayout = TypeVar("AnyLayout", bound=Layout)
#: Returns the value of a setting by its name below importer.downloader, or of one that overrides it.
ReadSetting = Callable[[str], Any]


class NoBucket(OperatorError):
    """No bucket is named, and none of the network is known."""


def stream_layout(layout_class: type[AnyLayout]) -> AnyLayout:
    return layout_class(
        network=config.value("network"),
        shard=config.value("common.shard"),
        path_type=PathType(config.value(DOWNLOADER + "pathType")),
        refresh=config.value(DOWNLOADER + "pathRefreshInterval"),
    )


def stream_bucket(location: str = "", read_setting: ReadSetting = downloader) -> Bucket:
    """Open the bucket of record files. Errors: OperatorError."""
    return _open(location or stream_location(read_setting), read_setting)


def stream_location(read_setting: ReadSetting = downloader) -> str:
    """Return the configured location of record files. Errors: OperatorError."""
    return _location(read_setting("bucketName"), PUBLIC_BUCKETS, DOWNLOADER + "bucketName", read_setting)


def block_bucket(location: str = "") -> Bucket:
    """Open the bucket of blocks. Errors: OperatorError."""
    setting = "importer.block.bucketName"
    configured = location or _location(config.value(setting), PUBLIC_BLOCK_BUCKETS, setting, downloader)
    return _open(configured, downloader)


def _open(location: str, read_setting: ReadSetting) -> Bucket:
    provider = read_setting("cloudProvider")
    access = Access(
        endpoint="" if provider == "HTTP" else read_setting("endpointOverride"),
        region=read_setting("region"),
        access_key=read_setting("accessKey"),
        secret_key=read_setting("secretKey"),
        project=read_setting("gcpProjectId"),
        anonymous=read_setting("allowAnonymousAccess"),
        timeout=read_setting("timeout"),
        retries=read_setting("retries"),
    )
    try:
        return open_bucket(location, access)
    except InvalidLocation as error:
        raise OperatorError(str(error)) from error


def _location(name: str, public: Mapping[str, str], setting: str, read_setting: ReadSetting) -> str:
    """Return the location that the settings name, or the public one of the network. Errors: OperatorError."""
    provider = read_setting("cloudProvider")
    prefix = read_setting("pathPrefix").strip("/")
    if provider == "LOCAL":
        return str(Path(config.value("importer.dataPath")) / "streams" / prefix)
    if provider == "HTTP":
        url = read_setting("endpointOverride").rstrip("/")
        if not url:
            variable = config.lookup(DOWNLOADER + "endpointOverride").variable
            raise OperatorError(f"{variable} has to name the web server that mirrors the bucket.")
        return f"{url}/{prefix}"
    network = read_setting("network")
    bucket = name or public.get(network)
    if not bucket:
        variable = config.lookup(setting).variable
        raise NoBucket(f"No public bucket of the network {network} is known: name it by {variable}.")
    return f"{SCHEMES[provider]}://{bucket}/{prefix}"
