"""The shapes of proofs as JSON: of a transaction in a record file, and of one in a block."""

from typing import TypedDict

from mirror.core.values.json_types import Base64, Hex, Int32, Int64, Timestamp

# RECORD FILES


class CompactRecordFileJson(TypedDict):
    """A record file of format 5 or 6, with hashes in the place of all transactions but one."""

    head: Base64
    start_running_hash_object: Base64
    hashes_before: list[Base64]
    record_stream_object: Base64
    hashes_after: list[Base64]
    end_running_hash_object: Base64
    block_number: Base64 | None


class StateProofJson(TypedDict):
    """A file with the transaction, the signatures of nodes, and the address books with their keys.

    A record file before format 5 is whole, and so is one of any format that came in a block. Signature files
    are by the accounts of the nodes.
    """

    address_books: list[Base64]
    record_file: CompactRecordFileJson | Base64
    signature_files: dict[str, Base64]
    version: Int32


class RecordFileProofJson(StateProofJson, total=False):
    """A state proof in which a reader may have written which transaction of the file it is about."""

    consensus_timestamp: str
    transaction_id: str


# BLOCKS


class SiblingJson(TypedDict):
    """A step of a path: the sibling's hash and side; an empty hash without a sibling."""

    hash: Base64
    is_left: bool


class ProvedItemJson(TypedDict):
    """A serialized BlockItem, and the path from its hash to the root hash of the block."""

    item: Base64
    path: list[SiblingJson]


class ProvedItemsJson(TypedDict):
    """The items of a transaction, and the header of its block."""

    block_header: ProvedItemJson
    signed_transaction: ProvedItemJson
    transaction_result: ProvedItemJson
    transaction_output: list[ProvedItemJson]
    state_changes: list[ProvedItemJson]


class ItemsBeforeJson(TypedDict):
    """All transactions, and all results and outputs, that are before those of the transaction."""

    signed_transaction: list[Base64]
    outputs: list[Base64]


class BlockFooterJson(TypedDict):
    previous_block_root_hash: Base64
    root_hash_of_all_block_hashes_tree: Base64
    start_of_block_state_root_hash: Base64


class ProvedBlockJson(TypedDict):
    """A block: `proof` is the serialized BlockProof, `timestamp` the serialized time in its header."""

    number: Int64
    hash: Hex
    timestamp: Base64
    footer: BlockFooterJson
    consensus_headers_root_hash: Base64
    proof: Base64


class ContributionJson(TypedDict):
    node_id: Int64
    weight: Int64
    history_proof_key: Base64


class ProvingLedgerJson(TypedDict):
    """The ledger whose nodes have signed, with what the proof of their key needs: one of the two."""

    ledger_id: Base64
    history_proof_verification_key: Base64 | None
    node_contributions: list[ContributionJson] | None


class BlockProofJson(TypedDict):
    """A transaction in a block, the paths of its items, and the nodes' threshold signature of the block.

    `before` shows that transaction and result belong together. It is null where that can't be shown, as in an
    atomic batch: such a document does not prove the result. `batch_position` is the place of an inner
    transaction in its batch.
    """

    version: Int32
    transaction_id: str
    nonce: Int32
    scheduled: bool
    consensus_timestamp: Timestamp
    batch_position: Int32 | None
    block: ProvedBlockJson
    items: ProvedItemsJson
    before: ItemsBeforeJson | None
    ledger: ProvingLedgerJson | None
