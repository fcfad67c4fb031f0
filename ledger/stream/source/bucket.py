"""Buckets where nodes publish their files.

A bucket is a folder, S3 or a compatible store, Google Cloud Storage, or a copy of one that a plain web server
lists in index pages. A request that fails is repeated a few times after growing pauses and then raises a
BucketError; the caller tries again later.
"""

import heapq
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import GCSStore, HTTPStore, LocalStore, ObjectStore, S3Store

from ledger.stream.content import MAX_STORED
from ledger.stream.errors import StreamFileError
from ledger.stream.source import incidents

if TYPE_CHECKING:
    from obstore.store import ClientConfig, GCSConfig, RetryConfig, S3Config

# S3 and GCS list so many names per request.
PAGE = 1000

_GOOGLE = "https://storage.googleapis.com"
_CONNECT_TIMEOUT = timedelta(seconds=5)
_HREF = re.compile(r"""href\s*=\s*["']?([^"'?#>\s]+)""", re.IGNORECASE)
# How a page begins that comes in place of a file, such as after a redirect to a login.
_HTML_STARTS, _PAGE_BYTES = (b"<!doctype html", b"<html"), 100
# What the index page of a folder without files says.
_INDEX = re.compile(r"index of|directory listing|directory:", re.IGNORECASE)


class BucketError(StreamFileError):
    """A file or listing that could not be read this time."""

    def __init__(self, file: str, cause: str) -> None:
        super().__init__(file, 0, cause, "It is tried again while loading goes on.")


class NoSuchFile(BucketError):
    """A file that is not there, or not yet."""


class InvalidLocation(Exception):
    """A location that names no bucket; the message says what would be valid."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The settings to reach a bucket; empty ones mean the provider's default and the environment's
    credentials.

    `project` pays on Google Cloud; on S3 the requester always pays. `timeout` (seconds) is of one request,
    which is tried again up to `retries` times.
    """

    endpoint: str = ""
    region: str = "us-east-1"
    access_key: str = ""
    secret_key: str = ""
    project: str = ""
    anonymous: bool = False
    timeout: float = 5
    retries: int = 3


def open_bucket(location: str, access: Access) -> "Bucket":
    """Open s3://name/prefix, gs://name/prefix, https://host/path or a folder. Errors: InvalidLocation."""
    if location.startswith(("s3://", "gs://")):
        return _ObjectStoreBucket(open_store(location, access), f"the bucket {location}")
    if location.startswith(("http://", "https://")):
        with _location_errors(location):
            return _IndexPageBucket(HTTPStore(location, **_requests(access)), location)
    if "://" in location:
        raise InvalidLocation(
            f"{location} is no location of stream files: give a folder, s3://bucket, gs://bucket or "
            "https://host/path."
        )
    folder = Path(location).absolute()
    if not folder.is_dir():
        raise InvalidLocation(f"The folder {folder} does not exist.")
    return _FolderBucket(folder)


def open_store(location: str, access: Access) -> ObjectStore:
    """Open the store at `s3://name/prefix` or `gs://name/prefix`, to write to it. Errors: InvalidLocation."""
    with _location_errors(location):
        url = urlsplit(location)
        if not url.netloc:
            raise InvalidLocation(
                f"{location} names no bucket: {url.scheme}://bucket or {url.scheme}://bucket/path."
            )
        open_ = _s3 if url.scheme == "s3" else _gcs
        return open_(url.netloc, url.path.strip("/") or None, access)


@contextmanager
def _location_errors(location: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, ValueError) as error:
        raise InvalidLocation(f"{location} can't be used: {first_line(error)}.") from error


class Bucket(ABC):
    """A bucket; `location` names it in messages."""

    def __init__(self, store: ObjectStore, location: str) -> None:
        self._store = store
        self.location = location

    @abstractmethod
    def names(self, folder: str, after: str) -> list[str]:
        """Return the first sorted names (at most PAGE) in `folder` after one. Errors: BucketError."""

    def read(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """Read a file of up to `max_bytes` bytes, by default MAX_STORED. Errors: BucketError; NoSuchFile."""
        with incidents.recorded(path.rpartition("/")[0] or self.location, normal=NoSuchFile):
            data = self._read(path, MAX_STORED if max_bytes is None else max_bytes)
            if data[:_PAGE_BYTES].lstrip().lower().startswith(_HTML_STARTS):
                raise BucketError(path, "the answer is an HTML page, not the file")
            return data

    def _read(self, path: str, max_bytes: int) -> bytes:
        with _request_errors(path, not_found=NoSuchFile):
            answer = obstore.get(self._store, path)
            if answer.meta["size"] > max_bytes:
                raise BucketError(path, f"{answer.meta['size']} bytes; stream files have at most {max_bytes}")
            return bytes(answer.bytes())

    def folders(self) -> list[str]:
        """Return the names of the folders at the top. Errors: BucketError."""
        with _request_errors(self.location):
            prefixes = obstore.list_with_delimiter(self._store)["common_prefixes"]
        return sorted(prefix.strip("/") for prefix in prefixes)


class _ObjectStoreBucket(Bucket):
    """S3 or GCS: lists sorted names after any name, a page per request."""

    def names(self, folder: str, after: str) -> list[str]:
        offset = f"{folder}/{after}" if after else None
        start = len(folder) + 1
        with incidents.recorded(folder, normal=NoSuchFile), _request_errors(folder):
            page = next(iter(obstore.list(self._store, folder, offset=offset, chunk_size=PAGE)), [])
        names = (entry["path"][start:] for entry in page if entry["size"] <= MAX_STORED)
        # Folders below this one sort behind its files.
        return sorted(name for name in names if "/" not in name and name > after)


class _FolderBucket(Bucket):
    """A local folder laid out as a bucket; the system lists it many times faster than the library."""

    def __init__(self, folder: Path) -> None:
        super().__init__(LocalStore(str(folder)), f"the folder {folder}")
        self._folder = folder

    def names(self, folder: str, after: str) -> list[str]:
        try:
            with os.scandir(self._folder / folder) as entries:
                signed = (each.name for each in entries if each.name > after and "_sig" in each.name)
                return heapq.nsmallest(PAGE, signed)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BucketError(folder, f"can't be listed: {error.strerror}") from error

    def folders(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except OSError as error:
            raise BucketError(self.location, f"can't be listed: {error.strerror}") from error


class _IndexPageBucket(Bucket):
    """A web server that lists a folder as a page of links."""

    def names(self, folder: str, after: str) -> list[str]:
        try:
            with incidents.recorded(folder, normal=NoSuchFile):
                page = self._read(folder, MAX_STORED).decode("utf-8", "replace")
        except BucketError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return []
            raise
        links = _HREF.findall(page)
        if not (links or _INDEX.search(page)):
            cause = "the answer is no index page of a folder"
            incidents.note(f"{folder}: {cause}")
            raise BucketError(folder, cause)
        linked = {unquote(link).rpartition("/")[2] for link in links}
        return heapq.nsmallest(PAGE, (name for name in linked if name > after))

    def folders(self) -> list[str]:
        page = self._read("", MAX_STORED).decode("utf-8", "replace")
        linked = (unquote(link) for link in _HREF.findall(page))
        folders = {link.strip("/").rpartition("/")[2] for link in linked if link.endswith("/")}
        return sorted(folders - {"", ".."})


def _s3(bucket: str, prefix: str | None, access: Access) -> S3Store:
    config: S3Config = {
        "region": access.region,
        "skip_signature": access.anonymous,
        "request_payer": not access.anonymous,
        "virtual_hosted_style_request": False,
    }
    if access.endpoint:
        config["endpoint"] = access.endpoint
    if access.access_key:
        config["access_key_id"] = access.access_key
        config["secret_access_key"] = access.secret_key
    return S3Store(bucket, prefix=prefix, config=config, **_requests(access))


def _gcs(bucket: str, prefix: str | None, access: Access) -> ObjectStore:
    """With static keys by its S3 interface, otherwise by its own."""
    if access.access_key:
        s3_access = Access(**{**vars(access), "endpoint": access.endpoint or _GOOGLE})
        return _s3(bucket, prefix, s3_access)
    config: GCSConfig = {"skip_signature": access.anonymous}
    if access.endpoint:
        config["base_url"] = access.endpoint
    return GCSStore(bucket, prefix=prefix, config=config, **_requests(access))


class _Requests(TypedDict):
    client_options: "ClientConfig"
    retry_config: "RetryConfig"


def _requests(access: Access) -> _Requests:
    client: ClientConfig = {
        "allow_http": True,
        "connect_timeout": min(_CONNECT_TIMEOUT, timedelta(seconds=access.timeout)),
        "timeout": timedelta(seconds=access.timeout),
    }
    if access.project:
        client["default_headers"] = {"x-goog-user-project": access.project}
    retry: RetryConfig = {
        "max_retries": access.retries,
        "retry_timeout": timedelta(seconds=access.timeout),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=5),
            "base": 2,
        },
    }
    return {"client_options": client, "retry_config": retry}


@contextmanager
def _request_errors(path: str, *, not_found: type[BucketError] = BucketError) -> Iterator[None]:
    """Turn the errors of a request into BucketErrors, `not_found` if there is no such file."""
    try:
        yield
    except FileNotFoundError as error:
        raise not_found(path, "there is no such file") from error
    except (BaseError, OSError, ValueError) as error:
        raise BucketError(path, f"can't be had: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(" .:") if lines else type(error).__name__
