"""Rows of every transaction, whatever its type and result: its own row, and the rows by which it is found."""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item
from ledger.models import EntityTransaction, Transaction, TransactionHash
from ledger.stream.record_item import RecordItem
from mirror.core.db.writing.copy import column_names
from mirror.core.values import entity_id
from mirror.core.values.entity_id import OutOfRangeEntityId
from mirror.core.values.hapi.transaction_types import NUMBERS

ATOMIC_BATCH = NUMBERS["ATOMICBATCH"]
CONTRACT_CREATE = NUMBERS["CONTRACTCREATEINSTANCE"]
CRYPTO_CREATE = NUMBERS["CRYPTOCREATEACCOUNT"]
SUBMIT_MESSAGE = NUMBERS["CONSENSUSSUBMITMESSAGE"]
# Their signed bytes are the only source of a node's certificates and endpoints.
NODE_TYPES = frozenset(NUMBERS[name] for name in ("NODECREATE", "NODEUPDATE", "NODEDELETE"))

HASH_LENGTH, FULL_HASH_LENGTH = 32, 48

_INNER = column_names(Transaction).index("inner_transactions")


class TransactionsWithLogs(set[int]):
    """The consensus timestamps of the submitted messages in a file that have contract logs."""


class AtomicBatches(dict[int, list[Any]]):
    """The transaction rows of the atomic batches in a file, by consensus timestamp."""


@every_item(Order.TRANSACTION)
def transaction(item: RecordItem, batch: Batch) -> None:
    """Store the transaction. Source: body, record, receipt.status.

    Rows: transaction insert; transaction.inner_transactions of the atomic batch that it belongs to: payer and
    valid start of each.
    """
    # BODY
    body, record, persist = item.body, item.record, batch.persist
    node = entity_id.from_account(body.nodeAccountID)
    seconds: int | None = body.transactionValidDuration.seconds
    if not seconds and not body.HasField("transactionValidDuration"):
        seconds = None
    initial_balance = 0
    if item.transaction_type == CRYPTO_CREATE:
        initial_balance = body.cryptoCreateAccount.initialBalance
    elif item.transaction_type == CONTRACT_CREATE:
        initial_balance = body.contractCreateInstance.initialBalance
    archive_bytes = item.transaction_type in NODE_TYPES
    batch_key = body.batch_key.SerializeToString() if body.HasField("batch_key") else None
    # ROWS
    batch.transaction = row = [
        item.consensus_timestamp,
        item.transaction_type,
        item.result,
        item.payer_account_id,
        item.valid_start_ns,
        seconds,
        node or None,
        item.entity_id or None,
        initial_balance,
        body.transactionFee,
        record.transactionFee,
        item.memo,
        record.transactionHash,
        item.transaction_bytes if archive_bytes or persist.transaction_bytes else None,
        item.scheduled,
        item.nonce,
        item.parent_consensus_timestamp,
        None,  # errata
        item.index,
        None,  # nft_transfer
        None,  # itemized_transfer
        item.record_bytes if archive_bytes or persist.transaction_record_bytes else None,
        _max_custom_fees(item, batch) if body.max_custom_fees else None,
        batch_key,
        None,  # inner_transactions
        body.high_volume,
        item.congestion_pricing_multiplier,
        record.high_volume_pricing_multiplier,
    ]
    batch.rows_for(Transaction).append(row)
    if item.transaction_type == ATOMIC_BATCH:
        batch.state(AtomicBatches)[item.consensus_timestamp] = row
    elif batch_key is not None and item.nonce == 0:
        _list_in_atomic_batch(item, batch)
    if batch.mentioned is not None:
        # Messages are found by their topic, so the topic gets no row of entity_transaction for each.
        entity = 0 if item.transaction_type == SUBMIT_MESSAGE else item.entity_id
        batch.mention(entity, node, item.payer_account_id)


def _max_custom_fees(item: RecordItem, batch: Batch) -> list[bytes] | None:
    """Return the fee limits of the body, without those that name an account or token out of range."""
    limits = []
    for limit in item.body.max_custom_fees:
        entities = [entity_id.from_account(limit.account_id)]
        entities += [entity_id.from_token(fee.denominating_token_id) for fee in limit.fees]
        if not any(isinstance(entity, OutOfRangeEntityId) for entity in entities):
            batch.mention(*entities)
            limits.append(limit.SerializeToString())
    return limits or None


def _list_in_atomic_batch(item: RecordItem, batch: Batch) -> None:
    """List a transaction of an atomic batch (HIP-551), which precedes it in the file.

    A transaction of a batch has a batch key and nonce 0; the transactions it causes have other nonces.
    """
    outer = batch.state(AtomicBatches).get(item.parent_consensus_timestamp or 0)
    if outer is None:
        batch.recoverable(item, "the atomic batch it belongs to is not in its file")
        return
    outer[_INNER] = outer[_INNER] or []
    outer[_INNER] += (item.payer_account_id, item.valid_start_ns)


@every_item(Order.LOOKUPS)
def transaction_hash(item: RecordItem, batch: Batch) -> None:
    """Store where the transaction of a hash is. Source: record.transactionHash (SHA-384).

    A message that paid a fee in tokens has logs. So it is found by hash even where other messages are not.
    Rows: transaction_hash insert: the first 32 bytes, and the rest apart.
    """
    persist, transaction_type = batch.persist, item.transaction_type
    if not persist.transaction_hash:
        return
    if transaction_type in persist.transaction_hash_exclusion and not (
        transaction_type == SUBMIT_MESSAGE and item.consensus_timestamp in batch.state(TransactionsWithLogs)
    ):
        return
    digest = item.record.transactionHash
    if len(digest) not in (HASH_LENGTH, FULL_HASH_LENGTH):
        return
    batch.rows_for(TransactionHash).append(
        (item.consensus_timestamp, digest[:HASH_LENGTH], item.payer_account_id, digest[HASH_LENGTH:] or None)
    )


@every_item(Order.LOOKUPS)
def entity_transactions(item: RecordItem, batch: Batch) -> None:
    """Store which entities the transaction touches, if configured.

    Source: `batch.mentioned` and `batch.nft_parties`. Rows: entity_transaction insert per entity.
    """
    if not batch.mentioned and not batch.nft_parties:
        return
    # As parties of NFT transfers no accounts are excluded; the payer's transactions are found without a row.
    entities = batch.nft_parties - {0, item.payer_account_id}
    batch.nft_parties.clear()
    if batch.mentioned:
        entities |= batch.mentioned - batch.persist.entity_transaction_exclusion
    for entity in sorted(entities):
        batch.insert(
            EntityTransaction,
            consensus_timestamp=item.consensus_timestamp,
            entity_id=entity,
            payer_account_id=item.payer_account_id,
            result=item.result,
            type=item.transaction_type,
        )
