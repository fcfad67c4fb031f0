"""The settings that name the source of the stream; apart from what reads it, which takes memory to import."""

from typing import Any

from mirror.core import config

DOWNLOADER = "importer.downloader."
# Each of these settings names a source.
_SOURCES = ("bucketName", "accessKey", "endpointOverride", "allowAnonymousAccess")

# The buckets of known networks: of record files, signatures, sidecars and balances.
PUBLIC_BUCKETS = {
    "demo": "hedera-demo-streams",
    "mainnet": "hedera-mainnet-streams",
    "previewnet": "hedera-preview-testnet-streams",
    "testnet": "hedera-testnet-streams-2024-02",
}
# The recent blocks.
PUBLIC_BLOCK_BUCKETS = {
    "demo": "hedera-demo-recent-block-streams",
    "mainnet": "hedera-mainnet-recent-block-streams",
    "previewnet": "hedera-previewnet-recent-block-streams",
    "testnet": "hedera-testnet-recent-block-streams",
}


def downloader(name: str) -> Any:
    """Return the value of a setting of importer.downloader; `network` is that of the node."""
    return config.value(name if name == "network" else DOWNLOADER + name)


def is_named() -> bool:
    """Return whether the settings name a source, besides the network."""
    return downloader("cloudProvider") != "S3" or any(map(downloader, _SOURCES))
