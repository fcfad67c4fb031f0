"""The supply of tokens: mint, burn, wipe."""

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record_item import RecordItem
from tokens.models import Nft, Token


@handles("TOKENMINT")
def token_mint(item: RecordItem, batch: Batch) -> None:
    """Raise a token's supply; of a non-fungible token also create the serials. Transfers give them an owner.

    Source: body.tokenMint (metadata per serial), receipt.newTotalSupply, receipt.serialNumbers.
    Rows: token supply, silently; nft version per serial.
    """
    if not batch.persist.tokens:
        return
    # BODY
    serials, metadata = item.record.receipt.serialNumbers, item.body.tokenMint.metadata
    if len(serials) > len(metadata):
        batch.recoverable(item, f"{len(serials)} serials are minted with metadata for {len(metadata)}")
    # ROWS
    timestamp = item.consensus_timestamp
    _set_supply(item, batch)
    for serial, data in zip(serials, metadata, strict=False):
        batch.upsert(
            Nft,
            since=timestamp,
            token_id=item.entity_id,
            serial_number=serial,
            created_timestamp=timestamp,
            deleted=False,
            metadata=data,
        )


@handles("TOKENBURN", "TOKENWIPE")
def token_burn(item: RecordItem, batch: Batch) -> None:
    """Burn units or serials of the treasury, or wipe them from an account; the supply falls.

    Source: body.tokenBurn, tokenWipe, receipt.newTotalSupply.
    Rows: token supply, silently; nft version per serial.
    """
    if not batch.persist.tokens:
        return
    timestamp, token, wipes = item.consensus_timestamp, item.entity_id, item.body.HasField("tokenWipe")
    if wipes:
        batch.mention(batch.account(item, item.body.tokenWipe.account, "account to wipe") or 0)
    _set_supply(item, batch)
    for serial in (item.body.tokenWipe if wipes else item.body.tokenBurn).serialNumbers:
        batch.upsert(Nft, since=timestamp, token_id=token, serial_number=serial, deleted=True)


def _set_supply(item: RecordItem, batch: Batch) -> None:
    # A block names the supply of a token only where it changed.
    if "newTotalSupply" not in item.absent:
        batch.upsert(Token, token_id=item.entity_id, total_supply=item.record.receipt.newTotalSupply)
