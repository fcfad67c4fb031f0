"""The bucket to follow: the one that the settings importer.downloader.* name, or another location."""

from collections.abc import Mapping
from pathlib import Path

from ledger.stream.source.balances import BalanceDownload, BalanceLayout
from ledger.stream.source.bucket import Access, Bucket, InvalidLocation, open_bucket
from ledger.stream.source.download import Download, Layout, PathType
from mirror import config
from mirror.config.errors import OperatorError

# Buckets the networks are published in.
PUBLIC_BUCKETS = {
    "demo": "hedera-demo-streams",
    "mainnet": "hedera-mainnet-streams",
    "previewnet": "hedera-preview-testnet-streams",
    "testnet": "hedera-testnet-streams-2024-02",
}

_SCHEMES = {"S3": "s3", "GCP": "gs"}
_DOWNLOADER = "importer.downloader."


def open_download(location: str = "") -> Download:
    """Open the download from `location` (a folder or URL), or else from the configured bucket.

    Errors: OperatorError.
    """
    layout = Layout(
        network=config.value("network"),
        shard=config.value("common.shard"),
        path_type=PathType(config.value(_DOWNLOADER + "pathType")),
        refresh=config.value(_DOWNLOADER + "pathRefreshInterval"),
    )
    return Download(
        _stream_bucket(location),
        layout,
        sidecars=config.value("importer.parser.record.sidecar.enabled"),
        concurrency=config.value(_DOWNLOADER + "maxConcurrency"),
    )


def open_balance_download(location: str = "") -> BalanceDownload:
    """Open the download of balance files from the same place. Errors: OperatorError."""
    layout = BalanceLayout(
        network=config.value("network"),
        shard=config.value("common.shard"),
        path_type=PathType(config.value(_DOWNLOADER + "pathType")),
        refresh=config.value(_DOWNLOADER + "pathRefreshInterval"),
    )
    concurrency: int = config.value(_DOWNLOADER + "maxConcurrency")
    return BalanceDownload(_stream_bucket(location), layout, concurrency=concurrency)


def names_public_bucket() -> bool:
    """Tell if the settings name the bucket of a public network, whose stream began years ago.

    The demonstration streams end, and any other bucket is the operator's own choice.
    """
    network = config.value("network")
    public = PUBLIC_BUCKETS.get(network)
    if network == "demo" or config.value(_DOWNLOADER + "cloudProvider") not in _SCHEMES:
        return False
    return public is not None and config.value(_DOWNLOADER + "bucketName") in ("", public)


def is_paid(location: str = "") -> bool:
    """Tell if requests to `location`, or else to the configured bucket, may cost who makes them something."""
    place = location or _configured(config.value(_DOWNLOADER + "bucketName"), PUBLIC_BUCKETS)
    scheme = place.partition("://")[0]
    return scheme in _SCHEMES.values() and not config.value(_DOWNLOADER + "allowAnonymousAccess")


def _stream_bucket(location: str) -> Bucket:
    return bucket_of(location, config.value(_DOWNLOADER + "bucketName"), PUBLIC_BUCKETS)


def bucket_of(location: str, name: str, public: Mapping[str, str]) -> Bucket:
    """Open the bucket at `location`, or else that of the settings: `name`, or the network's public one.

    Errors: OperatorError.
    """
    location = location or _configured(name, public)
    provider = config.value(_DOWNLOADER + "cloudProvider")
    access = Access(
        endpoint="" if provider == "HTTP" else config.value(_DOWNLOADER + "endpointOverride"),
        region=config.value(_DOWNLOADER + "region"),
        access_key=config.value(_DOWNLOADER + "accessKey"),
        secret_key=config.value(_DOWNLOADER + "secretKey"),
        project=config.value(_DOWNLOADER + "gcpProjectId"),
        anonymous=config.value(_DOWNLOADER + "allowAnonymousAccess"),
        timeout=config.value(_DOWNLOADER + "timeout"),
        retries=config.value(_DOWNLOADER + "retries"),
    )
    try:
        return open_bucket(location, access)
    except InvalidLocation as error:
        raise OperatorError(str(error)) from error


def _configured(name: str, public: Mapping[str, str]) -> str:
    provider = config.value(_DOWNLOADER + "cloudProvider")
    prefix = config.value(_DOWNLOADER + "pathPrefix").strip("/")
    if provider == "LOCAL":
        return str(Path(config.value("importer.dataPath")) / "streams" / prefix)
    if provider == "HTTP":
        address = config.value(_DOWNLOADER + "endpointOverride").rstrip("/")
        if not address:
            variable = config.described(_DOWNLOADER + "endpointOverride").variable
            raise OperatorError(f"{variable} has to name the web server that mirrors the bucket.")
        return f"{address}/{prefix}"
    network = config.value("network")
    bucket = name or public.get(network)
    if not bucket:
        variable = config.described(_DOWNLOADER + "bucketName").variable
        raise OperatorError(f"No public bucket of the network {network} is known: name it by {variable}.")
    return f"{_SCHEMES[provider]}://{bucket}/{prefix}"
