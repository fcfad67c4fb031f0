"""Proofs of transactions in composed blocks, as documents."""

import json
from base64 import b64encode
from typing import Any

from ledger.portable_proofs.compose import compose
from ledger.portable_proofs.verdict import Trusted
from ledger.stream.block.block_items import read_items
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.build import Build, insert
from tests.ledger.stream.block.blocks import NEWER, PAYER, BlockFile, BlockStream, topic

NODES = ThresholdSigner({0: 10, 1: 20, 2: 30}, "nodes of proofs")
KNOWN = Trusted(ledger=NODES.identity)

FAILED = 2
# How long a transaction has been valid when it happens.
VALID = 10**9 - 1_000


def block_of(hapi_version: tuple[int, int, int] = NEWER) -> tuple[BlockFile, list[int]]:
    """A signed block of six transactions, and their times: the fourth has an output and a change."""
    stream = BlockStream(hapi_version, first_block=7, signer=NODES)
    times = [stream.happen("cryptoTransfer") for _ in range(2)]
    stream.item(signed_transaction=stream.signed("state_signature_transaction"))
    times.append(stream.happen("consensusSubmitMessage", status=12))
    times.append(
        stream.happen(
            "util_prng", outputs=[{"util_prng": {"prng_number": 5}}], changes=[topic(5, 1, b"\1" * 48)]
        )
    )
    times += [stream.happen("cryptoTransfer") for _ in range(2)]
    return stream.block(), times


def proof_of(block: BlockFile, at: int, **options: Any) -> dict[str, Any]:
    """The document, as it comes out of a file."""
    content = read_items(block.name, block.content)
    composed = compose(content, block.content, at, NODES.identity, **options)
    document: dict[str, Any] = json.loads(json.dumps(composed))
    return document


def batch_block() -> tuple[BlockFile, list[int]]:
    """A block of a batch with two inner transactions and one after it."""
    stream = BlockStream(first_block=7, signer=NODES)
    inner = [stream.signed("consensusSubmitMessage", {"message": bytes([number])}) for number in range(2)]
    batch = stream.happen("atomic_batch", {"transactions": inner})
    times = [batch, *(stream.happen("", inner=True, parent=batch) for _ in inner)]
    times.append(stream.happen("cryptoTransfer"))
    return stream.block(), times


def load(build: Build, block: BlockFile, times: list[int], **columns: Any) -> None:
    """Insert the rows of a block of `block_of`, and of the ledger whose nodes have signed it."""
    ledger = NODES.identity
    nodes = [
        {"node_id": each.node_id, "weight": each.weight, "history_proof_key": b64encode(each.key).decode()}
        for each in ledger.contributors
    ]
    insert(
        "ledger",
        ledger_id=ledger.ledger_id,
        consensus_timestamp=1,
        history_proof_verification_key=ledger.proof_key,
        node_contributions=json.dumps(nodes),
    )
    for index, at in enumerate(times):
        result = 12 if index == FAILED else 22
        build.transaction(at, payer=PAYER, transfers=(), valid_start_ns=at - VALID, result=result)
    row = {"consensus_start": times[0], "name": block.name, "version": 7, "hash": block.hash.hex()}
    build.block(block.number, end=times[-1], file_hash="", **(row | columns))
