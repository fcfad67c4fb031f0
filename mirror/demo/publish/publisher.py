"""The bucket folder of the network, and the state from which the network resumes."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ledger.ingest.hash_chain import Position
from ledger.stream import block_names, ledger_identity, record_names, signature
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import FileOnDisk, LocalRecordFile, find_record_files
from ledger.stream.source.stream_blocks import local_block
from mirror.core import config
from mirror.core.processes.files import fsync, write_atomic
from mirror.core.processes.typed_json import InvalidContent
from mirror.demo.publish.block_folder import BlockFolder
from mirror.demo.streams.record_files import Block, account_folder
from mirror.demo.streams.signing import SigningNode

if TYPE_CHECKING:
    # Not imported at run time, as they take long and only some users need them.
    from mirror.demo.network import Network
    from mirror.demo.streams.block_stream import BlockComposer
    from mirror.demo.streams.state_changes import KnownAccounts

_VERSION_BYTES = 32
# The folder of the network in the bucket, for its blocks.
_BLOCKS = "demo"


class Publisher:
    """Writes blocks into a bucket folder, with the state from which the network resumes.

    They are record files until the network switches to blocks, and native blocks from then on.

    A block counts once the state after it is written; it is published then, or when the network is resumed.
    So the network resumes without a fork in its chain if it is killed or loses power at any time.
    """

    def __init__(self, folder: Path, nodes: Sequence[SigningNode]) -> None:
        self.folder = folder
        # The last file that the database has for certain, None while that is not known.
        self.loaded: Position | None = None
        self._state = folder / "network.state"
        self._pending = folder / "pending"
        self._nodes = nodes
        self._composer: BlockComposer | None = None
        # Those that may be forgotten; looked at anew with each block, which takes longer for a new one.
        self._removable = self.blocks

    @property
    def writes_blocks(self) -> bool:
        """Return whether the network has switched to blocks, once it is resumed."""
        return self._composer is not None

    @property
    def blocks(self) -> BlockFolder:
        return BlockFolder(self.folder / _BLOCKS)

    def publish(self, network: "Network", block: Block, *, then: "BlockComposer | None" = None) -> FileOnDisk:
        """Publish the next block of the network; `then` writes those after this record file, for good."""
        if self._composer is not None:
            path = self._composer.block(block).write(self._pending / _BLOCKS)
            return self._retain(network, block_names.parse(path.as_posix()).name)
        block.write(self._pending)
        self._composer = then
        return self._retain(network, block.name)

    def set_known_accounts(self, accounts: "KnownAccounts") -> None:
        """Let the blocks from now on have these accounts, and those that they open."""
        if self._composer:
            self._composer.set_known_accounts(accounts)

    def _retain(self, network: "Network", name: str) -> FileOnDisk:
        """Save the network as it is after a pending file, and publish that."""
        for path in self._pending_files():
            # Before the state: the database may hold the block as soon as that is there.
            fsync(path)
        # Imported here, as only the process of the network needs it.
        from mirror.demo.publish import state

        write_atomic(self._state, _version() + state.encode(network, name, self._composer))
        self._move()
        return self.published(name)

    def resume(self) -> "tuple[Network, FileOnDisk]":
        """Return the network as it was left, and its last block. Errors: LookupError if it can't go on."""
        if not self.is_resumable:
            raise LookupError(f"no network of this version was left in {self.folder}")
        network, name, self._composer = self._decoded(self._state.read_bytes())
        for path in self._pending_files():
            if _target_path(path) != _target_path(Path(name)):
                path.unlink()
        self._move()
        return network, self.published(name)

    def _decoded(self, stored: bytes) -> "tuple[Network, str, BlockComposer | None]":
        """Return the network, the name of its last file, and what writes its blocks if it does.

        Errors: LookupError.
        """
        # Imported here, as only the process of the network needs it.
        from mirror.demo.publish import state

        try:
            network, name, composer = state.decode(stored[_VERSION_BYTES:], self._nodes)
            if Path(name).name != name:
                raise InvalidContent(f"{name} is no name of a file")
            _target_path(Path(name))
        except (InvalidContent, StreamFileError) as error:
            raise LookupError(f"the state in {self.folder} is damaged: {error}") from error
        return network, name, composer

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the state and of the files up to its block, while others are published.

        Files of a later block are left out: a network that resumes from the state makes another one.
        """
        state = self._state.read_bytes()
        newest: _Place | None = None
        if state[:_VERSION_BYTES] == _version():
            with suppress(LookupError):
                newest = _target_path(Path(self._decoded(state)[1]))
        yield self._state.name, state
        # A file that is published meanwhile is found in its new place.
        for folder in (self._pending, self.folder):
            for path in sorted(folder.rglob("*")):
                if path.is_dir() or path.suffix in (".state", ".part"):
                    continue
                if folder == self.folder and path.is_relative_to(self._pending):
                    continue
                if newest and _is_published(path) and _target_path(path) > newest:
                    continue
                with suppress(FileNotFoundError):
                    yield str(path.relative_to(self.folder)), path.read_bytes()

    @property
    def complete(self) -> bool:
        return self._state.is_file()

    @property
    def is_resumable(self) -> bool:
        """Return whether this version of the program left the network: the World of others may differ."""
        if not self.complete:
            return False
        with self._state.open("rb") as state:
            return state.read(_VERSION_BYTES) == _version()

    def newest(self) -> str:
        """Return the name of the last published file; empty if there is none."""
        blocks = self.blocks
        if blocks:
            return local_block(blocks.path(max(blocks))).name
        return max(self._record_files(), default="")

    def is_loaded(self, stored: Position) -> bool:
        """Return whether all that is published is loaded, if `stored` is the last loaded file."""
        newest = self.newest()
        if not newest or not block_names.is_block(newest):
            return newest <= stored.name
        return block_names.parse(newest).number <= stored.index

    def all_published(self) -> list[FileOnDisk]:
        """Return the published files in order; the network may go on without a pending one."""
        newest = self.newest()
        files = find_record_files([self.folder]) if newest else []
        return [file for file in files if _target_path(file.path) <= _target_path(Path(newest))]

    def delete_loaded(self, retained: int) -> None:
        """Remove the files of loaded blocks but for the last `retained`: other ones are nowhere else."""
        loaded = self.loaded
        if loaded is None:
            return
        self._removable.refresh()
        self._removable.delete_files(retained, loaded.index)
        record_files = sorted(self._record_files())
        for name in record_files[: max(0, len(record_files) + len(self._removable) - retained)]:
            parsed = record_names.parse(name)
            if parsed.instant > loaded.consensus_end:
                return
            for path in self.folder.rglob(f"{parsed.time}*"):
                path.unlink()

    def _record_files(self) -> list[str]:
        first = self._folder_of(self._nodes[0])
        return [path.name for path in first.glob("*.rcd.gz")] if first.is_dir() else []

    def published(self, name: str) -> FileOnDisk:
        if block_names.is_block(name):
            return local_block(self.blocks.path(block_names.parse(name).number))
        signature = record_names.signature_name(name)
        folders = {node.node_id: self._folder_of(node) for node in self._nodes}
        first, *others = (LocalRecordFile(name, path / name, node) for node, path in folders.items())
        signatures = {node: path / signature for node, path in folders.items()}
        return replace(first, published=True, signatures=signatures, copies=tuple(others))

    def _folder_of(self, node: SigningNode) -> Path:
        return self.folder / account_folder(node)

    def _pending_files(self) -> list[Path]:
        return sorted(filter(_is_published, self._pending.rglob("*")))

    def _move(self) -> None:
        for path in self._pending_files():
            target = self.folder / path.relative_to(self._pending)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


# Whether a file is a block, and its number or time: files in this order follow each other.
_Place = tuple[bool, int]


def _is_published(path: Path) -> bool:
    """Return whether a file is one of the stream, by its name."""
    return ".rcd" in path.name or block_names.is_block(path.name)


def _target_path(path: Path) -> _Place:
    if block_names.is_block(path.name):
        return True, block_names.parse(path.as_posix()).number
    return False, record_names.parse(path.name).instant


def _version() -> bytes:
    """Return a digest of what the state depends on: modules, shard and realm."""
    return _digest(*config.shard_and_realm())


@cache
def _digest(shard: int, realm: int) -> bytes:
    """Return a digest of the modules whose objects the state holds, and of its shard and realm."""
    digest = sha256(f"{shard}.{realm}".encode() if shard or realm else b"")
    for path in modules():
        digest.update(path.read_bytes())
    return digest.digest()


def modules() -> list[Path]:
    """Return the files of the modules that a state depends on."""
    own = Path(__file__).parents[1].rglob("*.py")
    # The signer refers to these.
    signatures = Path(signature.__file__ or "").parent.glob("*.py")
    return sorted([*own, *signatures, Path(ledger_identity.__file__)])
