"""Tokens: create, update, delete, pause, fee schedule; their supply: mint, burn, wipe."""

from typing import Any

from ledger.handlers.columns import convert, serialized, text
from ledger.handlers.custom_fees import replace_token_fees
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entities
from ledger.stream.record_item import RecordItem
from mirror.core.db.schema.enums import TokenPauseStatus, TokenSupplyType, TokenType
from mirror.core.values import entity_id
from mirror.core.values.hapi.transaction_types import NUMBERS
from tokens.handlers.relationship import FROZEN, GRANTED, NOT_APPLICABLE, REVOKED, UNFROZEN, association
from tokens.models import Nft, Token, TokenAccount

# Tokens have metadata (HIP-646, HIP-657) in records from this HAPI version on.
METADATA_SINCE = (0, 49, 0)

TOKEN_PAUSE = NUMBERS["TOKENPAUSE"]

# Column of token -> field of the bodies.
_KEYS = {
    "fee_schedule_key": "fee_schedule_key",
    "freeze_key": "freezeKey",
    "kyc_key": "kycKey",
    "pause_key": "pause_key",
    "supply_key": "supplyKey",
    "wipe_key": "wipeKey",
}
# Fields of the bodies of columns that tokens share with other entities.
_ENTITY_FIELDS = ("adminKey", "autoRenewAccount", "autoRenewPeriod", "expiry")
_TYPES = {0: TokenType.FUNGIBLE_COMMON, 1: TokenType.NON_FUNGIBLE_UNIQUE}
_SUPPLY_TYPES = {0: TokenSupplyType.INFINITE, 1: TokenSupplyType.FINITE}


names_entities(
    entity_id.from_token,
    TOKENCREATION="record.receipt.tokenID",
    TOKENFEESCHEDULEUPDATE="body.token_fee_schedule_update.token_id",
    TOKENUPDATE="body.tokenUpdate.token",
    TOKENDELETION="body.tokenDeletion.token",
    TOKENMINT="body.tokenMint.token",
    TOKENBURN="body.tokenBurn.token",
    TOKENWIPE="body.tokenWipe.token",
    TOKENPAUSE="body.token_pause.token",
    TOKENUNPAUSE="body.token_unpause.token",
    TOKENUPDATENFTS="body.token_update_nfts.token",
)


@handles("TOKENCREATION")
def token_create(item: RecordItem, batch: Batch) -> None:
    """Create a token; its treasury and the collectors of fees in the token itself are associated at once.

    Source: body.tokenCreation, receipt.tokenID, record.automatic_token_associations.
    Rows: token, custom_fee and entity version; token_account version of each first holder.
    """
    # BODY
    body = item.body.tokenCreation
    entity = convert(item, batch, body, *_ENTITY_FIELDS) | {"memo": text(body.memo)}
    if entity.get("auto_renew_account_id") == 0:
        batch.recoverable(item, "the auto renew account of a new token is 0.0.0")
        del entity["auto_renew_account_id"]
    # ROWS
    batch.change_entity(
        item,
        id=item.entity_id,
        type="TOKEN",
        created_timestamp=item.consensus_timestamp,
        deleted=False,
        **entity,
    )
    if batch.persist.tokens and item.entity_id:
        collectors = replace_token_fees(item, batch, item.entity_id, body.custom_fees)
        _associate_first_holders(item, batch, [entity_id.from_account(body.treasury), *collectors])
        _add_token(item, batch)


def _add_token(item: RecordItem, batch: Batch) -> None:
    # BODY
    body, timestamp = item.body.tokenCreation, item.consensus_timestamp
    columns = serialized(body, **_KEYS)
    if item.hapi_version >= METADATA_SINCE:
        columns |= serialized(body, metadata_key="metadata_key") | {"metadata": body.metadata}
    freeze_status, kyc_status, pause_status = _default_statuses(body)
    # ROWS
    batch.upsert(
        Token,
        since=timestamp,
        token_id=item.entity_id,
        created_timestamp=timestamp,
        decimals=body.decimals,
        freeze_default=body.freezeDefault,
        freeze_status=freeze_status,
        initial_supply=body.initialSupply,
        kyc_status=kyc_status,
        max_supply=body.maxSupply,
        name=text(body.name),
        pause_status=pause_status,
        supply_type=_SUPPLY_TYPES.get(body.supplyType, TokenSupplyType.INFINITE),
        symbol=text(body.symbol),
        total_supply=body.initialSupply,
        treasury_account_id=entity_id.from_account(body.treasury),
        type=_TYPES.get(body.tokenType, TokenType.FUNGIBLE_COMMON),
        **columns,
    )


def _associate_first_holders(item: RecordItem, batch: Batch, expected: list[int]) -> None:
    """Associate the accounts the record lists, or the expected ones when it lists none."""
    body = item.body.tokenCreation
    listed = [entity_id.from_account(each.account_id) for each in item.record.automatic_token_associations]
    for account in dict.fromkeys(listed or expected):
        if not account:
            continue
        batch.upsert(
            TokenAccount,
            **association(item, account, item.entity_id),
            freeze_status=UNFROZEN if body.HasField("freezeKey") else NOT_APPLICABLE,
            kyc_status=GRANTED if body.HasField("kycKey") else NOT_APPLICABLE,
        )
        batch.mention(account)


def _default_statuses(body: Any) -> tuple[int, int, str]:
    """Return the freeze, KYC and pause status of a new token, which also hold for a new relationship."""
    freeze = NOT_APPLICABLE
    if body.HasField("freezeKey"):
        freeze = FROZEN if body.freezeDefault else UNFROZEN
    kyc = REVOKED if body.HasField("kycKey") else NOT_APPLICABLE
    pause = TokenPauseStatus.UNPAUSED if body.HasField("pause_key") else TokenPauseStatus.NOT_APPLICABLE
    return freeze, kyc, pause


@handles("TOKENUPDATE")
def token_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of a token; statuses stay when their key changes.

    Serials of a replaced treasury move by the record's transfers.
    Source: body.tokenUpdate. Rows: token version (unless its creation is not stored), entity version.
    """
    # BODY
    body = item.body.tokenUpdate
    entity = convert(item, batch, body, *_ENTITY_FIELDS, "memo")
    columns = serialized(body, **_KEYS)
    if body.HasField("treasury"):
        columns["treasury_account_id"] = entity_id.from_account(body.treasury) or None
        batch.mention(columns["treasury_account_id"] or 0)
    if body.name:
        columns["name"] = text(body.name)
    if body.symbol:
        columns["symbol"] = text(body.symbol)
    if item.hapi_version >= METADATA_SINCE:
        if body.HasField("metadata"):
            columns["metadata"] = body.metadata.value
        columns |= serialized(body, metadata_key="metadata_key")
    # ROWS
    batch.change_entity(item, id=item.entity_id, type="TOKEN", deleted=False, **entity)
    if batch.persist.tokens and item.entity_id:
        batch.upsert(Token, since=item.consensus_timestamp, token_id=item.entity_id, **columns)


@handles("TOKENDELETION")
def token_delete(item: RecordItem, batch: Batch) -> None:
    """Delete a token; its row in token stays. Rows: entity version."""
    batch.change_entity(item, id=item.entity_id, type="TOKEN", deleted=True)


@handles("TOKENPAUSE", "TOKENUNPAUSE")
def token_pause(item: RecordItem, batch: Batch) -> None:
    """Pause or unpause a token. Source: body.token_pause, token_unpause. Rows: token version."""
    if not batch.persist.tokens:
        return
    paused = item.transaction_type == TOKEN_PAUSE
    batch.upsert(
        Token,
        since=item.consensus_timestamp,
        token_id=item.entity_id,
        pause_status=TokenPauseStatus.PAUSED if paused else TokenPauseStatus.UNPAUSED,
    )


@handles("TOKENFEESCHEDULEUPDATE")
def token_fee_schedule_update(item: RecordItem, batch: Batch) -> None:
    """Replace all custom fees. Source: body.token_fee_schedule_update. Rows: custom_fee version."""
    if batch.persist.tokens and item.entity_id:
        replace_token_fees(item, batch, item.entity_id, item.body.token_fee_schedule_update.custom_fees)


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
