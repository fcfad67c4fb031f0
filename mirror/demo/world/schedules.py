"""Schedules: transactions that wait for signatures, or for their time."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature on a ScheduleCreate or ScheduleSign. `kind` is its field in SignaturePair."""

    consensus_timestamp: int
    prefix: bytes
    signature: bytes
    kind: str


@dataclass(slots=True)
class Schedule:
    """A schedule. `scheduled` is a serialized SchedulableTransactionBody, `admin_key` a serialized Key.

    `required` are the accounts that have to sign, `signed` those that did. It ends at `expires`: with `waits`
    it is executed then. `expiration` is None if the transaction named none. `transaction_id` is the
    serialized id of the transaction that created it. What is `of_contract` is never signed or deleted.
    """

    number: int
    created: int
    creator: int
    payer: int
    memo: str
    admin_key: bytes | None
    scheduled: bytes
    transaction_id: bytes
    expires: int
    required: list[int]
    expiration: int | None = None
    waits: bool = False
    executed: int | None = None
    deleted: bool = False
    expired: bool = False
    of_contract: bool = False
    signed: list[int] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return not (self.executed or self.deleted or self.expired)

    @property
    def missing(self) -> list[int]:
        return [number for number in self.required if number not in self.signed]

    def add_signatures(self, at: int, signature_map: Any) -> None:
        """Add the signatures of a transaction, one for each key."""
        known: set[bytes] = set()
        for pair in signature_map.sigPair:
            if pair.pubKeyPrefix not in known:
                known.add(pair.pubKeyPrefix)
                kind = pair.WhichOneof("signature")
                self.signatures.append(Signature(at, pair.pubKeyPrefix, getattr(pair, kind), kind))
