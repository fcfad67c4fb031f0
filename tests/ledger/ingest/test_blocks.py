"""The numbers of blocks, what a load costs in queries, and the switches of what is kept."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.ingest import IngestError
from ledger.ingest.pipeline import Pipeline
from ledger.models import CryptoTransfer, Entity
from ledger.stream import record_names
from ledger.stream.source.local import find_record_files
from mirror.core import config
from mirror.core.db.writing.rows import Rows
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.record_formats import record_v5
from tests.logs import events

pytestmark = pytest.mark.usefixtures("ledger_tables")

START = 1_735_689_600_000_000_000


@pytest.mark.checklist("FILE-12", "FILE-04")
def test_blocks_counted_before_format_6_are_shifted_to_the_first_number_in_a_file(tmp_path: Path) -> None:
    older = Stream(previous_hash=bytes(range(48)))
    for _ in range(2):
        older.send({1001: -1, 1002: 1})
        block = older.block()
        name = record_names.record_name(block.transactions[0].consensus_timestamp, version=5)
        (tmp_path / name).write_bytes(record_v5(block.transactions, block.previous_hash))
    newer = Stream(start=older.consensus_timestamp, previous_hash=older.hash, first_block=500)
    for _ in range(2):
        newer.send({1001: -1, 1002: 1})
        newer.block().write(tmp_path)
    files = find_record_files([tmp_path])

    for file in files:
        Pipeline().run([file])
    one_by_one = contents()
    empty_tables()
    Pipeline().run(files)

    assert stored("record_file", "index, version") == [(498, 5), (499, 5), (500, 6), (501, 6)]
    assert contents() == one_by_one


@pytest.mark.checklist("FILE-19")
def test_a_block_lasts_from_its_first_transaction_in_time_to_its_last(caplog: Any) -> None:
    stream = Stream()
    times = []
    for offset in (5, 9, 2, 7):
        stream.consensus_timestamp = START + offset
        times.append(stream.send({1001: -1, 1002: 1}))
    load(stream.block())

    assert stored("record_file", "consensus_start, consensus_end") == [(min(times), max(times))]
    assert stored("transaction", "consensus_timestamp, index") == [
        (START + 2, 2),
        (START + 5, 0),
        (START + 7, 3),
        (START + 9, 1),
    ]
    assert "the first transaction is not the first in time" in caplog.text


def test_an_operator_may_stop_at_a_block_that_is_out_of_order() -> None:
    stream = Stream()
    for offset in (5, 2):
        stream.consensus_timestamp = START + offset
        stream.send({1001: -1, 1002: 1})
    with settings(importer__parser__haltOnError=True), pytest.raises(IngestError, match="first in time"):
        load(stream.block())

    assert stored("record_file", "name") == []


@pytest.mark.checklist("FILE-20")
def test_the_next_block_may_have_transactions_from_before_the_end_of_the_last() -> None:
    stream = Stream()
    first = stream.send({1001: -1, 1002: 1})
    stream.consensus_timestamp = first + 1000
    last = stream.send({1001: -1, 1002: 1})
    blocks = [stream.block()]
    stream.consensus_timestamp = last - 10
    early = stream.send({1001: -1, 1002: 1})
    stream.consensus_timestamp = last + 10
    late = stream.send({1001: -1, 1002: 1})
    load_in_any_batches(*blocks, stream.block())

    assert [at for (at,) in stored("transaction", "consensus_timestamp")] == [first, early, last, late]
    assert stored("record_file", "consensus_start, consensus_end") == [(first, last), (early, late)]


@pytest.mark.checklist("FILE-19")
def test_a_block_may_be_empty() -> None:
    stream = Stream()
    stream.send({1001: -1, 1002: 1})
    blocks = [stream.block()]
    at = stream.consensus_timestamp
    blocks.append(stream.block())
    stream.send({1001: -1, 1002: 1})
    load_in_any_batches(*blocks, stream.block())

    columns = "index, consensus_start, consensus_end, count, gas_used, logs_bloom"
    assert stored("record_file", columns)[1] == (1, at, at, 0, 0, b"")
    assert [index for (index,) in stored("record_file", "index")] == [0, 1, 2]


@pytest.mark.checklist("PERF-01")
def test_writing_many_rows_takes_as_many_statements_as_writing_few() -> None:
    def statements(rows_per_table: int) -> int:
        rows = Rows()
        for number in range(1, rows_per_table + 1):
            rows.insert(
                CryptoTransfer, entity_id=number, consensus_timestamp=number, amount=1, payer_account_id=1
            )
            rows.upsert(Entity, since=number, id=number, type="ACCOUNT")
            rows.upsert(Entity, id=number + 1_000_000, balance=1)
        with CaptureQueriesContext(connection) as captured, connection.cursor() as cursor:
            rows.write(cursor)
        empty_tables()
        return len(captured)

    assert statements(2) == statements(200)
    # More changes are staged.
    assert statements(300) == statements(1000)


@pytest.mark.checklist("PERF-02")
def test_reading_many_transactions_takes_as_many_queries_as_reading_few() -> None:
    def queries(transactions: int) -> int:
        stream = Stream()
        for number in range(transactions):
            stream.create(1001 + number, 100)
            stream.send({1001: -1, 1002: 1})
            stream.happen(
                "consensusCreateTopic", record={"receipt": {"topicID": {"topicNum": 5000 + number}}}
            )
        block = stream.block()
        with CaptureQueriesContext(connection) as captured:
            load(block)
        empty_tables()
        return len(captured)

    assert queries(100) == queries(2)


@pytest.mark.checklist("CFG-01")
def test_what_is_stored_by_default() -> None:
    prefix = "importer.parser.record.entity.persist."

    def kept(name: str) -> Any:
        return config.lookup(prefix + name).default

    on = (
        "contracts contractResults contractTransaction contractTransactionHash cryptoTransferAmounts "
        "entityHistory ethereumTransactions files pendingReward schedules syntheticContractLogs "
        "syntheticContractLogsMulti syntheticContractLogEvmAddressLookup systemFiles tokenAirdrops tokens "
        "topics trackAllowance trackBalance trackNonce transactionHash"
    )
    off = (
        "claims entityNftTransactions entityTransactions itemizedTransfers syntheticContractResults "
        "transactionBytes transactionRecordBytes"
    )

    assert {name: kept(name) for name in (on + " " + off).split()} == {
        **dict.fromkeys(on.split(), True),
        **dict.fromkeys(off.split(), False),
    }
    assert kept("entityTransactionExclusion") == ("98", "800", "801", "802")
    assert kept("transactionHashExclusion") == ("CONSENSUSSUBMITMESSAGE",)
    assert kept("transactionSignatures") == ("SCHEDULECREATE", "SCHEDULESIGN")


def test_the_log_has_a_line_for_each_file_that_is_stored(caplog: Any) -> None:
    caplog.set_level("INFO", "ledger.ingest.stages")
    stream = Stream()
    stream.send({1001: -1, 1002: 1})
    first = stream.block()
    stream.send({1001: -1, 1002: 1})
    stream.send({1001: -1, 1002: 1})
    with settings(clock__now=stream.consensus_timestamp / 10**9 + 60):
        load(first, stream.block())

    batch, *files = [event for event in events(caplog) if event["event"] in ("batch_written", "file_loaded")]
    assert (batch["event"], batch["files"]) == ("batch_written", 2)
    assert sum(file["rows"] for file in files) <= batch["rows"]
    names = [name for (name,) in stored("record_file", "name")]
    assert [(file["file"], file["block"], file["items"], file["rows"] > 0) for file in files] == [
        (names[0], 0, 1, True),
        (names[1], 1, 2, True),
    ]
    assert all(59_000 < file["lag_ms"] < 70_000 for file in files)


def test_the_log_has_no_lines_of_files_unless_a_level_wants_them(caplog: Any) -> None:
    stream = Stream()
    stream.send({1001: -1, 1002: 1})
    load(stream.block())

    assert events(caplog) == []
