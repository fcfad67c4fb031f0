"""`manage.py verify-proof`: check a proof of a transaction by what one knows of the network."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from mirror.management.command import NodeCommand, UsageError, argument


class Command(NodeCommand):
    help = (
        "Check a proof of a transaction, such as `manage.py prove` writes. It needs no database and no "
        "network, only what you know of the network from elsewhere: an address book for record files, the id "
        "or the publication of the ledger for blocks. The exit code is 0 if the transaction is proved, and 1 "
        "if not; then one sentence says which step of the proof fails. It is 3 if the transaction is proved "
        "to be in a block, but not which result of that block it has."
    )
    when = (
        "Use it when somebody gives you a proof. Without anything that you know it checks the proof by what "
        "is in the document itself, and says so."
    )
    examples = (
        ("verify-proof proof.json --address-book book.bin", "A transaction in a record file."),
        ("verify-proof proof.json --ledger-id a85f…d1d0", "A transaction in a block; the id has 64 digits."),
        ("verify-proof proof.json --ledger publication.bin --json", "The same, as JSON for a program."),
    )
    arguments = (
        argument("proof FILE", "the proof, as JSON"),
        argument("--address-book FILE", "a serialized NodeAddressBook, the content of file 0.0.102 at the "
                 "time of the transaction"),
        argument("--stakes FILE", "an answer of /api/v1/network/nodes: signatures of record files then count "
                 "by stake. All nodes of the address book have to be in it; it may be given once for each "
                 "page", action="append"),
        argument("--ledger FILE", "a serialized LedgerIdPublicationTransactionBody: how the network has "
                 "published its ledger"),
        argument("--ledger-id HEX", "the id of the ledger; enough where its key is the one that networks "
                 "have by default"),
        argument("--id ID|TIME", "the transaction that has to be proved: its id, or its consensus timestamp"),
        argument("--nonce", "with --id: the nonce of a child (default: 0)", type=int, default=0),
        argument("--scheduled", "with --id: the execution of a schedule, not what set it"),
        argument("--json", "print what is proved as JSON"),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        from ledger.portable_proofs.strict_json import NotProved, printable
        from ledger.portable_proofs.verdict import Trusted
        from ledger.portable_proofs.verification import verify

        expected = _expected(options["id"], options["nonce"], options["scheduled"])
        book, ledger, stakes = options["address_book"], options["ledger"], options["stakes"]
        trusted = Trusted(
            book=_read(book) if book else None,
            ledger=_publication(ledger) if ledger else None,
            ledger_id=_ledger_id(options["ledger_id"]) if options["ledger_id"] else None,
            stakes=_stakes(stakes) if stakes else None,
        )
        try:
            verdict = verify(_read(options["proof"]), trusted, expected)
        except NotProved as refused:
            if options["json"]:
                self.echo(json.dumps({"proved": False, "step": refused.step, "cause": refused.cause}))
            raise CommandError(str(refused), returncode=1) from None
        if options["json"]:
            self.echo(json.dumps(verdict.json(), indent=2))
        else:
            for line in verdict.lines():
                self.echo(printable(line))
        if verdict.exit_code:
            raise SystemExit(verdict.exit_code)


def _ledger_id(text: str) -> bytes:
    from ledger.stream.ledger_identity import ID_LENGTH

    try:
        data = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        data = b""
    if len(data) != ID_LENGTH:
        raise UsageError(f"--ledger-id: {text!r} is no ledger id, which has {2 * ID_LENGTH} hex digits.")
    return data


def _expected(text: str | None, nonce: int, scheduled: bool) -> Any:
    """Return the transaction that has to be proved, its id in the spelling with dashes; None for any."""
    from ledger.portable_proofs.verdict import Expected
    from mirror.core.values import transaction_id

    if text is None:
        if nonce or scheduled:
            raise UsageError("--nonce and --scheduled tell which transaction of an --id.")
        return None
    return Expected(transaction_id.with_dashes(text), nonce, scheduled)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"The file {path} can't be read: {error.strerror}.") from error


def _stakes(pages: list[Path]) -> dict[int, int]:
    """Return the stakes of nodes by id; nodes of which an answer has none are left out."""
    from ledger.portable_proofs.strict_json import NotProved, parse_json

    stakes: dict[int, int] = {}
    for path in pages:
        try:
            answer: Any = parse_json(_read(path))
            nodes = answer["nodes"]
            stakes |= {
                int(node["node_id"]): int(node["stake"]) for node in nodes if node["stake"] is not None
            }
        except (NotProved, ValueError, TypeError, KeyError, OverflowError) as error:
            raise UsageError(f"--stakes: {path} is no answer of /api/v1/network/nodes.") from error
    return stakes


def _publication(path: Path) -> Any:
    from ledger.stream.ledger_identity import NoPublication, read_publication

    try:
        return read_publication(_read(path))
    except NoPublication as error:
        raise UsageError(f"--ledger: {path} {error}.") from error
