"""Writing a record stream: valid, chained and signed files of format 6, for tests and the demo network.

A Composer takes transactions in consensus order and closes them into blocks, as a network would write them:
transaction hashes, running hash, sidecar hashes and node signatures follow the network's rules.

    composer = Composer(nodes=signing_nodes(1))
    composer.transaction(body, record, payer=1001, transfers={1001: -5, 1002: 5})
    composer.block().write(folder)

The same calls with the same nodes give the same bytes.
"""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from struct import Struct
from typing import Any, TypedDict, Unpack

from ledger.stream import record_names
from ledger.stream.binary_format import running_hash
from ledger.stream.record_formats import V6, metadata_hash
from ledger.stream.record_item import HapiVersion
from mirror.core.values import entity_id
from mirror.core.values import timestamp as timestamps
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hashes import SHA_384_LENGTH, sha384
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.streams.signing import SigningNode, address_book, signature_file

TREASURY = 2
FEE_COLLECTOR = 98
FEE_COLLECTION = 802  # gets all fees since HIP-1259 and distributes them daily
STAKING_REWARDS = 800
SUCCESS = 22

_START = 1_735_689_600 * NANOS_PER_SECOND  # 2025-01-01
_BLOCK_PERIOD = 2 * NANOS_PER_SECOND
_FIRST_NODE_ACCOUNT = 3
_USUAL_FEE = 100_000  # tinybars
_NODE_SHARE = 20  # the submitting node gets a twentieth of a fee
_VALID_DURATION_SECONDS = 120
_VALID_START_BEFORE = 3 * NANOS_PER_SECOND
# Twice as fast as level 9, and hardly larger.
_COMPRESSION = 6

_SIGNED_TRANSACTION = messages.Transaction.SIGNEDTRANSACTIONBYTES_FIELD_NUMBER
_ITEM_TRANSACTION = messages.RecordStreamItem.TRANSACTION_FIELD_NUMBER
_ITEM_RECORD = messages.RecordStreamItem.RECORD_FIELD_NUMBER
_ITEMS = messages.RecordStreamFile.RECORD_STREAM_ITEMS_FIELD_NUMBER
_SHA_384 = 1  # enum HashAlgorithm
_SIDECAR_TYPES = {"state_changes": 1, "actions": 2, "bytecode": 3}  # field -> enum SidecarType
_LENGTH = Struct(">i")


def account_folder(node: SigningNode) -> str:
    return f"recordstreams/record{node.account_text}"


@lru_cache(maxsize=4_096)
def account(encoded: int) -> Any:
    """Return the AccountID of an encoded id. It is cached: don't change it."""
    shard, realm, num = entity_id.decode(encoded)
    return messages.AccountID(shardNum=shard, realmNum=realm, accountNum=num)


def timestamp(nanoseconds: int) -> Any:
    seconds, nanos = divmod(nanoseconds, NANOS_PER_SECOND)
    return messages.Timestamp(seconds=seconds, nanos=nanos)


def transfer_list(transfers: Mapping[int, int]) -> Any:
    """Return the TransferList of encoded account id -> tinybars."""
    return messages.TransferList(
        accountAmounts=[
            messages.AccountAmount(accountID=account(to), amount=amount) for to, amount in transfers.items()
        ]
    )


@dataclass(frozen=True, slots=True)
class ComposedTransaction:
    """A transaction and its record as they are in the file; `sidecars` are TransactionSidecarRecords."""

    consensus_timestamp: int
    body: Any
    record: Any
    transaction_bytes: bytes
    record_bytes: bytes
    sidecars: Sequence[Any] = ()

    @property
    def hash(self) -> bytes:
        """Return the first 32 bytes of the hash of the transaction, as Ethereum tools know it."""
        digest: bytes = self.record.transactionHash
        return digest[:32]


@dataclass(frozen=True)
class Block:
    """One composed record file, which begins at `start` (ns).

    `data` is what is stored; `sidecars` maps name to stored bytes.
    """

    name: str
    number: int
    start: int
    hapi_version: HapiVersion
    data: bytes
    sidecars: Mapping[str, bytes]
    transactions: Sequence[ComposedTransaction]
    hash: bytes
    previous_hash: bytes
    file_hash: bytes
    metadata_hash: bytes
    nodes: Sequence[SigningNode]

    def signature(self, node: SigningNode) -> bytes:
        return signature_file(node, self.file_hash, self.metadata_hash)

    def write(self, folder: Path, of_node: Callable[[SigningNode], str] = account_folder) -> None:
        """Write the files of every node below the bucket `folder`, or right into it if there are no nodes."""
        files = {self.name: self.data}
        files |= {f"{record_names.SIDECAR_FOLDER}/{name}": data for name, data in self.sidecars.items()}
        for node in self.nodes:
            signature = {record_names.signature_name(self.name): self.signature(node)}
            write_files(folder / of_node(node), files | signature)
        if not self.nodes:
            write_files(folder, files)


class TransactionOptions(TypedDict, total=False):
    """What a transaction has besides its body and record.

    payer: by default the treasury.
    fee: tinybars; or a function of the sizes of the transaction and its signatures (bytes), where the body
        sets a maximum fee.
    transfers: account -> tinybars, made if it succeeds, besides its fee.
    result: a number of ResponseCodeEnum, by default SUCCESS.
    sidecars: TransactionSidecarRecord messages, which get its timestamp.
    signatures: a SignatureMap, or a function that makes one from the bytes of the body.
    node: the account of the node that it was submitted to, by default the first.
    rewards: account -> tinybars, paid for staking, whatever the result.
    """

    payer: int
    memo: str
    fee: int | Callable[[int, int], int]
    transfers: Mapping[int, int] | None
    result: int
    sidecars: Iterable[Any]
    signatures: Any
    node: int | None
    rewards: Mapping[int, int] | None


class Composer:
    """A writer of blocks that `nodes` sign; without nodes, files are unsigned.

    `consensus_timestamp` is that of the next transaction, in ns. It advances by `interval` with each, and a
    new block starts at least two seconds after the one before. Set it to skip time. `fee_account` gets what
    nodes do not get of fees, which is all of them if it is FEE_COLLECTION. Ids without shard and realm get
    `shard_and_realm`.
    """

    def __init__(
        self,
        *,
        start: int = _START,
        nodes: Sequence[SigningNode] = (),
        hapi_version: HapiVersion = (0, 69, 0),
        first_block: int = 0,
        previous_hash: bytes = bytes(SHA_384_LENGTH),
        interval: int = 1_000,
    ) -> None:
        self.consensus_timestamp = start
        self.nodes = nodes
        self.hapi_version = hapi_version
        self.block_number = first_block
        self.hash = previous_hash
        self.fee_account = FEE_COLLECTOR
        self.shard_and_realm = (0, 0)
        self._interval = interval
        self._transactions: list[ComposedTransaction] = []
        self._sidecar_records: list[Any] = []

    @property
    def block_start(self) -> int:
        """Return the consensus timestamp of the first transaction of the open block, or of the next one."""
        first = self._transactions[0] if self._transactions else self
        return first.consensus_timestamp

    def address_book(self) -> bytes:
        """Return the serialized NodeAddressBook of the nodes."""
        return address_book(node.address_book_node for node in self.nodes)

    def transaction(
        self, body: Any, record: Any | None = None, **options: Unpack[TransactionOptions]
    ) -> ComposedTransaction:
        """Add a transaction from a TransactionBody and a TransactionRecord; unset fields are filled in."""
        payer, node = options.get("payer", TREASURY), options.get("node") or self._first_node
        fee, signatures = options.get("fee", _USUAL_FEE), options.get("signatures")
        self._complete_body(body, payer, 0 if callable(fee) else fee, node)
        body.memo = body.memo or options.get("memo", "")
        place(body, *self.shard_and_realm)
        body_bytes = body.SerializeToString()
        signature_map = signatures(body_bytes) if callable(signatures) else signatures
        signed = messages.SignedTransaction(bodyBytes=body_bytes, sigMap=signature_map).SerializeToString()
        transaction_bytes: bytes = wire.length_delimited(_SIGNED_TRANSACTION, signed)
        if callable(fee):
            pairs = () if signature_map is None else signature_map.sigPair
            fee = fee(len(transaction_bytes), len(pairs))

        record = messages.TransactionRecord() if record is None else record
        self._complete_record(record, body, options.get("result", SUCCESS))
        record.transactionHash = record.transactionHash or sha384(signed)
        if not record.HasField("transferList"):
            succeeds = record.receipt.status == SUCCESS
            moved: Counter[int] = Counter(dict(options.get("transfers") or {}) if succeeds else {})
            for receiver, reward in (options.get("rewards") or {}).items():
                moved.update({STAKING_REWARDS: -reward, receiver: reward})
                record.paid_staking_rewards.add(accountID=account(receiver), amount=reward)
            self._add_fee(moved, payer, fee, node)
            record.transferList.CopyFrom(transfer_list(moved))
        record.transactionFee = record.transactionFee or fee

        sidecars = tuple(options.get("sidecars", ()))
        for sidecar in sidecars:
            sidecar.consensus_timestamp.CopyFrom(record.consensusTimestamp)
            place(sidecar, *self.shard_and_realm)
        at = timestamps.to_ns(record.consensusTimestamp)
        place(record, *self.shard_and_realm)
        record_bytes = record.SerializeToString()
        composed = ComposedTransaction(at, body, record, transaction_bytes, record_bytes, sidecars)
        self._transactions.append(composed)
        self._sidecar_records += sidecars
        self.consensus_timestamp = at + self._interval
        return composed

    def block(self) -> Block:
        """Close the transactions since the last call into a block; without any it is empty."""
        transactions, previous_hash, number = self._transactions, self.hash, self.block_number
        start = self.block_start
        name = record_names.record_name(start)
        for added in transactions:
            self.hash = running_hash(self.hash, added.record_bytes, added.transaction_bytes)
        sidecars, metadata = self._close_sidecars(name)
        content = self._content(previous_hash, transactions, metadata)

        self.block_number += 1
        self._transactions, self._sidecar_records = [], []
        self.consensus_timestamp = max(self.consensus_timestamp, start + _BLOCK_PERIOD)
        return Block(
            name=name,
            number=number,
            start=start,
            hapi_version=self.hapi_version,
            data=compressed(content),
            sidecars=sidecars,
            transactions=transactions,
            hash=self.hash,
            previous_hash=previous_hash,
            file_hash=sha384(content),
            metadata_hash=metadata_hash(self.hapi_version, previous_hash, self.hash, number),
            nodes=self.nodes,
        )

    def _complete_body(self, body: Any, payer: int, fee: int, node: int) -> None:
        transaction_id = body.transactionID
        if not transaction_id.HasField("accountID"):
            transaction_id.accountID.CopyFrom(account(payer))
        if not transaction_id.HasField("transactionValidStart"):
            valid_start = self.consensus_timestamp - _VALID_START_BEFORE
            transaction_id.transactionValidStart.CopyFrom(timestamp(valid_start))
        if not body.HasField("nodeAccountID"):
            body.nodeAccountID.CopyFrom(account(node))
        if not body.HasField("transactionValidDuration"):
            body.transactionValidDuration.seconds = _VALID_DURATION_SECONDS
        body.transactionFee = body.transactionFee or 2 * fee

    def _complete_record(self, record: Any, body: Any, result: int) -> None:
        if not record.HasField("consensusTimestamp"):
            record.consensusTimestamp.CopyFrom(timestamp(self.consensus_timestamp))
        if not record.HasField("transactionID"):
            record.transactionID.CopyFrom(body.transactionID)
        record.receipt.status = record.receipt.status or result
        record.memo = record.memo or body.memo

    @property
    def _first_node(self) -> int:
        return self.nodes[0].account_id if self.nodes else _FIRST_NODE_ACCOUNT

    def _add_fee(self, moved: Counter[int], payer: int, fee: int, node: int) -> None:
        if fee:
            share = fee // _NODE_SHARE
            shares = [(payer, -fee), (node, share), (self.fee_account, fee - share)]
            if self.fee_account == FEE_COLLECTION:
                shares = [(payer, -fee), (FEE_COLLECTION, fee)]
            for account_id, amount in shares:
                moved[account_id] += amount

    def _close_sidecars(self, name: str) -> tuple[dict[str, bytes], list[Any]]:
        if not self._sidecar_records:
            return {}, []
        content = messages.SidecarFile(sidecar_records=self._sidecar_records).SerializeToString()
        types = {_SIDECAR_TYPES[record.WhichOneof("sidecar_records")] for record in self._sidecar_records}
        metadata = messages.SidecarMetadata(id=1, hash=_hash_object(sha384(content)), types=sorted(types))
        return {record_names.sidecar_name(name, 1): compressed(content)}, [metadata]

    def _content(
        self, previous_hash: bytes, transactions: Iterable[ComposedTransaction], sidecars: Iterable[Any]
    ) -> bytes:
        major, minor, patch = self.hapi_version
        head = messages.RecordStreamFile(
            hapi_proto_version=messages.SemanticVersion(major=major, minor=minor, patch=patch),
            start_object_running_hash=_hash_object(previous_hash),
        )
        items = (
            wire.length_delimited(
                _ITEMS,
                wire.length_delimited(_ITEM_TRANSACTION, added.transaction_bytes)
                + wire.length_delimited(_ITEM_RECORD, added.record_bytes),
            )
            for added in transactions
        )
        tail = messages.RecordStreamFile(
            end_object_running_hash=_hash_object(self.hash), block_number=self.block_number, sidecars=sidecars
        )
        return b"".join((_LENGTH.pack(V6), head.SerializeToString(), *items, tail.SerializeToString()))


def _hash_object(digest: bytes) -> Any:
    return messages.HashObject(algorithm=_SHA_384, length=SHA_384_LENGTH, hash=digest)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def compressed(content: bytes) -> bytes:
    return gzip.compress(content, _COMPRESSION, mtime=0)


_IDS = frozenset({"AccountID", "ContractID", "FileID", "ScheduleID", "TokenID", "TopicID"})
_SHARD, _REALM = "shardNum", "realmNum"


def place(message: Any, shard: int, realm: int) -> None:
    """Put the ids in a message that have neither shard nor realm into these, but for ids of number 0."""
    if not shard and not realm:
        return
    fields = message.ListFields()
    if message.DESCRIPTOR.name in _IDS:
        set_fields = {field.name for field, value in fields if value}
        if set_fields and not set_fields & {_SHARD, _REALM}:
            message.shardNum, message.realmNum = shard, realm
        return
    for field, value in fields:
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                place(each, shard, realm)
