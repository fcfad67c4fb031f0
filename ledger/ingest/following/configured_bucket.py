"""The bucket to follow: the one that the settings importer.downloader.* name, or another location."""

from ledger.archive.location import RECORDS, SIGNATURES
from ledger.stream.source.balance_files import BalanceDownload, BalanceLayout
from ledger.stream.source.configured import SCHEMES, stream_bucket, stream_layout, stream_location
from ledger.stream.source.download import Download, Layout
from ledger.stream.source.stream_settings import PUBLIC_BUCKETS, downloader
from mirror.core import config


def open_download(location: str = "") -> Download:
    """Open the download from `location`, or else from the configured bucket. Errors: OperatorError."""
    return Download(
        stream_bucket(location),
        stream_layout(Layout),
        sidecars=config.value("importer.parser.record.sidecar.enabled") or config.value(RECORDS),
        concurrency=downloader("maxConcurrency"),
        for_proofs=config.value(SIGNATURES),
    )


def open_balance_download(location: str = "") -> BalanceDownload:
    """Open the download of balance files from the same place. Errors: OperatorError."""
    concurrency: int = downloader("maxConcurrency")
    return BalanceDownload(stream_bucket(location), stream_layout(BalanceLayout), concurrency=concurrency)


def names_public_bucket() -> bool:
    """Return whether the settings name the bucket of a public network that goes on."""
    network = config.value("network")
    public = PUBLIC_BUCKETS.get(network)
    if network == "demo" or downloader("cloudProvider") not in SCHEMES:
        return False
    return public is not None and downloader("bucketName") in ("", public)


def is_paid(location: str = "") -> bool:
    """Return whether requests to `location`, or else to the configured bucket, may cost money."""
    scheme = (location or stream_location()).partition("://")[0]
    return scheme in SCHEMES.values() and not downloader("allowAnonymousAccess")
