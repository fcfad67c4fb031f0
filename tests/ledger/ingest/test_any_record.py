"""Nothing that a record can say stops the stream: every field of every transaction at its extremes.

All fields of all bodies are taken in turn, the record's and the sidecars' with one type each, the next one in
the next run. With MIRROR_TEST_RECORDS=all the record's are taken with every type.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from django.db import connection

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.stream.source.local import find_record_files
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import TransactionBody, TransactionRecord, TransactionSidecarRecord
from mirror.demo.streams.record_files import Block, ComposedTransaction, timestamp
from tests.composing import Composer
from tests.ledger.ingest.extremes import typical, variants
from tests.ledger.ingest.load import settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

ALL = os.environ.get("MIRROR_TEST_RECORDS", "") == "all"
PER_BLOCK, PER_BATCH = 200, 1_500

SUCCESS, INVALID_TRANSACTION, FAIL_INVALID = 22, 1, 23

DATA = TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields
TYPES = {field.name: field.number for field in DATA}
OTHERS = frozenset(TYPES)
# The network's own: the time is what a transaction is known by.
RECORD_WITHOUT, SIDECAR_WITHOUT = frozenset({"consensusTimestamp"}), frozenset({"consensus_timestamp"})
# In the receipt.
CREATED = {
    "accountID": "accountNum",
    "contractID": "contractNum",
    "fileID": "fileNum",
    "scheduleID": "scheduleNum",
    "tokenID": "tokenNum",
    "topicID": "topicNum",
}
FIRST_CREATED = 100_000
WITH_SIDECARS = ("contractCall", "contractCreateInstance", "ethereumTransaction", "cryptoTransfer")


class Case(NamedTuple):
    """A transaction: its type, what is at an extreme, its body, record and sidecars."""

    kind: str
    what: str
    body: Any
    record: Any
    sidecars: tuple[Any, ...] = ()


def body_cases() -> Iterator[Case]:
    """Every field of every type's body."""
    for field in DATA:
        for what, data in variants(field.message_type):
            yield Case(field.name, what, _body(field.name, data), _record())


def common_cases() -> Iterator[Case]:
    """Every field that the bodies of all types have."""
    for index, (what, body) in enumerate(variants(TransactionBody.DESCRIPTOR, OTHERS)):
        for kind in _kinds(index):
            yield Case(kind, what, _with_data(body, kind), _record())
    yield Case("", "no data", typical(TransactionBody.DESCRIPTOR, OTHERS), _record())


def record_cases() -> Iterator[Case]:
    """Every field of the record."""
    for index, (what, record) in enumerate(variants(TransactionRecord.DESCRIPTOR, RECORD_WITHOUT)):
        for kind in _kinds(index):
            yield Case(kind, f"record.{what}", _body(kind), record)


def sidecar_cases() -> Iterator[Case]:
    """Every field of a sidecar, which stands there twice."""
    for index, (what, sidecar) in enumerate(variants(TransactionSidecarRecord.DESCRIPTOR, SIDECAR_WITHOUT)):
        for kind in WITH_SIDECARS if ALL else [WITH_SIDECARS[index % len(WITH_SIDECARS)]]:
            yield Case(kind, f"sidecar.{what}", _body(kind), _record(), (sidecar, sidecar))


@pytest.mark.parametrize("cases", [body_cases, common_cases, record_cases, sidecar_cases])
@pytest.mark.parametrize("results", [[SUCCESS], [INVALID_TRANSACTION, FAIL_INVALID]], ids=["done", "failed"])
def test_whatever_a_record_says_its_transaction_and_transfers_are_stored(cases: Any, results: Any) -> None:
    taken = list(cases())
    network = Network(results)
    blocks = [network.block(taken[start : start + PER_BLOCK]) for start in range(0, len(taken), PER_BLOCK)]

    with settings(importer__parser__record__batch__maxItems=PER_BATCH, persist__entityTransactions=True):
        try:
            _load(blocks)
        except Exception as error:
            pytest.fail("\n".join([f"{type(error).__name__}: {error}", *_culprits(taken, results)]))

    composed = [transaction for block in blocks for transaction in block.transactions]
    assert stored("transaction", "consensus_timestamp, type, result") == [
        (each.consensus_timestamp, TYPES.get(case.kind, 0), each.record.receipt.status)
        for case, each in zip(taken, composed, strict=True)
    ]
    assert stored("crypto_transfer", "consensus_timestamp, entity_id, amount") == sorted(_transfers(composed))


class Network(Composer):
    """A network whose transactions end with these results in turn."""

    def __init__(self, results: list[int]) -> None:
        super().__init__()
        self._results = results
        self._count = 0

    def block(self, cases: Iterable[Case] | None = None) -> Block:
        for case in cases or ():
            self._add(case)
        return super().block()

    def _add(self, case: Case) -> None:
        body, record = TransactionBody(), TransactionRecord()
        body.CopyFrom(case.body)
        record.CopyFrom(case.record)
        self._count += 1
        if not case.what.startswith("record."):
            if self._count % 2:
                # What tokens do is told otherwise where no contract did it.
                record.ClearField("contractCallResult")
            if self._count % 3 == 0:
                record.parent_consensus_timestamp.CopyFrom(
                    timestamp(self.consensus_timestamp - self._interval)
                )
        if not case.what.startswith("record.receipt"):
            # What is created was not there before: nothing stored fills in what this one leaves out.
            for name, number in CREATED.items():
                setattr(getattr(record.receipt, name), number, FIRST_CREATED + self._count)
        if not case.what.startswith("record.receipt.status"):
            record.receipt.status = self._results[self._count % len(self._results)]
        sidecars = []
        for sidecar in case.sidecars:
            copy = TransactionSidecarRecord()
            copy.CopyFrom(sidecar)
            if copy.WhichOneof("sidecar_records"):
                sidecars.append(copy)
        self.transaction(body, record, fee=0, sidecars=sidecars)


def _load(blocks: Iterable[Block], *, allow_gap: bool = False) -> None:
    with TemporaryDirectory() as folder:
        for block in blocks:
            block.write(Path(folder))
        Pipeline(LoadOptions(allow_gap=allow_gap)).run(find_record_files([Path(folder)]))


def _culprits(cases: Iterable[Case], results: list[int]) -> Iterator[str]:
    """What alone stops a stream, for who has to mend it."""
    network = Network(results)
    with connection.cursor() as cursor:
        cursor.execute("select coalesce(max(consensus_end), 0) from record_file")
        network.consensus_timestamp = max(network.consensus_timestamp, cursor.fetchone()[0] + 10**10)
    problems: dict[str, list[Case]] = {}
    for case in _in_bad_blocks(network, list(cases)):
        try:
            _load([network.block([case])], allow_gap=True)
        except Exception as error:
            problems.setdefault(_kind_of(error), []).append(case)
    for problem, stopped in problems.items():
        yield f"{len(stopped)} times {problem}, first for {stopped[0].kind} with {stopped[0].what}"


def _in_bad_blocks(network: Network, cases: list[Case]) -> Iterator[Case]:
    for start in range(0, len(cases), PER_BLOCK // 4):
        some = cases[start : start + PER_BLOCK // 4]
        try:
            _load([network.block(some)], allow_gap=True)
        except Exception:
            yield from some


def _kind_of(error: Exception) -> str:
    """An error without what it says of the single transaction."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {re.sub('[0-9]{4,}', 'N', first)[:300]}"


def _transfers(composed: Iterable[ComposedTransaction]) -> Iterator[tuple[int, int, int]]:
    for each in composed:
        for transfer in each.record.transferList.accountAmounts:
            yield each.consensus_timestamp, entity_id.from_account(transfer.accountID), transfer.amount


def _kinds(index: int) -> list[str]:
    """The types that take part in a case that is not about one of them."""
    names = list(TYPES)
    return names if ALL else [names[index % len(names)]]


def _body(kind: str, data: Any = None) -> Any:
    return _with_data(typical(TransactionBody.DESCRIPTOR, OTHERS), kind, data)


def _with_data(body: Any, kind: str, data: Any = None) -> Any:
    complete = TransactionBody()
    complete.CopyFrom(body)
    field = TransactionBody.DESCRIPTOR.fields_by_name[kind]
    getattr(complete, kind).CopyFrom(typical(field.message_type) if data is None else data)
    getattr(complete, kind).SetInParent()
    return complete


def _record() -> Any:
    return typical(TransactionRecord.DESCRIPTOR, RECORD_WITHOUT)
