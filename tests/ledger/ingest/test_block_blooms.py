"""Blooms of contract logs in blocks: over the EVM address, wherever the loader knows it from."""

from pathlib import Path

import pytest

from ledger.ingest.pipeline import Pipeline
from ledger.ingest.verification import Verification
from ledger.stream.source.local import find_record_files
from mirror.core.values import log_bloom
from mirror.core.values.entity_id import long_zero
from tests.ledger.ingest.load import settings, stored
from tests.ledger.stream.block.blocks import ACCOUNTS, BlockStream, update

pytestmark = pytest.mark.usefixtures("ledger_tables")

CONTRACT, ADDRESS = {"contractNum": 2001}, bytes(range(1, 21))
TOPIC = b"\7" * 32
OF_NUMBER = log_bloom.create_bloom(long_zero(2001), [TOPIC])
OF_ADDRESS = log_bloom.create_bloom(ADDRESS, [TOPIC])


def create(stream: BlockStream, parent: int | None = None) -> None:
    account = {"account_id": {"accountNum": 2001}, "alias": ADDRESS, "smart_contract": True}
    result = {"contract_id": CONTRACT, "gas_used": 5}
    stream.happen(
        "contractCreateInstance",
        outputs=[{"contract_create": {"evm_transaction_result": result}}],
        changes=[update(ACCOUNTS, {}, {"account_value": account})],
        parent=parent,
    )


def call(stream: BlockStream) -> int:
    return stream.happen(
        "contractCall",
        outputs=[{"contract_call": {"evm_transaction_result": {"contract_id": CONTRACT, "gas_used": 5}}}],
        traces=[{"evm_trace_data": {"logs": [{"contract_id": CONTRACT, "topics": [TOPIC]}]}}],
    )


def load(folder: Path) -> None:
    Pipeline().run(find_record_files([folder]))


def of_the_call() -> tuple[bytes, bytes, bytes]:
    """The blooms of the last log, of the last result and of the last block."""
    (log,) = stored("contract_log", "bloom")
    result = stored("contract_result", "consensus_timestamp, bloom")[-1]
    return log[0], result[1], stored("record_file", "index, logs_bloom")[-1][1]


@pytest.mark.parametrize("loads", [1, 2])
def test_the_address_of_a_contract_of_an_earlier_block_is_looked_up(tmp_path: Path, loads: int) -> None:
    stream = BlockStream()
    create(stream)
    stream.block().write(tmp_path)
    if loads == 2:
        load(tmp_path)
    call(stream)
    stream.block().write(tmp_path)
    load(tmp_path)

    assert of_the_call() == (OF_ADDRESS, OF_ADDRESS, OF_ADDRESS)
    assert Verification(quorums=None, found=print).run(find_record_files([tmp_path])).findings == 0


def test_a_contract_may_log_before_the_child_transaction_that_tells_of_its_creation(tmp_path: Path) -> None:
    stream = BlockStream()
    create(stream, parent=call(stream))
    stream.block().write(tmp_path)
    load(tmp_path)

    (log,) = stored("contract_log", "bloom")
    assert log == (OF_ADDRESS,)


def test_a_contract_without_an_address_logs_at_its_number(tmp_path: Path) -> None:
    stream = BlockStream()
    call(stream)
    stream.block().write(tmp_path)
    load(tmp_path)

    assert of_the_call() == (OF_NUMBER, OF_NUMBER, OF_NUMBER)


def test_what_the_settings_leave_out_counts_for_the_bloom_of_the_block(tmp_path: Path) -> None:
    stream = BlockStream()
    create(stream)
    stream.block().write(tmp_path)
    load(tmp_path)
    call(stream)
    stream.block().write(tmp_path)
    with settings(importer__parser__exclude="transaction=CONTRACTCALL"):
        load(tmp_path)

    assert stored("contract_log", "bloom") == []
    assert stored("record_file", "index, logs_bloom")[-1] == (1, OF_ADDRESS)
