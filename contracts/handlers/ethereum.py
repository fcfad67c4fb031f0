"""Ethereum transactions, whatever their result: the wrapped transaction and its sender's nonce."""

from typing import Any

from contracts.models import EthereumTransaction
from ledger.handlers.account import set_nonces
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entity
from ledger.models import Entity, TransactionHash
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id, ethereum
from mirror.core.values.entity_id import OutOfRangeEntityId
from mirror.core.values.ethereum import EthereumData, InvalidEthereumData

# Up to HAPI 0.46 records do not have the nonce; it also rose with these two results.
SIGNER_NONCE_SINCE = (0, 47, 0)
CONTRACT_REVERT_EXECUTED, MAX_CHILD_RECORDS_EXCEEDED = 33, 328

# Columns with the names of what is decoded.
_SAME = (
    *("type", "chain_id", "nonce", "gas_price", "max_priority_fee_per_gas", "max_fee_per_gas", "gas_limit"),
    *("to_address", "call_data", "access_list", "authorization_list", "recovery_id", "signature_v"),
    *("signature_r", "signature_s", "hash"),
)


@names_entity("ETHEREUMTRANSACTION")
def ethereum_contract(item: RecordItem, batch: Batch) -> int:
    """Return the contract that the function result names by number."""
    result = item.function_result
    return entity_id.from_contract(result.contractID) if result is not None else 0


@handles("ETHEREUMTRANSACTION", any_result=True)
def ethereum_transaction(item: RecordItem, batch: Batch) -> None:
    """Store the decoded RLP, with amounts in weibars.

    Source: body.ethereumTransaction, record.ethereum_hash.
    Rows: ethereum_transaction insert; transaction_hash insert of the Ethereum hash; entity nonce, silently,
    of the sender and, from blocks, of all accounts that the transaction delegates.
    """
    if not batch.persist.ethereum_transactions:
        return
    # BODY
    body = item.body.ethereumTransaction
    try:
        decoded = ethereum.decode(body.ethereum_data)
    except InvalidEthereumData as error:
        batch.recoverable(item, f"its Ethereum transaction can't be decoded: {error}")
        return
    call_data_file = entity_id.from_file(body.call_data) if body.HasField("call_data") else 0
    if isinstance(call_data_file, OutOfRangeEntityId):
        batch.recoverable(item, f"its call data can't be in any file: {call_data_file.problem}")
        return
    decoded.hash = item.record.ethereum_hash or _hash(item, batch, decoded, call_data_file)
    item.ethereum = decoded
    # ROWS
    batch.mention(call_data_file)
    batch.insert(
        EthereumTransaction,
        consensus_timestamp=item.consensus_timestamp,
        payer_account_id=item.payer_account_id,
        call_data_id=call_data_file or None,
        data=body.ethereum_data,
        max_gas_allowance=body.max_gas_allowance,
        **_columns(decoded),
    )
    _add_hash(item, batch, decoded.hash)
    if batch.persist.track_nonce:
        _set_nonce(item, batch, decoded)
    set_nonces(item, batch)


def _columns(decoded: EthereumData) -> dict[str, Any]:
    columns = {name: getattr(decoded, name) for name in _SAME}
    return columns | {"value": ethereum.signed_bytes(decoded.value)}


def _hash(item: RecordItem, batch: Batch, decoded: EthereumData, call_data_file: int) -> bytes:
    """Return the hash where the record has none; call data in a file is part of the hashed transaction."""
    if decoded.call_data or not call_data_file:
        return decoded.computed_hash()
    call_data = batch.files.decoded(call_data_file, item.consensus_timestamp)
    return b"" if call_data is None else decoded.computed_hash(call_data)


def _add_hash(item: RecordItem, batch: Batch, hash: bytes) -> None:
    persist = batch.persist
    if hash and persist.transaction_hash and item.transaction_type not in persist.transaction_hash_exclusion:
        batch.insert(
            TransactionHash,
            consensus_timestamp=item.consensus_timestamp,
            hash=hash,
            payer_account_id=item.payer_account_id,
        )


def _set_nonce(item: RecordItem, batch: Batch, decoded: EthereumData) -> None:
    result = item.function_result
    if result is None or not result.HasField("sender_id"):
        return
    sender = entity_id.from_account(result.sender_id)
    if not sender:
        return
    batch.mention(sender)
    if result.HasField("signer_nonce"):
        batch.upsert(Entity, id=sender, ethereum_nonce=result.signer_nonce.value)
    elif item.hapi_version < SIGNER_NONCE_SINCE and (
        item.successful or item.result in (CONTRACT_REVERT_EXECUTED, MAX_CHILD_RECORDS_EXCEEDED)
    ):
        batch.upsert(Entity, id=sender, ethereum_nonce=decoded.nonce + 1)
