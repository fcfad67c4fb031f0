"""The place where verified stream files are kept: a folder or a bucket of the operator's own."""

from pathlib import Path

from ledger.archive.location import PLACE, archive_location
from ledger.stream.source.bucket import Access, Bucket, InvalidLocation, open_bucket
from mirror.core import config
from mirror.core.config.errors import OperatorError

_KEPT = "importer.archive."


def archive_access() -> Access:
    return Access(
        endpoint=config.value(_KEPT + "endpointOverride"),
        region=config.value(_KEPT + "region"),
        access_key=config.value(_KEPT + "accessKey"),
        secret_key=config.value(_KEPT + "secretKey"),
        project=config.value(_KEPT + "gcpProjectId"),
        timeout=config.value(_KEPT + "timeout"),
        retries=config.value("importer.downloader.retries"),
    )


def archive_bucket() -> Bucket | None:
    """Open what is kept for reading; None if nothing has been kept in a folder yet. Errors: OperatorError."""
    location = archive_location()
    if "://" not in location and not Path(location).is_dir():
        return None
    try:
        return open_bucket(location, archive_access())
    except InvalidLocation as error:
        raise OperatorError(f"{config.described(PLACE).variable}: {error}") from error
