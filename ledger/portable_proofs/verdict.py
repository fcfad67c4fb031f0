"""What a proof has shown, and on what that rests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.stream.block_names import BLOCK_VERSION
from ledger.stream.ledger_identity import LedgerIdentity
from mirror.core.values import timestamp


class Trusted(NamedTuple):
    """What a reader of proofs knows of the network from elsewhere, each None if nothing.

    `book` is a serialized address book, `stakes` are those of nodes by id. `ledger` is what the network has
    published of its ledger, and `ledger_id` the id of the ledger alone.
    """

    book: bytes | None = None
    ledger: LedgerIdentity | None = None
    ledger_id: bytes | None = None
    stakes: Mapping[int, int] | None = None


@dataclass(frozen=True)
class Transaction:
    """The transaction that is proved; `position` is its place in an atomic batch, from 0, or None."""

    transaction_id: str
    nonce: int
    scheduled: bool
    consensus_timestamp: int
    type: str
    result: str
    position: int | None = None

    @property
    def label(self) -> str:
        """Which of those with its id it is, in words."""
        nonce = f", nonce {self.nonce}" if self.nonce else ""
        scheduled = ", scheduled" if self.scheduled else ""
        return f"{self.transaction_id}{nonce}{scheduled}"


class Expected(NamedTuple):
    """The transaction that a reader wants proved: by consensus timestamp, or by id with its nonce."""

    name: str
    nonce: int = 0
    scheduled: bool = False

    def matches(self, found: Transaction) -> bool:
        if self.name == timestamp.text(found.consensus_timestamp):
            return True
        return self == (found.transaction_id, found.nonce, found.scheduled)


# Exit codes of commands.
_PROVED, _UNPROVED = 0, 3


@dataclass(frozen=True)
class Verdict:
    """What is proved, by whose signatures, and what it rests on that has not been proved.

    `version` is the format of the file, 7 and more for blocks; `number` and `hash` (hex) are of the block,
    None where the document does not prove them. `signers` says who has signed, `signed` of `total` is their
    weight. `unproved` says why it is not proved that transaction and result belong together, "" if it is.
    """

    version: int
    transaction: Transaction
    number: int | None
    hash: str | None
    signers: str
    signed: int
    total: int
    rests_on: list[str] = field(default_factory=list)
    unproved: str = ""

    @property
    def share(self) -> float:
        return self.signed / self.total

    @property
    def exit_code(self) -> int:
        """The exit code of a command that has come to it; 1 and 2 are those of errors."""
        return _UNPROVED if self.unproved else _PROVED

    def lines(self) -> list[str]:
        proved = self.transaction
        label = f"transaction {proved.label}"
        where = "record file" if self.version < BLOCK_VERSION else "block"
        at = timestamp.text(proved.consensus_timestamp)
        lines = (
            [
                f"Not proved: that {label} ({proved.type}) has the result {proved.result} of {at}. Both are "
                f"in the same block, but {self.unproved}."
            ]
            if self.unproved
            else [
                f"Proved: {label} ({proved.type}) reached consensus at {at} with the result {proved.result}."
            ]
        )
        if proved.position is not None:
            lines.append(f"It is inner transaction {proved.position} of an atomic batch, counted from 0.")
        if self.number is not None:
            lines.append(f"It is in {where} {self.number}" + (f", hash 0x{self.hash}." if self.hash else "."))
        elif self.hash:
            lines.append(f"It is in the {where} with the hash 0x{self.hash}.")
        lines.append(f"Signed by {self.signers}: {100 * self.share:.1f} % of the weight.")
        return lines + [f"This rests on {each}." for each in self.rests_on]

    def json(self) -> dict[str, object]:
        proved = self.transaction
        return {
            "proved": not self.unproved,
            **({"step": "The order of the block", "cause": self.unproved} if self.unproved else {}),
            "transaction_id": proved.transaction_id,
            "nonce": proved.nonce,
            "scheduled": proved.scheduled,
            "consensus_timestamp": timestamp.text(proved.consensus_timestamp),
            "type": proved.type,
            "result": proved.result,
            "batch_position": proved.position,
            "version": self.version,
            "block": self.number,
            "hash": None if self.hash is None else f"0x{self.hash}",
            "signers": self.signers,
            "weight": self.signed,
            "total_weight": self.total,
            "rests_on": self.rests_on,
        }
