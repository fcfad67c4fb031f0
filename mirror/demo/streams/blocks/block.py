"""Writing a block stream: native, chained and signed blocks, for tests and the demo network.

A BlockComposer makes blocks of the transactions of composed record files, so that one history can be
written in both forms. What a record says is divided as in real blocks: into results, outputs, traces and
changes of the state.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ledger.stream.block.state_after import BLOCK_STREAM_INFO
from ledger.stream.block.tree import PREFIXED_SINCE
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hashes import SHA_384_LENGTH, sha384
from mirror.demo.streams import record_files
from mirror.demo.streams.blocks import changes, outputs
from mirror.demo.streams.blocks.accounts import KnownAccounts
from mirror.demo.streams.blocks.changes import groups
from mirror.demo.streams.blocks.frame import NativeBlock, framed

if TYPE_CHECKING:
    # Not imported at run time, as it takes long and unsigned blocks do without it.
    from mirror.demo.streams.threshold_signer import ThresholdSigner

_SIGNED_TRANSACTION = messages.Transaction.SIGNEDTRANSACTIONBYTES_FIELD_NUMBER
_NO_HASH = bytes(SHA_384_LENGTH)
_IN_AN_EVENT = 8  # transactions


class BlockComposer:
    """A writer of blocks that follow each other, signed by all nodes of `signer`, or unsigned.

    Without a signer, a block's signature is the hash of its root hash, as in test networks.
    """

    def __init__(self, signer: "ThresholdSigner | None" = None, *, previous_hash: bytes = _NO_HASH) -> None:
        self.hash = previous_hash
        self._signer = signer
        self.known = KnownAccounts()

    def block(self, block: record_files.Block) -> NativeBlock:
        """Return the block of the number and the transactions of a composed record file."""
        prefixed = block.hapi_version >= PREFIXED_SINCE
        unproved = framed(block, self._items(block), self.hash, unknown=_NO_HASH, prefixed=prefixed)
        self.hash = unproved.hash
        signature = self._signer.sign(self.hash) if self._signer else sha384(self.hash)
        return unproved.proved({"signed_block_proof": {"block_signature": signature}})

    def learn(self, block: record_files.Block) -> None:
        """Note the accounts that a record file opened, where blocks follow record files."""
        for transaction in block.transactions:
            self.known.learn(transaction)

    def set_known_accounts(self, accounts: KnownAccounts) -> None:
        """Take what is known of accounts from elsewhere, as record files are not at hand, or too many."""
        self.known = accounts

    def _items(self, block: record_files.Block) -> Iterator[Any]:
        yield messages.BlockItem(round_header={"round_number": block.number + 1})
        yield messages.BlockItem(event_header={})
        # A node's signature of the state after the last round: a transaction without a result.
        body = messages.TransactionBody(state_signature_transaction={"round": block.number})
        signed = messages.SignedTransaction(bodyBytes=body.SerializeToString())
        yield messages.BlockItem(signed_transaction=signed.SerializeToString())
        inner: deque[bytes] = deque()
        for position, group in enumerate(groups(block.transactions)):
            if position % _IN_AN_EVENT == 0:
                yield messages.BlockItem(event_header={})
            for announced in group:
                self.known.learn(announced.transaction)
            changed = changes.state_changes(group, self.known)
            for announced in group:
                transaction = announced.transaction
                signed = wire.last_bytes(transaction.transaction_bytes, _SIGNED_TRANSACTION)
                if inner and inner[0] == signed:
                    inner.popleft()
                else:
                    yield messages.BlockItem(signed_transaction=signed)
                if transaction.body.HasField("atomic_batch"):
                    inner = deque(transaction.body.atomic_batch.transactions)
                yield messages.BlockItem(transaction_result=_result(transaction.record))
                for output in outputs.outputs_of(announced):
                    yield messages.BlockItem(transaction_output=output)
                for trace in outputs.traces_of(announced):
                    yield messages.BlockItem(trace_data=trace)
                if changed and announced is group[0]:
                    yield _state_changes(transaction.record.consensusTimestamp, changed)
        if block.transactions:
            # What the network changes itself when a round ends.
            info = {"block_stream_info_value": {"block_number": block.number}}
            ended = messages.StateChange(state_id=BLOCK_STREAM_INFO, singleton_update=info)
            yield _state_changes(block.transactions[-1].record.consensusTimestamp, [ended])


def _state_changes(at: Any, changed: Iterable[Any]) -> Any:
    changes_then = messages.StateChanges(consensus_timestamp=at, state_changes=changed)
    return messages.BlockItem(state_changes=changes_then)


def _result(record: Any) -> messages.TransactionResult:
    result = messages.TransactionResult(
        status=record.receipt.status,
        consensus_timestamp=record.consensusTimestamp,
        transaction_fee_charged=record.transactionFee,
        token_transfer_lists=record.tokenTransferLists,
        assessed_custom_fees=record.assessed_custom_fees,
        automatic_token_associations=record.automatic_token_associations,
        paid_staking_rewards=record.paid_staking_rewards,
        high_volume_pricing_multiplier=record.high_volume_pricing_multiplier,
    )
    parent = {"parent_consensus_timestamp": "parent_consensus_timestamp"}
    outputs.copy_fields(record, result, transferList="transfer_list", scheduleRef="schedule_ref", **parent)
    return result
