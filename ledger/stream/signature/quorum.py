"""Quorums: enough of the network's stake signed the same hashes of a file.

Enough is more than a share of the stake, one third by default: then at least one of the signers is honest.
The rule is the same for record files and for blocks that wrap one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from ledger.stream.balance_file import BalanceFile
from ledger.stream.errors import NoTrustedSigners, StreamFileError, damaged
from ledger.stream.ledger_identity import LedgerIdentity
from ledger.stream.record_file import RecordFile
from ledger.stream.signature.address_book import BUNDLED, AddressBookNode, read_address_book
from ledger.stream.signature.signature_file import SignatureFile, read_signature_file
from mirror.core import config
from mirror.core.metrics import ingest

NO_SIGNATURE = "no signature file"
NOT_IN_ADDRESS_BOOK = "not in the address book"
_MAX_BOOKS_NAMED = 3


def required_for_proofs(nodes: int) -> int:
    """Return how many of so many nodes have to sign for a state proof: a third, whatever their stakes."""
    return -(-nodes // 3)


class ConsensusMode(StrEnum):
    """The weight of a node's vote: its stake, of the address book's nodes or of all nodes; or one each."""

    STAKE_IN_ADDRESS_BOOK = "STAKE_IN_ADDRESS_BOOK"
    STAKE = "STAKE"
    EQUAL = "EQUAL"


@dataclass(frozen=True)
class Quorum:
    """The nodes whose signatures count, and the stake that has to sign.

    Accounts (encoded), keys and stakes are by node id. Stakes are tinybars, or one per node when `counted`.
    Without an address book there are no nodes: then only threshold signatures can be verified.
    """

    accounts: Mapping[int, int]
    keys: Mapping[int, str]
    stakes: Mapping[int, int]
    counted: bool
    total_stake: int
    required_stake: int
    # By what blocks are verified; None as long as the network has published nothing.
    ledger: LedgerIdentity | None = None
    # Whether the first block of the network is verified by the ledger that it publishes itself.
    first_block_trusted: bool = False

    @classmethod
    def from_address_book(
        cls,
        nodes: Iterable[AddressBookNode],
        stakes: Mapping[int, int],
        mode: ConsensusMode,
        ratio: Fraction,
        ledger: LedgerIdentity | None = None,
        *,
        first_block_trusted: bool = False,
    ) -> "Quorum":
        """Return the quorum of a book, more than `ratio` of the stakes by node id (none: one each)."""
        nodes = list(nodes)
        accounts = {node.node_id: node.account_id for node in nodes}
        keys = {node.node_id: node.public_key for node in nodes}
        in_book = mode is ConsensusMode.STAKE_IN_ADDRESS_BOOK
        counted = mode is ConsensusMode.EQUAL
        if counted:
            stakes = dict.fromkeys(stakes, 1)
        total = sum(stake for node, stake in stakes.items() if node in keys or not in_book)
        if not total:
            total = len(stakes) if stakes and not in_book else len(keys)
            stakes, counted = dict.fromkeys(keys, 1), True
        required = min(total, int(total * ratio) + 1)
        return cls(accounts, keys, stakes, counted, total, required, ledger, first_block_trusted)

    def require_nodes(self, file: str) -> None:
        """Require that nodes are known who can have signed a file. Errors: NoAddressBook."""
        if not self.keys:
            raise NoAddressBook(
                file,
                0,
                f"no address book of the network {config.value('network')} is known, so no signature can be "
                "verified",
                "Name its first one by importer.initialAddressBook, or load without verifying by "
                "--without-signatures.",
            )


# Returns the quorum at a time (ns).
QuorumAt = Callable[[int], Quorum]


class NoAddressBook(NoTrustedSigners):
    """No address book of the network is known."""


class NoQuorum(StreamFileError):
    """Too little stake signed the same hashes of a file.

    `signed` are the nodes that did, with `stake` of the `required` one. `others` says of every other node
    what is wrong with its signature.
    """

    kind = ingest.SIGNATURES

    def __init__(
        self, file: str, signed: tuple[int, ...], stake: int, quorum: Quorum, others: Mapping[int, str]
    ) -> None:
        self.signed, self.stake, self.required = signed, stake, quorum.required_stake
        self.others, self.quorum = others, quorum
        missing = by_reason(others)
        super().__init__(
            file,
            0,
            f"no consensus: {_signed_by(signed, stake, quorum)}" + (f"; {missing}" if missing else ""),
            "More nodes may publish their signatures soon; if not, name the network's address book by "
            "importer.initialAddressBook.",
        )


@dataclass(frozen=True)
class SignedHashes:
    """The hashes that a quorum signed (hex), its signers, and signature files by their accounts."""

    data_name: str
    file_hash: str
    metadata_hash: str | None
    signers: tuple[int, ...]
    files: Mapping[int, bytes] = field(default_factory=dict, compare=False, repr=False)

    def check(self, file: RecordFile | BalanceFile) -> None:
        """Errors: StreamFileError when the file is not the one that was signed."""
        for name, actual, signed in (
            ("file hash", file.file_hash, self.file_hash),
            ("metadata hash", file.metadata_hash, self.metadata_hash),
        ):
            if actual != signed:
                raise damaged(
                    file.name,
                    f"its {name} is {_short(actual)}, but {_nodes(self.signers)} signed {_short(signed)}",
                )


class Votes:
    """The signatures of one file, counted as they arrive; `missing` is the reason of nodes without one."""

    def __init__(self, name: str, quorum: Quorum, *, missing: str = NO_SIGNATURE) -> None:
        self.name = name
        self._quorum = quorum
        self._missing = missing
        self._votes: dict[tuple[bytes, bytes | None], dict[int, SignatureFile]] = {}
        self._refused: dict[int, str] = {}
        self._files: dict[int, bytes] = {}
        self._signatures: dict[int, SignatureFile] = {}

    def add_file(self, node_id: int, data: bytes) -> None:
        """Count the signature file `data` that a node published."""
        try:
            signature = read_signature_file(self.name, data)
        except StreamFileError as error:
            known = node_id in self._quorum.keys
            self.reject(node_id, error.cause if known else NOT_IN_ADDRESS_BOOK)
        else:
            self._files[node_id] = data
            self.add(node_id, signature)

    def add(self, node_id: int, signature: SignatureFile) -> None:
        """Count a node's signature if it is by the node's key."""
        self._signatures[node_id] = signature
        key = self._quorum.keys.get(node_id)
        if key is None:
            self.reject(node_id, NOT_IN_ADDRESS_BOOK)
        elif not signature.is_signed_by(key):
            self.reject(node_id, "a signature that is not by its key")
        else:
            hashes = signature.file_hash, signature.metadata_hash
            self._votes.setdefault(hashes, {})[node_id] = signature

    def reject(self, node_id: int, reason: str) -> None:
        """Note why a node's signature does not count."""
        self._refused[node_id] = reason

    def problem(self, node_id: int) -> str | None:
        """Return why a node's signature does not count, None if it does."""
        return self._refused.get(node_id)

    @property
    def outcome(self) -> SignedHashes | None:
        """The hashes with the most stake, once that is enough."""
        signers, stake, signature = self._leading_hash()
        if signature is None or stake < self._quorum.required_stake:
            return None
        return SignedHashes(
            signature.data_name,
            signature.file_hash.hex(),
            signature.metadata_hash.hex() if signature.metadata_hash else None,
            signers,
            {self._quorum.accounts[node]: self._files[node] for node in signers if node in self._files},
        )

    def require(self) -> SignedHashes:
        """Return the outcome. Errors: NoQuorum, NoAddressBook."""
        self._quorum.require_nodes(self.name)
        outcome = self.outcome
        if outcome:
            return outcome
        signers, stake, _ = self._leading_hash()
        others = {node: self._refused.get(node, self._missing) for node in self._quorum.keys}
        for votes in self._votes.values():
            others.update(dict.fromkeys(votes, "signed other hashes"))
        others.update(self._refused)
        others = {node: reason for node, reason in others.items() if node not in signers}
        error = NoQuorum(self.name, signers, stake, self._quorum, others)
        if nearest := _nearest_books(self._signatures, len(signers)):
            error.cure = (
                "Name the network's address book by importer.initialAddressBook, which counts until a file "
                f"is loaded. Those that come with the program and are nearest: {nearest}."
            )
        raise error

    def _leading_hash(self) -> tuple[tuple[int, ...], int, SignatureFile | None]:
        """Return the signers of the hashes with the most stake, that stake, and one of their signatures."""
        best: tuple[tuple[int, ...], int, SignatureFile | None] = (), 0, None
        for votes in self._votes.values():
            stake = sum(self._quorum.stakes.get(node, 0) for node in votes)
            if best[2] is None or stake > best[1]:
                best = tuple(sorted(votes)), stake, next(iter(votes.values()))
        return best


def _nearest_books(signatures: Mapping[int, SignatureFile], known: int) -> str:
    """Return the bundled address books that have most of a file's signers, each more than those `known`."""
    signers: dict[Path, int] = {}
    for path in BUNDLED:
        keys = {node.node_id: node.public_key for node in read_address_book(path.name, path.read_bytes())}
        by_key = [node for node in signatures.keys() & keys if signatures[node].is_signed_by(keys[node])]
        if len(by_key) > known:
            signers[path] = len(by_key)
    nearest = sorted(signers, key=lambda path: -signers[path])[:_MAX_BOOKS_NAMED]
    return ", ".join(f"{path} ({signers[path]} of {len(signatures)} signers)" for path in nearest)


def by_reason(reasons: Mapping[int, str]) -> str:
    """Say what is wrong with each node's file; nodes that share a reason are listed together."""
    nodes: dict[str, list[int]] = {}
    for node, reason in reasons.items():
        nodes.setdefault(reason, []).append(node)
    return "; ".join(f"{_nodes(shared)}: {reason}" for reason, shared in nodes.items())


def _signed_by(nodes: Sequence[int], stake: int, quorum: Quorum) -> str:
    """Say how many signed and how many have to: "signed by 1 of 4 nodes (node 3); 2 needed"."""
    signers = f" ({_nodes(nodes)})" if nodes else ""
    total, required = quorum.total_stake, quorum.required_stake
    if quorum.counted:
        return f"signed by {stake} of {total} nodes{signers}; {required} needed"
    needed = "all of it" if required == total else f"more than {100 * (required - 1) / total:.1f} %"
    return (
        f"signed by {len(nodes)} of {len(quorum.keys)} nodes{signers} with {100 * stake / total:.1f} % "
        f"of the stake; {needed} needed"
    )


def _nodes(nodes: Iterable[int]) -> str:
    listed = list(nodes)
    return ("node " if len(listed) == 1 else "nodes ") + ", ".join(map(str, listed))


def _short(digest: str | None) -> str:
    return f"{digest[:16]}…" if digest else "none"
