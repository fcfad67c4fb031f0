"""Verifying the proof of a transaction, of whatever kind, with nothing but what its reader trusts."""

from ledger.portable_proofs.strict_json import FORM, NotProved, parse_json
from ledger.portable_proofs.verdict import Expected, Trusted, Verdict
from ledger.stream.block_names import BLOCK_VERSION
from mirror.core.values import timestamp


def verify(data: bytes, trusted: Trusted, expected: Expected | None = None) -> Verdict:
    """Return what a document shows of the `expected` transaction, if given. Errors: NotProved."""
    document = parse_json(data)
    if not isinstance(document, dict):
        raise NotProved(FORM, "it is no JSON object")
    version = document.get("version")
    if not isinstance(version, int):
        raise NotProved(FORM, "its version is no whole number")
    _require_anchor(version, trusted)
    # Each kind needs much that takes long to import.
    if version >= BLOCK_VERSION:
        from ledger.portable_proofs import block_proof

        verdict = block_proof.verify(document, trusted)
    else:
        from ledger.portable_proofs import record_file_proof

        verdict = record_file_proof.verify(document, trusted, expected)
    transaction = verdict.transaction
    if expected is not None and not expected.matches(transaction):
        times = timestamp.text(transaction.consensus_timestamp)
        raise NotProved("The transaction", f"the proof is one of {transaction.label} at {times}")
    return verdict


def _require_anchor(version: int, trusted: Trusted) -> None:
    """Refuse a kind of document of which a reader trusts nothing, who names what another kind needs."""
    has_ledger = trusted.ledger is not None or trusted.ledger_id is not None
    has_address_book = trusted.book is not None or trusted.stakes is not None
    if version >= BLOCK_VERSION:
        if has_address_book and not has_ledger:
            raise NotProved(
                "The ledger", "the document is of a block: name its ledger by --ledger or --ledger-id"
            )
    elif trusted.book is None and (has_ledger or has_address_book):
        raise NotProved(
            "The address book", "the document is of a record file: name an address book by --address-book"
        )
