"""The bucket folder of the network, and the state from which the network goes on."""

import os
import pickle
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ledger.stream.record import compose, names
from ledger.stream.record.compose import Block, account_folder
from ledger.stream.signature import node_key
from ledger.stream.signature.node_key import SigningNode
from ledger.stream.source.local import LocalRecordFile

if TYPE_CHECKING:
    # Not imported at run time, as it takes long and only some users need it.
    from mirror.demo.network import Network

# The fastest level of zlib: the state is written with each block.
_COMPRESSION = 1
_VERSION_BYTES = 32


class Publisher:
    """Writes blocks into a bucket folder, and beside them the state from which the network goes on.

    A block counts once the state after it is written; it is published then, or when the network is resumed.
    So the network goes on without a fork in its chain if it is killed or loses power at any moment.
    """

    def __init__(self, folder: Path, nodes: Sequence[SigningNode]) -> None:
        self.folder = folder
        self._state = folder / "network.state"
        self._pending = folder / "pending"
        self._nodes = nodes

    def publish(self, network: "Network", block: Block) -> LocalRecordFile:
        """Publish the next block of the network."""
        block.write(self._pending)
        for path in self._pending.rglob("*.rcd*"):
            _sync(path)
        written = self._state.with_suffix(".new")
        # It is unpickled later: only the node itself may write to the folder.
        kept = zlib.compress(pickle.dumps((network, block.name)), _COMPRESSION)
        written.write_bytes(_version() + kept)
        _sync(written)
        written.replace(self._state)
        _sync(self.folder)
        self._move()
        return self.published(block.name)

    def resume(self) -> "tuple[Network, LocalRecordFile]":
        """Return the network as it was left, and its last block. Errors: LookupError if it can't go on."""
        if not self.goes_on:
            raise LookupError(f"no network of this version was left in {self.folder}")
        network, name = pickle.loads(zlib.decompress(self._state.read_bytes()[_VERSION_BYTES:]))
        for path in self._pending.rglob("*.rcd*"):
            if names.parse(path.name).time != names.parse(name).time:
                path.unlink()
        self._move()
        return network, self.published(name)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the state and of the files up to its block, while others are published.

        Files of a later block are left out: a network that goes on from the state makes another one.
        """
        state = self._state.read_bytes()
        newest = 0
        if state[:_VERSION_BYTES] == _version():
            _, name = pickle.loads(zlib.decompress(state[_VERSION_BYTES:]))
            newest = names.parse(name).instant
        yield self._state.name, state
        # A file that is published meanwhile is found in its new place.
        for folder in (self._pending, self.folder):
            for path in sorted(folder.rglob("*")):
                if path.is_dir() or path.suffix in (".state", ".new"):
                    continue
                if folder == self.folder and path.is_relative_to(self._pending):
                    continue
                if newest and ".rcd" in path.name and names.parse(path.name).instant > newest:
                    continue
                with suppress(FileNotFoundError):
                    yield str(path.relative_to(self.folder)), path.read_bytes()

    @property
    def complete(self) -> bool:
        """Tell whether a network was left here."""
        return self._state.is_file()

    @property
    def goes_on(self) -> bool:
        """Tell whether this version of the program left the network: its World may differ."""
        if not self.complete:
            return False
        with self._state.open("rb") as state:
            return state.read(_VERSION_BYTES) == _version()

    def newest(self) -> str:
        """Return the name of the last published record file; empty if there is none."""
        return max(self._record_files(), default="")

    def forget(self, kept: int) -> None:
        """Remove the files of all blocks but the last `kept`."""
        record_files = sorted(self._record_files())
        for name in record_files[:-kept]:
            time = names.parse(name).time
            for path in self.folder.rglob(f"{time}*"):
                path.unlink()

    def _record_files(self) -> list[str]:
        first = self._folder_of(self._nodes[0])
        return [path.name for path in first.glob("*.rcd.gz")] if first.is_dir() else []

    def published(self, name: str) -> LocalRecordFile:
        """Return the published files of a block."""
        signature = names.signature_name(name)
        folders = {node.node_id: self._folder_of(node) for node in self._nodes}
        first, *others = (LocalRecordFile(name, path / name, node) for node, path in folders.items())
        signatures = {node: path / signature for node, path in folders.items()}
        return replace(first, published=True, signatures=signatures, copies=tuple(others))

    def _folder_of(self, node: SigningNode) -> Path:
        return self.folder / account_folder(node)

    def _move(self) -> None:
        for path in sorted(self._pending.rglob("*.rcd*")):
            target = self.folder / path.relative_to(self._pending)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk: the database may hold the block already."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _version() -> bytes:
    """Return a digest of the modules whose objects the state holds."""
    digest, package = sha256(), Path(__file__).parents[1]
    for path in sorted([*package.rglob("*.py"), Path(compose.__file__), Path(node_key.__file__)]):
        digest.update(path.read_bytes())
    return digest.digest()
