"""`manage.py prove`: write a proof of a transaction that people can take away."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ledger.portable_proofs.strict_json import NotProved
from ledger.portable_proofs.verdict import Expected, Trusted
from ledger.portable_proofs.verification import verify
from ledger.queries import state_proofs as queries
from ledger.state_proofs import NoProof, NotFetched, state_proof
from ledger.state_proofs.state_proof import TransactionLocation
from ledger.stream import ledger_identity
from mirror.core.values import timestamp, transaction_id
from mirror.core.values.entity_id import InvalidEntityId
from mirror.core.values.timestamp import InvalidTimestamp
from mirror.core.values.transaction_id import InvalidTransactionId
from mirror.management.command import NodeCommand, UsageError, argument

_TIME = r"\d+(\.\d{1,9})?"


class Command(NodeCommand):
    database = "existing"
    help = (
        "Write a proof of a transaction to a file. It says what happened and that the network has agreed on "
        "it, and anybody can check it by `manage.py verify-proof`, without this node or any other. Nothing "
        "is changed. The files of the transaction have to be there: kept by this node, or where it loads "
        "from. The exit code is 0 if the file proves the transaction, and 3 if it proves that the "
        "transaction is in a block, but not which result of that block it has."
    )
    when = "Use it when somebody has to believe in a transaction who does not want to believe this node."
    examples = (
        ("prove 0.0.1001-1700000000-000000001", "By its transaction id."),
        (
            "prove 0.0.1001@1700000000.000000001 --nonce 1 --out child.json",
            "A child, into a file of that name.",
        ),
        ("prove 1700000003.000000001", "By its consensus timestamp, also if it failed."),
    )
    arguments = (
        argument("id ID|TIME", "a transaction id, or a consensus timestamp"),
        argument("--out FILE", "the file to write (default: proof-TIME.json)"),
        argument(
            "--publication FILE",
            "also write what the network has published of its ledger, for `verify-proof --ledger`",
        ),
        argument("--nonce", "the nonce of a child (default: 0)", type=int, default=0),
        argument("--scheduled", "the execution of a schedule, not what a client sent"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        location = _find(options["id"], options["nonce"], options["scheduled"])
        at = timestamp.text(location.consensus_timestamp)
        try:
            document = _document(location)
        except NoProof as error:
            details = f": {error.details}" if isinstance(error, NotFetched) and error.details else ""
            raise CommandError(f"{str(error).rstrip('.')}{details}.") from error
        ledger = queries.published_ledger()
        trusted = Trusted(ledger=ledger) if location.file.is_block else Trusted()
        expected = _expected(options["id"], options["nonce"], options["scheduled"])
        try:
            # What the database says has to be what the files say.
            found = verify(_written({**document, "consensus_timestamp": at}), trusted, expected)
            named = {"transaction_id": found.transaction.transaction_id}
            written = _written({**document, "consensus_timestamp": at, **named})
            verdict = verify(written, trusted)
        except NotProved as error:
            raise CommandError(f"The files of the transaction do not prove it. {error}") from error
        path = options["out"] or Path(f"proof-{at}.json")
        _write(path, written)
        for line in verdict.lines():
            self.echo(line)
        self.echo(f"The proof is in {path} ({len(written):,} bytes).")
        if options["publication"]:
            if ledger is None:
                raise CommandError("The network has published no ledger yet, so there is none to write.")
            _write(options["publication"], ledger_identity.publication(ledger))
            self.echo(f"What the network has published of its ledger is in {options['publication']}.")
        if verdict.exit_code:
            raise SystemExit(verdict.exit_code)


def _document(location: TransactionLocation) -> Mapping[str, object]:
    """Return the proof, of a block that only block nodes have as well. Errors: NoProof."""
    try:
        return state_proof.document(location)
    except NotFetched:
        file = location.file
        if not file.block_hash:
            raise
        # The client of block nodes takes long to import.
        from ledger.ingest.following.configured_blocks import fetch_block

        block = fetch_block(file.number, file.block_hash)
        if block is None:
            raise
        return state_proof.document(location._replace(file=file._replace(content=block)))


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CommandError(f"The file {path} can't be written: {error.strerror}.") from error


def _written(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, indent=1).encode()


def _find(text: str, nonce: int, scheduled: bool) -> TransactionLocation:
    """Return the place of a transaction. Errors: CommandError."""
    try:
        if re.fullmatch(_TIME, text, re.ASCII):
            at = timestamp.parse(text)
        else:
            payer, valid_start = transaction_id.parse(transaction_id.with_dashes(text))
            at = _time_of(text, payer, valid_start, nonce, scheduled)
        return state_proof.at_time(at)
    except (InvalidTransactionId, InvalidTimestamp, InvalidEntityId) as error:
        raise UsageError(
            f"{text!r} is neither a transaction id, such as 0.0.1001-1700000000-000000001, nor a consensus "
            "timestamp, such as 1700000003.000000001."
        ) from error
    except NoProof as error:
        raise CommandError(
            f"This node has no block with {text}: it was not loaded yet, or dropped again."
        ) from error


def _time_of(text: str, payer: int, valid_start: int, nonce: int, scheduled: bool) -> int:
    """Return when the transaction of an id reached consensus: the successful one, else the only one."""
    at = queries.successful_transaction(payer, valid_start, nonce, scheduled)
    if at is not None:
        return at
    times = queries.transactions(payer, valid_start, nonce, scheduled)
    if not times:
        which = f", nonce {nonce}" if nonce else ""
        raise CommandError(
            f"This node has no transaction {text}{which}{', scheduled' if scheduled else ''}: it never was, "
            "was not loaded yet, or dropped again."
        )
    if len(times) > 1:
        listed = ", ".join(timestamp.text(each) for each in times)
        raise CommandError(
            f"No transaction {text} was successful. Name one that was not by its consensus timestamp: "
            f"{listed}."
        )
    return times[0]


def _expected(text: str, nonce: int, scheduled: bool) -> Expected | None:
    """Return the transaction of an id, as documents have it; None for a consensus timestamp."""
    if re.fullmatch(_TIME, text, re.ASCII):
        return None
    named = transaction_id.parse(transaction_id.with_dashes(text))
    return Expected(transaction_id.text(*named), nonce, scheduled)
