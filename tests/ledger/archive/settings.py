"""Archives of tests."""

from typing import Any

from tests.ledger.stream.source.servers import BUCKET, S3Server
from tests.waiting import PATIENCE_SECONDS


def in_bucket_of(server: S3Server) -> dict[str, Any]:
    """The settings of an archive in the bucket of a server."""
    return {
        "importer.archive.location": f"s3://{BUCKET}",
        "importer.archive.endpointOverride": server.endpoint,
        "importer.archive.accessKey": "a",
        "importer.archive.secretKey": "b",
        "importer.archive.timeout": PATIENCE_SECONDS,
    }
