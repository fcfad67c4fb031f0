"""Consensus on a stream file: nodes with enough of the network's stake signed the same hashes.

Enough is more than a share of the stake, one third by default: then at least one of the signers is honest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from ledger.stream.signature.address_book import AddressBookNode
from ledger.stream.signature.signature_file import SignatureFile, read_signature_file

NO_SIGNATURE = "no signature file"


class ConsensusMode(StrEnum):
    """What a node's word weighs: its stake, of the nodes of the address book or of all that have stake; or
    one each.
    """

    STAKE_IN_ADDRESS_BOOK = "STAKE_IN_ADDRESS_BOOK"
    STAKE = "STAKE"
    EQUAL = "EQUAL"


@dataclass(frozen=True)
class Electorate:
    """The nodes whose signatures count: account (encoded), key and stake by node id.

    Stakes are tinybars, or one per node when `counted`.
    """

    accounts: Mapping[int, int]
    keys: Mapping[int, str]
    stakes: Mapping[int, int]
    counted: bool
    total_stake: int
    required_stake: int


def electorate(
    nodes: Iterable[AddressBookNode], stakes: Mapping[int, int], mode: ConsensusMode, ratio: Fraction
) -> Electorate:
    """The electorate of an address book, with the latest known stakes by node id (none: one per node).

    What is required is more than `ratio` of the total: with 0 the signature of one node, with 1 those of
    all.
    """
    nodes = list(nodes)
    accounts = {node.node_id: node.account_id for node in nodes}
    keys = {node.node_id: node.public_key for node in nodes}
    counted = mode is ConsensusMode.EQUAL
    if mode is ConsensusMode.EQUAL:
        stakes = dict.fromkeys(stakes, 1)
    total = sum(
        stake
        for node, stake in stakes.items()
        if node in keys or mode is not ConsensusMode.STAKE_IN_ADDRESS_BOOK
    )
    if not total:
        total = len(stakes) if stakes and mode is not ConsensusMode.STAKE_IN_ADDRESS_BOOK else len(keys)
        stakes, counted = dict.fromkeys(keys, 1), True
    return Electorate(accounts, keys, stakes, counted, total, min(total, int(total * ratio) + 1))


class NoConsensus(StreamFileError):
    """Too little stake signed the same hashes of a file.

    `signed` are the nodes that did, with `stake` of the `required` one; `others` tells of every other node
    of the address book what is wrong with its signature.
    """

    def __init__(
        self,
        file: str,
        signed: tuple[int, ...],
        stake: int,
        electorate: Electorate,
        others: Mapping[int, str],
    ) -> None:
        self.signed, self.stake, self.required = signed, stake, electorate.required_stake
        self.others, self.electorate = others, electorate
        lacking = by_reason(others)
        super().__init__(
            file,
            0,
            f"no consensus: {_signed_by(signed, stake, electorate)}" + (f"; {lacking}" if lacking else ""),
            "More nodes may publish their signatures soon; if not, see that the address book is that of the "
            "network.",
        )


@dataclass(frozen=True)
class Agreement:
    """What the majority signed: hashes as lower-case hex (no metadata hash before format 5), and by whom."""

    data_name: str
    file_hash: str
    metadata_hash: str | None
    nodes: tuple[int, ...]

    def check(self, file: RecordFile) -> None:
        """Errors: StreamFileError when the file is not the one that was signed."""
        for what, given, signed in (
            ("file hash", file.file_hash, self.file_hash),
            ("metadata hash", file.metadata_hash, self.metadata_hash),
        ):
            if given != signed:
                raise StreamFileError(
                    file.name,
                    0,
                    f"its {what} is {_short(given)}, but {_nodes(self.nodes)} signed {_short(signed)}",
                    "Fetch it again, or from another node.",
                )


class Ballot:
    """The signatures of one file, counted as they arrive; `name` is that of the signature files."""

    def __init__(self, name: str, electorate: Electorate) -> None:
        self.name = name
        self._electorate = electorate
        self._votes: dict[tuple[bytes, bytes | None], dict[int, SignatureFile]] = {}
        self._refused: dict[int, str] = {}

    def count(self, node_id: int, data: bytes) -> None:
        """Count the signature file a node published."""
        key = self._electorate.keys.get(node_id)
        if key is None:
            self._refused[node_id] = "not in the address book"
            return
        try:
            signature = read_signature_file(self.name, data)
        except StreamFileError as error:
            self.refuse(node_id, error.cause)
            return
        if not signature.is_signed_by(key):
            self.refuse(node_id, "a signature that is not by its key")
            return
        digests = signature.file_hash, signature.metadata_hash
        self._votes.setdefault(digests, {})[node_id] = signature

    def refuse(self, node_id: int, reason: str) -> None:
        """Note why a node's signature does not count."""
        self._refused[node_id] = reason

    @property
    def agreement(self) -> Agreement | None:
        """The hashes with the most stake, once that is enough."""
        nodes, stake, signature = self._leading()
        if signature is None or stake < self._electorate.required_stake:
            return None
        return Agreement(
            signature.data_name,
            signature.file_hash.hex(),
            signature.metadata_hash.hex() if signature.metadata_hash else None,
            nodes,
        )

    def require(self) -> Agreement:
        """The agreement. Errors: NoConsensus."""
        agreement = self.agreement
        if agreement:
            return agreement
        nodes, stake, _ = self._leading()
        others = {
            node: self._refused.get(node, NO_SIGNATURE) for node in self._electorate.keys if node not in nodes
        }
        for votes in self._votes.values():
            others.update({node: "signed other hashes" for node in votes if node not in nodes})
        others.update({node: reason for node, reason in self._refused.items() if node not in nodes})
        raise NoConsensus(self.name, nodes, stake, self._electorate, others)

    def _leading(self) -> tuple[tuple[int, ...], int, SignatureFile | None]:
        """The nodes of the hashes with the most stake, that stake, and one of their signature files."""
        best: tuple[tuple[int, ...], int, SignatureFile | None] = (), 0, None
        for votes in self._votes.values():
            stake = sum(self._electorate.stakes.get(node, 0) for node in votes)
            if best[2] is None or stake > best[1]:
                best = tuple(sorted(votes)), stake, next(iter(votes.values()))
        return best


def by_reason(reasons: Mapping[int, str]) -> str:
    """What is wrong with each node's file, a reason that several nodes share told once."""
    nodes: dict[str, list[int]] = {}
    for node, reason in reasons.items():
        nodes.setdefault(reason, []).append(node)
    return "; ".join(f"{_nodes(shared)}: {reason}" for reason, shared in nodes.items())


def _signed_by(nodes: Sequence[int], stake: int, electorate: Electorate) -> str:
    """How many signed and how many have to: "signed by 1 of 4 nodes (node 3); 2 needed"."""
    which = f" ({_nodes(nodes)})" if nodes else ""
    if electorate.counted:
        return (
            f"signed by {stake} of {electorate.total_stake} nodes{which}; {electorate.required_stake} needed"
        )
    total, required = electorate.total_stake, electorate.required_stake
    needed = "all of it" if required == total else f"more than {100 * (required - 1) / total:.1f} %"
    return (
        f"signed by {len(nodes)} of {len(electorate.keys)} nodes{which} with {100 * stake / total:.1f} % "
        f"of the stake; {needed} needed"
    )


def _nodes(nodes: Iterable[int]) -> str:
    listed = list(nodes)
    return ("node " if len(listed) == 1 else "nodes ") + ", ".join(map(str, listed))


def _short(digest: str | None) -> str:
    return f"{digest[:16]}…" if digest else "none"
