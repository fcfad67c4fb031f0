"""The settings that say where the stream is. This is apart from what reads it, which takes memory."""

from typing import Any

from mirror.core import config

DOWNLOADER = "importer.downloader."
# Each of these settings says where a stream is.
_SOURCES = ("bucketName", "accessKey", "endpointOverride", "allowAnonymousAccess")


def downloader(name: str) -> Any:
    """Return the value of a setting of importer.downloader; `network` is that of the node."""
    return config.value(name if name == "network" else DOWNLOADER + name)


def is_named() -> bool:
    """Return whether the settings say where the stream is, beside its being that of a known network."""
    return downloader("cloudProvider") != "S3" or any(map(downloader, _SOURCES))
