"""Contract data of real files: the tables say what is known of mainnet's and the test networks' blocks."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.stream.source.local import find_record_files
from mirror.core.values import ethereum
from tests.ledger.ingest.load import stored
from tests.ledger.stream.fixtures import ROOT, needs_fixtures

pytestmark = [pytest.mark.django_db(transaction=True), needs_fixtures]


def load(folder: Path) -> Pipeline:
    pipeline = Pipeline(LoadOptions(allow_gap=True))
    pipeline.run(find_record_files([folder]))
    return pipeline


def query(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def count(table: str) -> int:
    return int(query(f"select count(*) from {table}")[0][0])


def test_a_mainnet_block_of_decentralised_exchanges() -> None:
    load(ROOT / "mainnet-extracted" / "v6")

    assert {
        table: count(table)
        for table in ("contract_result", "contract_action", "contract_state_change", "ethereum_transaction")
    } == {
        "contract_result": 39,
        "contract_action": 214,
        "contract_state_change": 221,
        "ethereum_transaction": 1,
    }
    assert query("select count(*) from contract_log where length(bloom) = 256") == [(34,)]
    assert query("select count(*) from contract_log where synthetic") == [(11,)]
    indexes = [
        index for (index,) in query("select index from contract_log order by consensus_timestamp, index")
    ]
    assert indexes == list(range(len(indexes)))


@pytest.mark.checklist("CON-16")
def test_gas_consumed_of_a_mainnet_block() -> None:
    load(ROOT / "mainnet-extracted" / "v6")

    # A transaction without gas used never ran, so it has consumed none.
    assert stored("contract_result", "transaction_index, gas_consumed", "gas_consumed is not null") == [
        (None, 0),
        (0, 146863),
        (1, 140962),
        (2, 140964),
        (3, 134126),
        (4, 175069),
        (5, 730099),
    ]


def test_the_logs_of_a_mainnet_block_add_up_to_its_bloom() -> None:
    load(ROOT / "mainnet-extracted" / "v6")

    blooms = query("select bloom from contract_log where length(bloom) = 256")
    together = 0
    for (bloom,) in blooms:
        together |= int.from_bytes(bytes(bloom), "big")
    assert [bytes(bloom) for (bloom,) in query("select logs_bloom from record_file")] == [
        together.to_bytes(256, "big")
    ]


@pytest.mark.checklist("ETH-09", "CON-13")
def test_an_ethereum_transaction_is_found_by_its_own_hash() -> None:
    load(ROOT / "streams" / "eth-0.26")

    ((at, data, hash),) = stored("ethereum_transaction", "consensus_timestamp, data, hash")
    assert hash == ethereum.decode(data).computed_hash()
    assert stored("contract_result", "transaction_hash", f"consensus_timestamp = {at}") == [(hash,)]
    assert stored("contract_transaction_hash", "hash", f"consensus_timestamp = {at}") == [(hash,)]
    assert (hash, None) in stored("transaction_hash", "hash, hash_suffix", f"consensus_timestamp = {at}")
    assert count("contract_result") == 2


def test_a_block_with_a_sidecar_of_state_and_bytecode() -> None:
    load(ROOT / "streams" / "v6")

    assert (count("contract_result"), count("contract_state_change"), count("contract")) == (2, 2, 1)
    ((initcode, runtime),) = query("select length(initcode), length(runtime_bytecode) from contract")
    assert initcode and runtime
