"""The bucket to follow: which one the settings name, whether it is public, and whether requests cost."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.ingest.following.configured_bucket import (
    is_paid,
    names_public_bucket,
    open_balance_download,
    open_download,
)

Settings = Callable[..., None]


@pytest.mark.parametrize(
    ("name", "changes", "public"),
    [
        ("mainnet", {}, True),
        ("testnet", {"importer.downloader.cloudProvider": "GCP"}, True),
        ("mainnet", {"importer.downloader.bucketName": "hedera-mainnet-streams"}, True),
        ("mainnet", {"importer.downloader.bucketName": "mine"}, False),
        ("mainnet", {"importer.downloader.cloudProvider": "LOCAL"}, False),
        ("mine", {"importer.downloader.bucketName": "mine"}, False),
        ("demo", {}, False),
    ],
)
def test_public_buckets_are_those_of_the_public_networks(
    settings_of: Settings, name: str, changes: dict[str, str], public: bool
) -> None:
    settings_of({"network": name} | changes)

    assert names_public_bucket() == public


@pytest.mark.parametrize(
    ("location", "anonymous", "expected"),
    [
        ("s3://bucket", False, True),
        ("gs://bucket/path", False, True),
        ("s3://bucket", True, False),
        ("https://host/path", False, False),
        ("/data/streams", False, False),
    ],
)
def test_buckets_of_others_may_cost_something(
    location: str, anonymous: bool, expected: bool, settings_of: Callable[..., None]
) -> None:
    settings_of({"importer.downloader.allowAnonymousAccess": anonymous})

    assert is_paid(location) is expected


def test_location_takes_the_place_of_the_configured_bucket(settings_of: Settings, tmp_path: Path) -> None:
    settings_of({"network": "mainnet"})

    for download in (open_download(str(tmp_path)), open_balance_download(str(tmp_path))):
        with closing(download):
            assert str(tmp_path) in download.bucket.location


@pytest.mark.parametrize(("read", "is_listed"), [(True, True), (False, False)])
def test_sidecars_are_downloaded_only_if_they_are_read(
    settings_of: Settings, tmp_path: Path, read: bool, is_listed: bool
) -> None:
    settings_of({"importer.parser.record.sidecar.enabled": read})

    with closing(open_download(str(tmp_path))) as download:
        assert download._sidecars == is_listed
