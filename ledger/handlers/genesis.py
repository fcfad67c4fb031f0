"""Accounts, contracts and files that a network begins with (the code of contracts is in `contracts`)."""

from typing import Any

from ledger.handlers.columns import keys, text
from ledger.handlers.file import stores_content
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.lookups import Chunk
from ledger.ingest.rows.registry import at_genesis
from ledger.models import Entity, FileData
from ledger.stream.record_file import GenesisState
from mirror.core.values import alias as aliases
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi.messages import Timestamp
from mirror.core.values.hapi.transaction_types import NUMBERS

# Content as of a time is like that of an update, which replaces all.
_FILE_UPDATE = NUMBERS["FILEUPDATE"]


@at_genesis
def accounts(state: GenesisState, consensus_timestamp: int, batch: Batch) -> None:
    """Create accounts and contracts with their balances; when they were created is not known.

    Rows: entity version.
    """
    for number, account in state.accounts.items():
        columns: dict[str, Any] = {
            "auto_renew_period": account.auto_renew_seconds,
            "balance": account.tinybar_balance,
            "balance_timestamp": consensus_timestamp,
            "deleted": account.deleted,
            "max_automatic_token_associations": account.max_auto_associations,
            "memo": text(account.memo),
            "receiver_sig_required": account.receiver_sig_required,
            "type": "CONTRACT" if account.smart_contract else "ACCOUNT",
        }
        columns |= _names(account)
        columns |= _expiration(account)
        if account.HasField("key"):
            columns |= keys(account.key.SerializeToString())
        if account.HasField("auto_renew_account_id"):
            columns["auto_renew_account_id"] = entity_id.from_account(account.auto_renew_account_id)
        batch.set_entity(consensus_timestamp, id=number, **columns)


def _names(account: Any) -> dict[str, Any]:
    """Return the columns of an alias; that of a contract is its address."""
    if not account.alias:
        return {}
    if account.smart_contract:
        return {"evm_address": account.alias}
    return {"alias": account.alias, "evm_address": aliases.evm_address(account.alias)}


def _expiration(entity: Any) -> dict[str, Any]:
    if not entity.expiration_second:
        return {}
    return {"expiration_timestamp": timestamp.to_ns(Timestamp(seconds=entity.expiration_second))}


@at_genesis
def files(state: GenesisState, consensus_timestamp: int, batch: Batch) -> None:
    """Create files with their content. Rows: entity version, file_data insert.

    Each content has a time of its own, just before the first transaction: it is the key of file_data.
    """
    for age, (number, file) in enumerate(state.files.items(), 1):
        columns: dict[str, Any] = {"deleted": file.deleted, "memo": text(file.memo), "type": "FILE"}
        columns |= _expiration(file)
        if file.HasField("keys"):
            columns |= keys(file.keys.SerializeToString())
        batch.upsert(Entity, since=consensus_timestamp, id=number, **columns)
        if stores_content(number, batch):
            batch.files.add(number, Chunk(consensus_timestamp - age, _FILE_UPDATE, file.contents))
            batch.insert(
                FileData,
                consensus_timestamp=consensus_timestamp - age,
                entity_id=number,
                file_data=file.contents,
                transaction_type=_FILE_UPDATE,
            )
