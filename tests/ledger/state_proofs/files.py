"""Signed record files of every format for tests of proofs, and the rows that loading them makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ledger.stream import record_names
from ledger.stream.content import content_of
from ledger.stream.record_file import RecordFile
from ledger.stream.record_formats import read_record_file
from mirror.core.values import timestamp, transaction_id
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.streams.signing import SigningNode, address_book
from tests.build import START, Build, insert
from tests.composing import Composer
from tests.ledger.stream import record_formats

PAYER = 1001
VERSIONS = (1, 2, 5, 6)
BOOK = address_book(node.address_book_node for node in nodes())
# The place of the transaction that is proved among those of a file.
PROVED = 1


@dataclass(frozen=True)
class Published:
    """A record file with three transactions, and the signature file of each node, by node."""

    name: str
    data: bytes
    signatures: dict[SigningNode, bytes]
    transactions: Sequence[ComposedTransaction]

    @property
    def record(self) -> RecordFile:
        return read_record_file(self.name, self.data)

    @property
    def content(self) -> bytes:
        return content_of(record_names.parse(self.name), self.data)

    @property
    def proved(self) -> ComposedTransaction:
        return self.transactions[PROVED]

    @property
    def url(self) -> str:
        return f"/api/v1/transactions/{self.transaction_id}/stateproof"

    @property
    def transaction_id(self) -> str:
        start = timestamp.to_ns(self.proved.body.transactionID.transactionValidStart)
        return transaction_id.text(PAYER, start)

    def write(self, folder: Path, layout: str = "recordstreams/record0.0.{account}") -> None:
        """Write the file and its signatures as all nodes publish them."""
        for node in self.signatures:
            self.write_of(node, folder, layout)

    def write_of(
        self, node: SigningNode, folder: Path, layout: str = "recordstreams/record0.0.{account}"
    ) -> Path:
        of_node = folder / layout.format(account=node.account_id, node=node.node_id)
        of_node.mkdir(parents=True, exist_ok=True)
        (of_node / self.name).write_bytes(self.data)
        (of_node / record_names.signature_name(self.name)).write_bytes(self.signatures[node])
        return of_node

    def load(self, build: Build, **columns: object) -> None:
        """Insert the rows of the file and its transactions, and of the address book."""
        record = self.record
        for added in self.transactions:
            start = timestamp.to_ns(added.body.transactionID.transactionValidStart)
            build.transaction(added.consensus_timestamp, payer=PAYER, transfers=(), valid_start_ns=start)
        build.block(
            5,
            end=record.consensus_end,
            **{
                "consensus_start": record.consensus_start,
                "name": self.name,
                "version": record.version,
                "hash": record.hash,
                "file_hash": record.file_hash,
            }
            | columns,
        )
        load_book(1)


def load_book(start: int, content: bytes = BOOK) -> None:
    """Insert an address book with all nodes, valid from `start`."""
    insert(
        "address_book",
        start_consensus_timestamp=start,
        file_id=102,
        node_count=len(nodes()),
        file_data=content,
    )
    for node in nodes():
        insert(
            "address_book_entry",
            consensus_timestamp=start,
            node_id=node.node_id,
            node_account_id=node.account_id,
            public_key=node.address_book_node.public_key,
            memo=f"0.0.{node.account_id}",
        )


def published(version: int = 6, start: int = START) -> Published:
    """Return a file of a format."""
    composer = Composer(nodes=nodes(), start=start)
    transactions = [composer.crypto_transfer({PAYER: -5, 1002: 5}, payer=PAYER) for _ in range(3)]
    block = composer.block()
    if version == 6:
        return Published(
            block.name, block.data, {node: block.signature(node) for node in nodes()}, transactions
        )
    name = block.name.removesuffix(".gz")
    data = (
        record_formats.record_v5(transactions)
        if version == 5
        else record_formats.record_v1_v2(version, transactions)
    )
    return Published(name, data, signatures(name, data), transactions)


def signatures(name: str, data: bytes) -> dict[SigningNode, bytes]:
    """Return what nodes sign a file of a format before 6 with."""
    record = read_record_file(name, data)
    file_hash = bytes.fromhex(record.file_hash)
    if record.metadata_hash is None:
        return {node: record_formats.signature_v2(node, file_hash) for node in nodes()}
    metadata_hash = bytes.fromhex(record.metadata_hash)
    return {node: record_formats.signature_v5(node, file_hash, metadata_hash) for node in nodes()}
