"""By which ledger id the blocks of the network are verified, and who says so; for `manage.py status`."""

from typing import Any

from ledger.stream.block import block_file
from ledger.stream.block.proof.named import FIRST_LEDGER, named_ledger
from mirror.config.errors import OperatorError
from mirror.db.sql import fetch

_LEDGER = """
    select l.ledger_id, b.index, b.version from ledger l
    left join lateral (
        select index, version from record_file where consensus_end >= l.consensus_timestamp
        order by consensus_end limit 1
    ) b on true
    order by l.consensus_timestamp desc limit 1"""


def sentence() -> str:
    """Return the id and where it comes from; nothing while none is known."""
    rows = fetch(_LEDGER, ())
    try:
        named = named_ledger()
    except OperatorError as error:
        return str(error)
    if rows:
        return _published(*rows[0], is_named=named is not None and named.ledger_id == bytes(rows[0][0]))
    return f"{named.ledger_id.hex()}, as {FIRST_LEDGER} says" if named else ""


def _published(ledger_id: Any, block: int | None, version: int | None, *, is_named: bool) -> str:
    text = bytes(ledger_id).hex()
    if is_named:
        return f"{text}, as {FIRST_LEDGER} says"
    if block == 0 and version == block_file.VERSION:
        return (
            f"{text}, by the word of block 0 alone: compare it with what the network says of itself, and "
            f"name it by {FIRST_LEDGER}"
        )
    return f"{text}, published in block {block}" if block is not None else text
