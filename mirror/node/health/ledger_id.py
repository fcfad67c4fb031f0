"""The ledger id by which blocks are verified, and its origin; for `manage.py status`."""

from ledger.stream import ledger_identity
from ledger.stream.block import block_file
from ledger.stream.ledger_identity import FIRST_LEDGER, LedgerIdentity, named_ledger
from mirror.core.config.errors import OperatorError
from mirror.core.db.reading.sql import fetch

_LEDGER = """
    select l.ledger_id, l.history_proof_verification_key, l.node_contributions, b.index, b.version
    from ledger l
    left join lateral (
        select index, version from record_file where consensus_end >= l.consensus_timestamp
        order by consensus_end limit 1
    ) b on true
    order by l.consensus_timestamp desc limit 1"""


def sentence() -> str:
    """Return the id and its origin; empty while none is known."""
    rows = fetch(_LEDGER, ())
    try:
        named = named_ledger()
    except OperatorError as error:
        return str(error)
    if rows:
        *columns, block, version = rows[0]
        published = ledger_identity.identity_from_row(*columns)
        return f"{published.ledger_id.hex()}{_confirmation(published, block, version, named)}"
    return f"{named.ledger_id.hex()} by {FIRST_LEDGER}: what is loaded publishes none" if named else ""


def _confirmation(
    published: LedgerIdentity, block: int | None, version: int | None, named: LedgerIdentity | None
) -> str:
    """Return what confirms a published ledger; `block` is the one that published it, if that is loaded."""
    if named is not None:
        if named.ledger_id != published.ledger_id:
            return f", but {FIRST_LEDGER} names {named.ledger_id.hex()}, which is another network"
        if named.contributors != published.contributors:
            return f", but {FIRST_LEDGER} names other nodes or keys of it"
        return f", as {FIRST_LEDGER} says"
    if block == 0 and version == block_file.VERSION:
        return (
            ", by the word of block 0 alone: compare it with what the network says of itself, and name it by "
            f"{FIRST_LEDGER}"
        )
    return "" if block is None else f", published in block {block}"
