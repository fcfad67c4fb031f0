"""Single flipped bits in blocks, signatures and keys: each must be refused, or change nothing.

A subject is something that is sound; `outcome` says what becomes of it with a bit flipped. An outcome other
than those of Outcome is a defect, and raises.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from ledger.proofs.threshold import threshold, verify_proof
from ledger.proofs.threshold.identity import LedgerIdentity, WrongSignature, identity_from_publication
from ledger.stream.block.block_file import read_block_file
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from ledger.stream.source.blocks import FetchedBlock
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import (
    Block,
    ContractBytecode,
    DecodeError,
    LedgerIdPublicationTransactionBody,
    SidecarFile,
    TransactionSidecarRecord,
)
from mirror.core.values.hashes import sha384
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.ledger.proofs.threshold.test_threshold import published
from tests.ledger.stream.block.blocks import NEWER, BlockFile, BlockStream, happen_of_all_kinds, of_items
from tests.ledger.stream.block.ledgers import publication
from tests.ledger.stream.block.state_proofs import proved_by_later
from tests.ledger.stream.block.wrapped import NUMBER, contents, transactions, wrap
from tests.ledger.stream.fixtures import PRESENT
from tests.signing import signing_nodes

SIGNER = ThresholdSigner({0: 10, 1: 20, 4: 30}, "a network of tests")
RSA_NODES = signing_nodes(3)
MESSAGE = bytes(range(48))


class Outcome(StrEnum):
    REFUSED = "refused"
    SAME = "changes nothing"
    # The hash of a wrapped block is signed by nobody; the next block repeats it.
    CHAIN = "changes only the hash of the block around the file"


class Undetected(AssertionError):
    """A flipped bit has changed what is read."""


@dataclass(frozen=True)
class Subject:
    """Something sound: its kind, its bytes, and what becomes of other bytes in their place."""

    kind: str
    data: bytes
    outcome: Callable[[bytes], Outcome]

    def flipped(self, bit: int) -> Outcome:
        changed = bytearray(self.data)
        changed[bit // 8] ^= 1 << bit % 8
        try:
            return self.outcome(bytes(changed))
        except Exception as error:
            raise Undetected(f"{self.kind}, bit {bit}: {type(error).__name__}: {error}") from error


def subjects() -> Iterator[Subject]:
    yield from (_of_block(kind, block) for kind, block in blocks().items())
    signature = SIGNER.sign(MESSAGE)
    yield _of_signature("Schnorr signature of simulated nodes", SIGNER.identity, MESSAGE, signature)
    if PRESENT:
        ledger, message, signatures = published()
        for form, signature in signatures.items():
            yield _of_signature(f"published {form} signature", ledger, message, signature)
        yield _of_key("published key of WRAPS proofs", ledger, message, signatures["wraps"])
    yield _of_publication("publication of a ledger id")
    yield Subject("verification key", signature_key(), _key_outcome)


# BLOCKS


def blocks() -> dict[str, BlockFile]:
    """Blocks of all kinds, signed as they have to be."""
    native, later = _native(SIGNER)
    found = {
        "native block, threshold signature": native,
        "native block, as it is stored": BlockFile(
            f"{native.number:019}.blk.zstd", native.number, native.data, native.content, native.hash
        ),
        "native block, signature of a later one": proved_by_later(native, later, SIGNER),
        "first block with the publication": _first(),
    }
    sidecar = SidecarFile(
        sidecar_records=[TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"code"))]
    )
    metadata = {
        "id": 1,
        "hash": {"algorithm": 1, "length": 48, "hash": sha384(sidecar.SerializeToString())},
        "types": [3],
    }
    for version in (2, 5, 6):
        file = contents(min(version, 5), transactions(), sidecars=[metadata] if version == 6 else [])
        block = wrap(version, file, previous=b"p" * 48, sidecars=[sidecar] if version == 6 else [])
        found[f"wrapped record file of format {version}"] = _signed_by_nodes(block, version)
    found["wrapped record file, threshold signature"] = _signed_by_ledger(
        wrap(2, contents(2, transactions()))
    )
    return found


def _native(signer: ThresholdSigner) -> tuple[BlockFile, list[BlockFile]]:
    stream = BlockStream(NEWER, first_block=3, signer=signer)
    happen_of_all_kinds(stream)
    block = stream.block()
    return block, [stream.block(), stream.block()]


def _first() -> BlockFile:

    stream = BlockStream(signer=SIGNER)
    stream.happen("ledger_id_publication", publication(SIGNER.identity))
    return stream.block()


def _signed_by_nodes(block: BlockFile, version: int) -> BlockFile:
    file_hash = bytes.fromhex(read_block_file(block.name, block.data).file_hash)
    signatures = [{"node_id": node.node_id, "signatures_bytes": node.sign(file_hash)} for node in RSA_NODES]
    proof = {"version": version, "record_file_signatures": signatures}
    return _proved(block, {"signed_record_file_proof": proof})


def _signed_by_ledger(block: BlockFile) -> BlockFile:
    return _proved(block, {"signed_block_proof": {"block_signature": SIGNER.sign(block.hash)}})


def _proved(block: BlockFile, proof: dict[str, Any]) -> BlockFile:
    items = [each for each in Block.FromString(block.content).items if not each.HasField("block_proof")]
    return of_items(NUMBER, items, proof={"block": NUMBER} | proof)


def _of_block(kind: str, block: BlockFile) -> Subject:
    stored = "stored" in kind
    data, name = (block.data, block.name) if stored else (block.content, f"{block.number:019}.blk")
    # The first block is to be verified by its own publication.
    ledger = None if block.number == 0 else SIGNER.identity
    nodes = [node.address_book_node for node in RSA_NODES]
    mode = ConsensusMode.STAKE_IN_ADDRESS_BOOK
    quorum = Quorum.from_address_book(nodes, {}, mode, Fraction(1, 3), ledger, first_block_trusted=True)

    def verified(data: bytes) -> RecordFile:
        fetched = FetchedBlock(name, block.number, read_block_file(name, data), "test")
        return fetched.verify(lambda at: quorum, sidecars=True).record_file()

    sound = verified(data)

    def outcome(data: bytes) -> Outcome:
        try:
            file = verified(data)
        except StreamFileError:
            return Outcome.REFUSED
        assert told(file) == told(sound), "another content"
        wrappers = [each.wrapper.hash if each.wrapper else None for each in (file, sound)]
        same = wrappers[0] == wrappers[1] and file.previous_wrapper_hash == sound.previous_wrapper_hash
        return Outcome.SAME if same else Outcome.CHAIN

    assert outcome(data) is Outcome.SAME
    return Subject(kind, data, outcome)


def told(file: RecordFile) -> object:
    """All of a file that becomes rows, but for the chain of blocks around record files."""
    items = [(item.transaction_bytes, item.record_bytes, item.sidecar_records) for item in file.items]
    sidecars = {number: (sidecar.size, sidecar.records) for number, sidecar in file.sidecar_files.items()}
    columns = {
        name: getattr(file, name)
        for name in (
            "name", "version", "hapi_version", "software_version", "hash", "previous_hash", "file_hash",
            "block_number", "consensus_start", "consensus_end", "round_start", "round_end", "genesis",
        )
    }  # fmt: skip
    return items, sidecars, columns


# SIGNATURES AND KEYS


def _of_signature(kind: str, ledger: LedgerIdentity, message: bytes, signature: bytes) -> Subject:
    def outcome(data: bytes) -> Outcome:
        try:
            threshold.verify(ledger, message, data)
        except WrongSignature:
            return Outcome.REFUSED
        raise AssertionError("another signature holds")

    threshold.verify(ledger, message, signature)
    return Subject(kind, signature, outcome)


def _of_key(kind: str, ledger: LedgerIdentity, message: bytes, signature: bytes) -> Subject:
    def outcome(data: bytes) -> Outcome:
        try:
            threshold.verify(ledger._replace(proof_key=data), message, signature)
        except WrongSignature:
            return Outcome.REFUSED
        # One number of the key belongs to a kind of proofs that is not used.
        return Outcome.SAME

    return Subject(kind, ledger.proof_key, outcome)


def _of_publication(kind: str) -> Subject:
    """A publication that the operator names: with another one, what is signed is refused or is the same."""

    signature = SIGNER.sign(MESSAGE)

    def outcome(data: bytes) -> Outcome:
        try:
            body = messages.parse(LedgerIdPublicationTransactionBody, data)
            threshold.verify(identity_from_publication(body), MESSAGE, signature)
        except (DecodeError, WrongSignature):
            return Outcome.REFUSED
        return Outcome.SAME

    return Subject(
        kind, LedgerIdPublicationTransactionBody(**publication(SIGNER.identity)).SerializeToString(), outcome
    )


def signature_key() -> bytes:
    return SIGNER.sign(MESSAGE)[: verify_proof.KEY]


def _key_outcome(data: bytes) -> Outcome:
    """What becomes of another key that somebody claims to be proved."""
    signature = SIGNER.sign(MESSAGE)
    try:
        threshold._check(verify_proof.key_parts(data), MESSAGE, data + signature[verify_proof.KEY :])
    except (verify_proof.Rejected, ValueError):
        return Outcome.REFUSED
    raise AssertionError("another key holds")
