"""Writers of the formats networks no longer write, and of one sound file of each kind to spoil."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any

from ledger.stream.binary_format import HASH_CLASS_ID, RECORD_CLASS_ID, SHA_384_DIGEST_TYPE, running_hash
from ledger.stream.record_file import read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.signature_file import SIGNATURE_CLASS_ID, read_signature_file
from mirror.core.values.hapi.messages import ContractBytecode, TransactionSidecarRecord
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.streams.signing import SigningNode
from tests.composing import Composer
from tests.signing import signing_nodes

ZERO_HASH = bytes(48)
TIME = "2025-01-01T00_00_00.000000000Z"


def record_v1_v2(
    version: int, transactions: Sequence[ComposedTransaction], previous_hash: bytes = ZERO_HASH
) -> bytes:
    items = (b"\2" + _blob(added.transaction_bytes) + _blob(added.record_bytes) for added in transactions)
    return pack(">ii", version, 3) + b"\1" + previous_hash + b"".join(items)


def record_v5(
    transactions: Sequence[ComposedTransaction],
    previous_hash: bytes = ZERO_HASH,
    hapi_version: tuple[int, int, int] = (0, 27, 1),
) -> bytes:
    running = previous_hash
    out = pack(">iiiii", 5, *hapi_version, 1) + hash_object(previous_hash)
    for added in transactions:
        running = running_hash(running, added.record_bytes, added.transaction_bytes)
        out += pack(">Qi", RECORD_CLASS_ID, 1) + _blob(added.record_bytes) + _blob(added.transaction_bytes)
    return out + hash_object(running)


def hash_object(digest: bytes) -> bytes:
    return pack(">QiIi", HASH_CLASS_ID, 1, SHA_384_DIGEST_TYPE, len(digest)) + digest


def signature_v2(node: SigningNode, file_hash: bytes) -> bytes:
    return b"\4" + file_hash + b"\3" + _blob(node.sign(file_hash))


def signature_v5(node: SigningNode, file_hash: bytes, metadata_hash: bytes) -> bytes:
    out = b"\5" + pack(">i", 1)
    for digest in (file_hash, metadata_hash):
        signature = node.sign(digest)
        length = len(signature)
        out += (
            hash_object(digest) + pack(">Qiiii", SIGNATURE_CLASS_ID, 1, 1, length, 101 - length) + signature
        )
    return out


def _blob(data: bytes) -> bytes:
    return pack(">i", len(data)) + data


def transactions(count: int = 2) -> list[ComposedTransaction]:
    composer = Composer()
    return [composer.crypto_transfer({1001: -5, 1002: 5}, payer=1001) for _ in range(count)]


@dataclass(frozen=True)
class SoundFile:
    """A file that reads without error, and how it is read."""

    kind: str
    name: str
    data: bytes
    read: Callable[[str, bytes], Any]


def sound_files() -> list[SoundFile]:
    """One file of every kind and format."""
    (node,) = signing_nodes(1)
    composer = Composer(nodes=(node,))
    bytecode = TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"code"))
    composer.crypto_transfer({1001: -5, 1002: 5}, payer=1001, sidecars=[bytecode])
    composer.crypto_transfer({1001: -5, 1002: 5}, payer=1001, memo="a memo")
    block = composer.block()
    (sidecar_name,) = block.sidecars
    sidecar_hash = read_record_file(block.name, block.data).sidecars[0].hash
    old = transactions()
    digests = block.file_hash, block.metadata_hash
    return [
        SoundFile("record v1", f"{TIME}.rcd", record_v1_v2(1, old), read_record_file),
        SoundFile("record v2", f"{TIME}.rcd", record_v1_v2(2, old), read_record_file),
        SoundFile("record v5", f"{TIME}.rcd", record_v5(old), read_record_file),
        SoundFile("record v6", block.name, block.data, read_record_file),
        SoundFile(
            "sidecar",
            sidecar_name,
            block.sidecars[sidecar_name],
            lambda name, data: read_sidecar_file(name, data, sidecar_hash),
        ),
        SoundFile(
            "signature v2", f"{TIME}.rcd_sig", signature_v2(node, block.file_hash), read_signature_file
        ),
        SoundFile("signature v5", f"{TIME}.rcd_sig", signature_v5(node, *digests), read_signature_file),
        SoundFile("signature v6", f"{TIME}.rcd_sig", block.signature(node), read_signature_file),
    ]
