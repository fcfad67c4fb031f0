"""What a network has published of its ledger, by which its blocks are verified (HIP-1200).

It comes from a transaction of the stream itself (LedgerIdPublication), from the tables that such a
transaction has filled, or from a file that the operator names: for a node that has not loaded any of these.
"""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any, Final, NamedTuple

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError, LedgerIdPublicationTransactionBody

ID_LENGTH: Final = 32
FIRST_LEDGER = "importer.block.initialLedgerIdPublication"


class WrongSignature(Exception):
    """A signature, its key or its proof proves nothing; the message says why."""


class NoPublication(ValueError):
    """What should be a published ledger is none; the message says why, as the end of a sentence."""


class Contributor(NamedTuple):
    """A node of the ledger's first address book: number, weight, and its key for proofs of the history."""

    node_id: int
    weight: int
    key: bytes


class LedgerIdentity(NamedTuple):
    """The id of a ledger, the key for proofs of its history (WRAPS), and its first nodes."""

    ledger_id: bytes
    proof_key: bytes
    contributors: tuple[Contributor, ...]


def identity_from_publication(body: Any) -> LedgerIdentity:
    nodes = body.node_contributions
    contributors = (Contributor(each.node_id, each.weight, each.history_proof_key) for each in nodes)
    return LedgerIdentity(body.ledger_id, body.history_proof_verification_key, tuple(contributors))


def identity_from_row(ledger_id: bytes, proof_key: bytes, contributors: Any) -> LedgerIdentity:
    """Return the identity in a row of the table `ledger`, whose JSON may be text."""
    nodes = json.loads(contributors) if isinstance(contributors, str) else contributors
    contributors = (
        Contributor(node["node_id"], node["weight"], b64decode(node["history_proof_key"])) for node in nodes
    )
    return LedgerIdentity(bytes(ledger_id), bytes(proof_key), tuple(contributors))


def read_publication(data: bytes) -> LedgerIdentity:
    """Return the identity in a serialized LedgerIdPublicationTransactionBody. Errors: NoPublication."""
    try:
        body = messages.parse(LedgerIdPublicationTransactionBody, data)
    except DecodeError as error:
        raise NoPublication("is no LedgerIdPublicationTransactionBody") from error
    if len(body.ledger_id) != ID_LENGTH:
        raise NoPublication(f"has a ledger id of {len(body.ledger_id)} bytes, not {ID_LENGTH}")
    return identity_from_publication(body)


def named_ledger() -> LedgerIdentity | None:
    """Return the ledger in the file that the operator names. Errors: OperatorError."""
    path = config.value(FIRST_LEDGER)
    if not path:
        return None
    variable = config.lookup(FIRST_LEDGER).variable
    try:
        return read_publication(Path(path).read_bytes())
    except OSError as error:
        raise OperatorError(f"{variable}: the file {path} can't be read: {error.strerror}.") from error
    except NoPublication as error:
        raise OperatorError(f"{variable}: {path} {error}.") from error


def publication(ledger: LedgerIdentity) -> bytes:
    """Return the serialized LedgerIdPublicationTransactionBody that `read_publication` reads."""
    body = LedgerIdPublicationTransactionBody(
        ledger_id=ledger.ledger_id,
        history_proof_verification_key=ledger.proof_key,
        node_contributions=[
            {"node_id": each.node_id, "weight": each.weight, "history_proof_key": each.key}
            for each in ledger.contributors
        ],
    )
    serialized: bytes = body.SerializeToString()
    return serialized
