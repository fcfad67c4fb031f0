"""Downloads from buckets: listings of what nodes have published, and verified record files.

Requests run on a pool of threads, so that a file's signatures arrive together. They are counted as they
arrive, until a quorum has signed: a slow node causes no delay.
"""

import random
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from ledger.stream import record_names
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.quorum import Quorum, Votes, required_for_proofs
from ledger.stream.source import incidents
from ledger.stream.source.bucket import PAGE, Bucket
from ledger.stream.source.stream_file import NodeCopy, VerifiedFile, read_verified
from mirror.core.metrics import ingest
from mirror.core.values import entity_id


class PathType(StrEnum):
    """`recordstreams/record<account>/`, `<network>/<shard>/<node id>/record/`, or the first with files."""

    ACCOUNT_ID = "ACCOUNT_ID"
    NODE_ID = "NODE_ID"
    AUTO = "AUTO"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The folders where nodes publish: by account, and while that is empty by node id every `refresh` s."""

    network: str
    shard: int = 0
    path_type: PathType = PathType.AUTO
    refresh: float = 10

    top_folder: ClassVar = "recordstreams"
    stream_name: ClassVar = "record"

    def account_folder(self, account_id: int) -> str:
        return f"{self.top_folder}/{self.stream_name}{entity_id.text(account_id)}"

    def node_folder(self, node_id: int) -> str:
        return f"{self.network.lower().partition('-')[0]}/{self.shard}/{node_id}/{self.stream_name}"

    def folders(self, node_id: int, account_id: int) -> list[str]:
        """Return the folders where a node's files may be."""
        by_account, by_node = self.account_folder(account_id), self.node_folder(node_id)
        if self.path_type is PathType.ACCOUNT_ID:
            return [by_account]
        return [by_node] if self.path_type is PathType.NODE_ID else [by_account, by_node]


@dataclass(frozen=True)
class Published:
    """A record file that nodes have published: its signature files' name, and each node's folder."""

    name: str
    folders: Mapping[int, str]

    @property
    def instant(self) -> int:
        return record_names.parse(self.name).instant

    @property
    def after(self) -> str:
        return record_names.parse(self.name).after


@dataclass(frozen=True)
class Listing:
    """The published files, in order, and the reason why each of some nodes could not be listed."""

    files: list[Published]
    problems: Mapping[int, str]


class Download:
    """Downloads from a bucket; `concurrency` is the number of requests at once. Close it when done.

    With `for_proofs` it waits for signatures of a third of the nodes, whatever their stakes: state proofs
    need so many.
    """

    def __init__(
        self, bucket: Bucket, layout: Layout, *, sidecars: bool, concurrency: int, for_proofs: bool = False
    ) -> None:
        self.bucket = bucket
        self.layout = layout
        self._sidecars = sidecars
        self._for_proofs = for_proofs
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="download")
        # Nodes that publish by node id, and when the folders of others were last listed (monotonic seconds).
        self._nodes_listed_by_id: set[int] = set()
        self._last_listed: dict[int, float] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def listing(self, quorum: Quorum, after: str) -> Listing:
        """List what the nodes have published after a name, as far as every node's listing reaches."""
        futures = {
            node_id: self._pool.submit(self._list_node, node_id, account, after)
            for node_id, account in quorum.accounts.items()
        }
        folders: dict[str, dict[int, str]] = {}
        problems: dict[int, str] = {}
        complete_until: str | None = None
        for node_id, future in futures.items():
            try:
                folder, listed, is_complete = future.result()
            except StreamFileError as error:
                problems[node_id] = error.cause
                continue
            for name in listed:
                folders.setdefault(name, {})[node_id] = folder
            if not is_complete and listed:
                complete_until = min(complete_until or listed[-1], listed[-1])
        files = [
            Published(name, nodes)
            for name, nodes in sorted(folders.items())
            if complete_until is None or name <= complete_until
        ]
        return Listing(files, problems)

    def _list_node(self, node_id: int, account: int, after: str) -> tuple[str, list[str], bool]:
        """Return the node's folder, names of its signature files, and whether these are all there are."""
        by_account, by_node = self.layout.account_folder(account), self.layout.node_folder(node_id)
        layout = self.layout.path_type
        if layout is PathType.NODE_ID or (layout is PathType.AUTO and node_id in self._nodes_listed_by_id):
            return by_node, *self._signatures(by_node, after)
        listed, is_complete = self._signatures(by_account, after)
        if listed or layout is PathType.ACCOUNT_ID or not self._may_list_by_node_id(node_id):
            return by_account, listed, is_complete
        listed, is_complete = self._signatures(by_node, after)
        if listed:
            with self._lock:
                self._nodes_listed_by_id.add(node_id)
        return by_node, listed, is_complete

    def _may_list_by_node_id(self, node_id: int) -> bool:
        now = time.monotonic()
        with self._lock:
            if now - self._last_listed.get(node_id, -self.layout.refresh) < self.layout.refresh:
                return False
            self._last_listed[node_id] = now
        return True

    def _signatures(self, folder: str, after: str) -> tuple[list[str], bool]:
        listed = self.bucket.names(folder, after)
        return [name for name in listed if self.is_signature(name)], len(listed) < PAGE

    def is_signature(self, name: str) -> bool:
        """Return whether a name is that of a signature file of this stream."""
        return record_names.is_signature(name)

    def fetch(self, published: Published, quorum: Quorum) -> VerifiedFile:
        """Return the file, verified. Errors: StreamFileError, NoQuorum among them."""
        with ingest.stage("download"):
            signed = self._collect_signatures(published, quorum).require()
        copies = [
            self._copy(published.folders[node_id], node_id, signed.data_name) for node_id in signed.signers
        ]
        random.shuffle(copies)
        with ingest.stage("verify"):
            return read_verified(signed, copies, sidecars=self._sidecars)

    def _copy(self, folder: str, node_id: int, name: str) -> NodeCopy:
        def read(path: str) -> bytes:
            with ingest.stage("download"):
                return self.bucket.read(f"{folder}/{path}")

        return NodeCopy(
            name,
            node_id,
            lambda: read(name),
            lambda sidecar: read(f"{record_names.SIDECAR_FOLDER}/{sidecar}"),
        )

    def _collect_signatures(self, published: Published, quorum: Quorum) -> Votes:
        votes = Votes(published.name, quorum)
        futures = {
            self._pool.submit(self.bucket.read, f"{folder}/{published.name}"): node_id
            for node_id, folder in published.folders.items()
        }
        required = required_for_proofs(len(quorum.accounts)) if self._for_proofs else 0
        for future in as_completed(futures):
            node_id = futures[future]
            try:
                with ingest.stage("verify"):
                    votes.add_file(node_id, future.result())
                    if (cause := votes.problem(node_id)) is not None:
                        incidents.note(f"{published.folders[node_id]}: {cause}")
            except StreamFileError as error:
                votes.reject(node_id, error.cause)
            if (outcome := votes.outcome) and len(outcome.signers) >= required:
                break
        for future in futures:
            future.cancel()
        return votes
