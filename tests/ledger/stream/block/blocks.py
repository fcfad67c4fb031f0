"""Writes native blocks of both generations: what a network would have said, as plain values."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from ledger.stream.block.block_file import read_block_file
from ledger.stream.block.block_items import read_items
from mirror.core.values.hapi.messages import (
    Block,
    BlockHeader,
    BlockItem,
    SignedTransaction,
    StateChange,
    StateChanges,
    TraceData,
    TransactionBody,
    TransactionOutput,
    TransactionResult,
)
from mirror.core.values.hashes import sha384
from mirror.demo.streams.record_files import timestamp
from mirror.demo.streams.threshold_signer import ThresholdSigner

OLDER, NEWER = (0, 69, 0), (0, 73, 0)
ACCOUNTS, STORAGE, BYTECODE, FILES, TOKENS, NODES, TOPICS, AIRDROPS = 2, 4, 5, 6, 7, 20, 21, 25
REGISTERED_NODES = 56
START = 1_770_000_000 * 10**9
SUCCESS = 22
FAILED = 9
PAYER = 1001
TOKEN = {"tokenNum": 5001}
OTHER = {"accountNum": 1002}

Change = Any


@dataclass(frozen=True)
class BlockFile:
    """A composed block: `data` as stored, `content` as hashed."""

    name: str
    number: int
    data: bytes
    content: bytes
    hash: bytes

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.name
        path.write_bytes(self.data)
        return path


def update(state: int, key: Mapping[str, Any], value: Mapping[str, Any] | None = None) -> Change:
    """A state change: a key of a map has a new value."""
    return StateChange(state_id=state, map_update={"key": key, "value": value or {}})


def delete(state: int, key: Mapping[str, Any]) -> Change:
    return StateChange(state_id=state, map_delete={"key": key})


def supply(total: int) -> Change:
    """The total supply of TOKEN."""
    return update(
        TOKENS, {"token_id_key": TOKEN}, {"token_value": {"token_id": TOKEN, "total_supply": total}}
    )


def topic(number: int, sequence_number: int = 0, running_hash: bytes = b"") -> Change:
    key = {"topicNum": number}
    value = {"topic_id": key, "sequence_number": sequence_number, "running_hash": running_hash}
    return update(TOPICS, {"topic_id_key": key}, {"topic_value": value})


class BlockStream:
    """Transactions in consensus order, closed into blocks of one round; each takes a microsecond."""

    def __init__(
        self,
        hapi_version: tuple[int, int, int] = NEWER,
        *,
        first_block: int = 0,
        signer: ThresholdSigner | None = None,
    ) -> None:
        """`signer` are the nodes who sign; without them blocks have the hash of their hash as a signature."""
        self.hapi_version = hapi_version
        self._signer = signer
        self.number = first_block
        self.hash = bytes(48)
        self.consensus_timestamp = START
        self._round = 1
        self._items: list[Any] = []

    def happen(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        *,
        status: int = SUCCESS,
        whole: Mapping[str, Any] | None = None,
        result: Mapping[str, Any] | None = None,
        outputs: Sequence[Mapping[str, Any]] = (),
        traces: Sequence[Mapping[str, Any]] = (),
        changes: Sequence[Change] = (),
        parent: int | None = None,
        signed: bytes | None = None,
        inner: bool = False,
    ) -> int:
        """Add a transaction; the consensus timestamp. That of `inner` stands in the batch before alone."""
        at = self.consensus_timestamp
        self.consensus_timestamp += 1_000
        if not inner:
            signed = signed or self.signed(kind, body, whole=whole)
            self._items.append(BlockItem(signed_transaction=signed))
        told = TransactionResult(status=status, consensus_timestamp=timestamp(at), **(result or {}))
        if parent is not None:
            told.parent_consensus_timestamp.CopyFrom(timestamp(parent))
        self._items.append(BlockItem(transaction_result=told))
        self._items += [BlockItem(transaction_output=TransactionOutput(**each)) for each in outputs]
        self._items += [BlockItem(trace_data=TraceData(**each)) for each in traces]
        if changes:
            self.change(*changes, at=at)
        return at

    def signed(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        *,
        whole: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> bytes:
        """A serialized SignedTransaction."""
        transaction_id = {
            "accountID": {"accountNum": PAYER},
            "transactionValidStart": timestamp(self.consensus_timestamp - 10**9),
        }
        message = TransactionBody(**({"transactionID": transaction_id} | dict(whole or {})))
        data = getattr(message, kind)
        data.SetInParent()
        data.MergeFrom(type(data)(**(body or {})))
        signed = SignedTransaction(bodyBytes=message.SerializeToString(), **options)
        serialized: bytes = signed.SerializeToString()
        return serialized

    def change(self, *changes: Change, at: int | None = None) -> None:
        """State changes; without `at` those of no transaction."""
        when = timestamp(self.consensus_timestamp if at is None else at)
        self.item(state_changes=StateChanges(consensus_timestamp=when, state_changes=changes))

    def item(self, **item: Any) -> None:
        """Any other item."""
        self._items.append(BlockItem(**item))

    def block(self, **header: Any) -> BlockFile:
        """Close the block; the next one starts a second later."""
        version = dict(zip(("major", "minor", "patch"), self.hapi_version, strict=True))
        given: dict[str, Any] = {
            "hapi_proto_version": version,
            "software_version": version,
            "number": self.number,
            "block_timestamp": timestamp(self.consensus_timestamp // 10**9 * 10**9),
        }
        rounds = [
            BlockItem(round_header={"round_number": self._round}),
            BlockItem(event_header={}),
            *self._items,
            BlockItem(round_header={"round_number": self._round + 1}),
            BlockItem(event_header={}),
        ]
        footer = {
            "previous_block_root_hash": self.hash,
            "root_hash_of_all_block_hashes_tree": bytes(48),
            "start_of_block_state_root_hash": bytes(48),
        }
        items = [
            BlockItem(block_header=BlockHeader(**(given | header))),
            *rounds,
            BlockItem(block_footer=footer),
        ]
        newer = self.hapi_version >= NEWER
        # Networks of the older generation did not sign at all.
        proof = None if newer else {"block": self.number}
        block = of_items(self.number, items, zstd=newer, proof=proof, signer=self._signer)
        self.number += 1
        self.hash = block.hash
        self.consensus_timestamp += 10**9
        self._round += 2
        self._items = []
        return block


def happen_of_all_kinds(stream: BlockStream) -> None:
    """Let something happen of each kind of item: a new account, a batch, a new contract with traces."""
    stream.happen("cryptoCreateAccount", outputs=[{"account_create": {"created_account_id": OTHER}}])
    at = stream.happen(
        "atomic_batch",
        {"transactions": [stream.signed("tokenMint", {"token": TOKEN, "amount": 3})]},
        changes=[supply(5), topic(6001, 2, b"hash")],
    )
    stream.happen("", inner=True, parent=at)
    usage = {
        "contract_id": {"contractNum": 2001},
        "written_slot_keys": {"keys": [b"\1"]},
        "slot_reads": [{"index": 0}],
    }
    trace = {
        "logs": [{"contract_id": {"contractNum": 2001}, "topics": [b"t"]}],
        "contract_slot_usages": [usage],
    }
    stream.happen(
        "contractCreateInstance",
        outputs=[{"contract_create": {"evm_transaction_result": {"contract_id": {"contractNum": 2001}}}}],
        traces=[{"evm_trace_data": trace}],
    )


def of_items(
    number: int,
    items: Sequence[Any],
    *,
    zstd: bool = True,
    proof: Any | None = None,
    signer: ThresholdSigner | None = None,
) -> BlockFile:
    """A file of these items and a proof, in a name of the generation."""
    unproved = Block(items=[*items, BlockItem(block_proof={"block": number})])
    root = read_items("composed", unproved.SerializeToString()).root_hash()
    signature = signer.sign(root) if signer else sha384(root)
    proof = proof or {"block": number, "signed_block_proof": {"block_signature": signature}}
    content = Block(items=[*items, BlockItem(block_proof=proof)]).SerializeToString()
    if zstd:
        return BlockFile(
            f"{number:019}.blk.zstd", number, zstandard.ZstdCompressor().compress(content), content, root
        )
    return BlockFile(f"{number:036}.blk.gz", number, gzip.compress(content, mtime=0), content, root)


def items_of(stream: BlockStream) -> Sequence[Any]:
    """Return the open block as it is read."""
    block = stream.block()
    return read_block_file(block.name, block.data).items
