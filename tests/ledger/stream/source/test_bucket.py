"""Folders, S3, and plain web servers as the same bucket."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.stream.source import bucket as buckets
from ledger.stream.source import incidents
from ledger.stream.source.bucket import Access, Bucket, BucketError, InvalidLocation, open_bucket
from tests.ledger.stream.source.servers import BUCKET, Fault, S3Server, web_server
from tests.waiting import PATIENCE_SECONDS

FOLDER = "recordstreams/record0.0.3"
NAMES = [f"2025-01-01T00_00_{second:02}.000000000Z.rcd_sig" for second in range(0, 20, 2)]
ANYONE = Access(anonymous=True, timeout=PATIENCE_SECONDS, retries=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    of_node = tmp_path / FOLDER
    (of_node / "sidecar").mkdir(parents=True)
    for name in reversed(NAMES):
        (of_node / name).write_bytes(name.encode())
        (of_node / name.replace("_sig", ".gz")).write_bytes(b"data")
    (of_node / "sidecar" / "2025-01-01T00_00_00.000000000Z_01.rcd.gz").write_bytes(b"sidecar")
    return tmp_path


@pytest.fixture(params=["folder", "s3", "http"])
def bucket(request: pytest.FixtureRequest, folder: Path) -> Iterator[Bucket]:
    if request.param == "folder":
        yield open_bucket(str(folder), ANYONE)
    elif request.param == "s3":
        with S3Server(folder) as server:
            yield s3(server)
    else:
        with web_server(folder) as address:
            yield open_bucket(address, ANYONE)


def s3(server: S3Server, **changes: Any) -> Bucket:
    return open_bucket(f"s3://{BUCKET}", replace(ANYONE, endpoint=server.endpoint, **changes))


def signatures(bucket: Bucket, after: str = "") -> list[str]:
    return [name for name in bucket.names(FOLDER, after) if name.endswith("_sig")]


def test_names_are_listed_in_order(bucket: Bucket) -> None:
    assert signatures(bucket) == NAMES


def test_names_are_listed_after_a_name(bucket: Bucket) -> None:
    assert signatures(bucket, NAMES[6].replace(".rcd_sig", "_")) == NAMES[7:]
    assert signatures(bucket, NAMES[-1]) == []


def test_a_folder_that_is_not_there_is_empty(bucket: Bucket) -> None:
    assert bucket.names("recordstreams/record0.0.9", "") == []


def test_files_are_read(bucket: Bucket) -> None:
    assert bucket.read(f"{FOLDER}/{NAMES[3]}") == NAMES[3].encode()


def test_a_missing_file_is_named(bucket: Bucket) -> None:
    with pytest.raises(BucketError, match=r"record0.0.3/x.rcd_sig.*there is no such file"):
        bucket.read(f"{FOLDER}/x.rcd_sig")


def test_a_file_too_large_is_not_read(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MAX_STORED", 10)

    with pytest.raises(BucketError, match="stream files have at most 10"):
        bucket.read(f"{FOLDER}/{NAMES[0]}")


def test_a_folder_below_a_bucket_is_a_bucket(folder: Path) -> None:
    with S3Server(folder) as server:
        below = open_bucket(
            f"s3://{BUCKET}/recordstreams/", Access(endpoint=server.endpoint, anonymous=True, retries=0)
        )
        assert [name for name in below.names("record0.0.3", "") if "_sig" in name] == NAMES
        assert below.read(f"record0.0.3/{NAMES[0]}")


def test_a_listing_takes_one_request_however_many_files_there_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "PAGE", 5)
    with S3Server(folder) as server:
        server.page = 5
        assert len(s3(server).names(FOLDER, "")) == 5
        assert len(server.requests) == 1


def test_the_requester_pays_and_signs(folder: Path) -> None:
    with S3Server(folder) as server:
        s3(server, anonymous=False, access_key="key", secret_key="secret").read(f"{FOLDER}/{NAMES[0]}")
        ((_, headers),) = server.requests

    assert headers["x-amz-request-payer"] == "requester"
    assert "Credential=key/" in headers["authorization"]


def test_nothing_is_signed_anonymously(folder: Path) -> None:
    with S3Server(folder) as server:
        s3(server).read(f"{FOLDER}/{NAMES[0]}")
        ((_, headers),) = server.requests

    assert not {"authorization", "x-amz-request-payer"} & {name.lower() for name in headers}


def test_google_gets_the_paying_project(folder: Path) -> None:
    with S3Server(folder) as server:
        access = Access(
            endpoint=server.endpoint, access_key="key", secret_key="secret", project="mine", retries=0
        )
        open_bucket(f"gs://{BUCKET}", access).read(f"{FOLDER}/{NAMES[0]}")
        ((_, headers),) = server.requests

    assert headers["x-goog-user-project"] == "mine"


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.CUT_OFF, Fault.SLOW, Fault.BUSY, Fault.MISSING])
def test_every_fault_of_a_bucket_is_our_error(folder: Path, fault: Fault) -> None:
    with S3Server(folder) as server:
        server.fault = lambda: fault
        with pytest.raises(BucketError, match=NAMES[0]):
            s3(server, timeout=0.3 if fault is Fault.SLOW else PATIENCE_SECONDS).read(f"{FOLDER}/{NAMES[0]}")


def test_a_failed_request_is_tried_again_at_once(folder: Path) -> None:
    faults = iter([Fault.BUSY, Fault.REFUSED])
    with S3Server(folder) as server:
        server.fault = lambda: next(faults, None)
        assert s3(server, retries=3).read(f"{FOLDER}/{NAMES[0]}")
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("/no/such/folder", "The folder /no/such/folder does not exist"),
        ("ftp://host/x", "give a folder, s3://bucket, gs://bucket or https://host/path"),
        ("s3://", "s3:// names no bucket"),
    ],
)
def test_a_location_that_is_none_is_named(location: str, message: str) -> None:
    with pytest.raises(InvalidLocation, match=message):
        open_bucket(location, ANYONE)


def test_a_page_that_is_no_listing_is_an_incident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "_incidents", deque())
    (tmp_path / "login").write_text("<html><title>Sign in</title><form></form></html>")
    with web_server(tmp_path) as address:
        bucket = open_bucket(address, ANYONE)
        with pytest.raises(BucketError, match="no index page"):
            bucket.names("login", "")
        assert bucket.names("nowhere", "") == []
        with pytest.raises(BucketError):
            bucket.read("missing")
        with pytest.raises(BucketError, match="an HTML page, not the file"):
            bucket.read("login")
    with pytest.raises(BucketError):
        bucket.names("login", "")

    known: Any = incidents.recent()
    assert known["count"] == 3
    assert known["last"][2]["cause"] == "login: the answer is no index page of a folder"
    assert known["last"][1]["cause"].endswith("the answer is an HTML page, not the file")
    assert "can't be had" in known["last"][0]["cause"]


def test_a_slow_answer_is_an_incident(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "_incidents", deque())
    monkeypatch.setattr(incidents, "SLOW_SECONDS", 0.0)

    assert bucket.read(f"{FOLDER}/{NAMES[0]}")

    known: Any = incidents.recent()
    assert known["last"][0]["cause"] == f"{FOLDER}: the answer took 0 s"
