"""Where tests keep files."""

from typing import Any

from tests.ledger.stream.source.servers import BUCKET, S3Server
from tests.waiting import PATIENCE_SECONDS


def in_bucket_of(server: S3Server) -> dict[str, Any]:
    """The settings by which files are kept in the bucket of a server."""
    return {
        "importer.kept.place": f"s3://{BUCKET}",
        "importer.kept.endpointOverride": server.endpoint,
        "importer.kept.accessKey": "a",
        "importer.kept.secretKey": "b",
        "importer.kept.timeout": PATIENCE_SECONDS,
    }
