"""Blocks into tables: recorded ones as the network counted them, wrapped ones as the files they wrap."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ledger.ingest import IngestError
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import local_block
from tests.composing import Composer
from tests.contracts.compose import FILE, ethereum_data
from tests.ledger.ingest.load import settings, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    FILES,
    NODES,
    OTHER,
    REGISTERED_NODES,
    BlockFile,
    BlockStream,
    update,
)  # fmt: skip
from tests.ledger.stream.block.wrapped import contents as wrapped_contents
from tests.ledger.stream.block.wrapped import transactions, wrap
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures

pytestmark = pytest.mark.usefixtures("ledger_tables")


def load(*paths: Path, allow_gap: bool = False) -> Progress:
    return Pipeline(LoadOptions(allow_gap=allow_gap)).run(find_record_files(paths))


@needs_fixtures
@pytest.mark.parametrize("fact", facts("wrapped_blocks"))
def test_a_wrapped_block_gives_the_rows_of_the_file_it_wraps(fact: dict[str, Any]) -> None:
    path = ROOT / fact["name"]
    file_hash = local_block(path).record_file().file_hash
    alone = [
        file
        for (record,) in (each.values for each in facts("records"))
        if record["file_hash"] == file_hash
        for file in (ROOT / record["group"]).rglob(record["name"])
    ]
    if not alone:
        pytest.skip("the record file of this block is not kept apart")

    with settings(importer__parser__record__sidecar__enabled=True, importer__startBlockNumber=fact["number"]):
        load(path)
        from_block = contents()
        wrapped = stored("record_file", "index, name, consensus_end")
        empty_tables()
        load(alone[0])

    (index, name, consensus_end) = wrapped[0]
    assert stored("record_file", "index, name, consensus_end") == [(index, alone[0].name, consensus_end)]
    assert name == alone[0].name.removesuffix(".gz")
    from_file = contents()
    # The container differs, so do names and lengths as stored.
    for table in ("record_file", "sidecar_file"):
        assert len(from_block.pop(table, [])) == len(from_file.pop(table, []))
    assert from_block == from_file


@pytest.mark.checklist("TX-20", "TX-23")
def test_a_block_tells_what_congestion_and_high_volume_cost(tmp_path: Path) -> None:
    stream = BlockStream()
    multipliers = {"congestion_pricing_multiplier": 7000, "high_volume_pricing_multiplier": 4000}
    stream.happen("cryptoTransfer", whole={"high_volume": True}, result=multipliers)
    stream.happen("cryptoTransfer")
    stream.block().write(tmp_path)

    load(tmp_path)

    columns = "index, high_volume, congestion_pricing_multiplier, high_volume_pricing_multiplier"
    assert stored("transaction", columns) == [(0, True, 7000, 4000), (1, False, 0, 0)]


@pytest.mark.checklist("RGN-07")
def test_a_registered_node_created_in_a_block_has_the_number_of_its_state_change(tmp_path: Path) -> None:
    stream = BlockStream()
    created = update(REGISTERED_NODES, {"entity_number_key": {"value": 17}}, {"registered_node_value": {}})
    other = update(NODES, {"node_id_key": {"id": 99}}, {"node_value": {}})
    stream.happen("registeredNodeCreate", {"description": "a node"}, changes=[created, other])
    stream.block().write(tmp_path)

    load(tmp_path)

    assert stored("registered_node", "registered_node_id, description") == [(17, "a node")]


def three_blocks(folder: Path) -> list[BlockFile]:
    stream = BlockStream()
    blocks = []
    for _ in range(3):
        stream.happen("cryptoTransfer")
        blocks.append(stream.block())
        blocks[-1].write(folder)
    return blocks


def test_a_block_that_is_missing_stops_the_loader(tmp_path: Path) -> None:
    blocks = three_blocks(tmp_path)
    (tmp_path / blocks[1].name).unlink()

    with pytest.raises(IngestError, match="block 2 does not follow block 0"):
        load(tmp_path)
    assert stored("record_file", "index") == [(0,)]
    assert load(tmp_path, allow_gap=True).files == 1


def test_a_block_of_another_chain_stops_the_loader(tmp_path: Path) -> None:
    blocks = three_blocks(tmp_path)
    other = BlockStream(first_block=2)
    other.hash = b"o" * 48
    other.consensus_timestamp += 10**12
    other.block().write(tmp_path)

    with pytest.raises(IngestError, match="the chain is broken.*not of the same history") as raised:
        load(tmp_path)
    assert "Load the files between" not in raised.value.cure
    assert "--allow-gap" not in raised.value.cure
    assert stored("record_file", "hash") == sorted((block.hash.hex(),) for block in blocks[:2])


def test_a_block_that_has_the_number_of_a_loaded_one_is_said_to_be_of_another_history(tmp_path: Path) -> None:
    blocks = three_blocks(tmp_path / "ours")
    load(tmp_path / "ours")
    other = BlockStream()
    for _ in range(2):
        other.happen("cryptoTransfer")
    strange = other.block()
    strange.write(tmp_path / "others")

    with pytest.raises(IngestError, match="the database has another block 0") as raised:
        load(tmp_path / "others")

    assert blocks[0].hash.hex()[:16] in raised.value.cause
    assert strange.hash.hex()[:16] in raised.value.cause
    assert "second database" not in raised.value.cure

    begins_alike = strange.hash[:40].hex() + "6f" * 8
    with connection.cursor() as cursor:
        cursor.execute("update record_file set hash = %s where index = 0", [begins_alike])
    with pytest.raises(IngestError, match=r"the hash …\w{16}…, and this one has the hash …\w{16}…:"):
        load(tmp_path / "others")


def test_the_next_block_of_an_earlier_history_is_not_called_one_that_was_left_out(tmp_path: Path) -> None:
    three_blocks(tmp_path / "ours")
    load(tmp_path / "ours")
    other = BlockStream(first_block=3)
    other.hash = b"o" * 48
    other.consensus_timestamp -= 10**12
    other.happen("cryptoTransfer")
    other.block().write(tmp_path / "others")

    with pytest.raises(IngestError, match="not of the same history") as raised:
        load(tmp_path / "others")

    assert "second database" not in raised.value.cure


def test_blocks_around_record_files_are_a_chain_of_their_own(tmp_path: Path) -> None:
    composer = Composer()
    first = wrap(2, wrapped_contents(2, transactions(1, composer)))
    file = local_block(first.write(tmp_path)).record_file()
    composer.consensus_timestamp += 10**9
    following = wrapped_contents(
        2, transactions(1, composer), number=6, previous_hash=bytes.fromhex(file.hash)
    )

    wrap(2, following, number=6, previous=b"o" * 48).write(tmp_path)
    refused = pytest.raises(IngestError, match="the block it is wrapped in follows 6f6f")
    with settings(importer__parser__haltOnError=True), refused:
        load(tmp_path)
    assert stored("record_file", "index") == [(5,)]
    load(tmp_path)
    assert stored("record_file", "index") == [(5,), (6,)]
    empty_tables()
    wrap(2, following, number=6, previous=first.hash).write(tmp_path)
    load(tmp_path)

    assert stored("record_file", "index, version, name") == [
        (5, 2, "2025-01-01T00_00_00Z.rcd"),
        (6, 2, "2025-01-01T00_00_01.000001Z.rcd"),
    ]


@pytest.mark.parametrize("in_file", [False, True])
def test_gas_and_amount_of_an_ethereum_transaction_in_a_block_come_from_its_bytes(
    tmp_path: Path, in_file: bool
) -> None:
    stream = BlockStream()
    if in_file:
        made = update(FILES, {"file_id_key": {"fileNum": FILE}})
        stream.happen("fileCreate", {"contents": b"c0ffee"}, changes=[made])
    body: dict[str, Any] = {"ethereum_data": ethereum_data(b"" if in_file else b"\xc0\xff\xee")}
    if in_file:
        body["call_data"] = {"fileNum": FILE}
    ran = {"contract_id": {"contractNum": 2001}, "gas_used": 5, "sender_id": OTHER}
    stream.happen(
        "ethereumTransaction", body, outputs=[{"ethereum_call": {"evm_call_transaction_result": ran}}]
    )
    stream.block().write(tmp_path)

    load(tmp_path)

    assert stored("contract_result", "contract_id, amount, gas_limit, function_parameters, sender_id") == [
        (2001, 3, 100_000, b"\xc0\xff\xee", 1002)
    ]


@pytest.mark.checklist("ETH-12")
@pytest.mark.parametrize(("kind", "status", "nonce"), [(4, 22, 5), (4, 33, 5), (2, 22, 0)])
def test_an_account_that_delegates_in_a_block_has_the_nonce_of_its_state(
    tmp_path: Path, kind: int, status: int, nonce: int
) -> None:
    stream = BlockStream()
    authority, contract = {"accountNum": 1003}, {"accountNum": 2001}
    changes = [
        update(ACCOUNTS, {"account_id_key": account["account_id"]}, {"account_value": account})
        for account in (
            {"account_id": authority, "ethereum_nonce": 5, "delegation_address": bytes(20)},
            {"account_id": contract, "ethereum_nonce": 9, "smart_contract": True},
            {"account_id": OTHER, "ethereum_nonce": 8},
        )
    ]
    for account in (OTHER, authority):
        stream.happen("cryptoCreateAccount", outputs=[{"account_create": {"created_account_id": account}}])
    ran = {"contract_id": {"contractNum": 2001}, "gas_used": 5, "sender_id": OTHER}
    stream.happen(
        "ethereumTransaction",
        {"ethereum_data": ethereum_data(kind=kind)},
        status=status,
        outputs=[{"ethereum_call": {"evm_call_transaction_result": ran | {"signer_nonce": {"value": 8}}}}],
        changes=changes,
    )
    stream.block().write(tmp_path)

    load(tmp_path)

    assert stored("entity", "id, ethereum_nonce, type", "id between 1002 and 2001") == [
        (1002, 8, "ACCOUNT"),
        (1003, nonce, "ACCOUNT"),
    ]
