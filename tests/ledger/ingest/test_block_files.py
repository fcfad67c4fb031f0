"""Blocks into tables: recorded ones as the network counted them, wrapped ones as the files they wrap."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ledger.ingest import IngestError
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.block_names import parse
from ledger.stream.signature.quorum import NoQuorum
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import local_block
from mirror.core.values.hapi.messages import Transaction
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.streams.signing import address_book
from tests.composing import Composer
from tests.contracts.compose import FILE, ethereum_data
from tests.ledger.compose import KEY, Stream, num, receipt
from tests.ledger.ingest.load import settings, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    BYTECODE,
    FILES,
    NEWER,
    NODES,
    OLDER,
    OTHER,
    REGISTERED_NODES,
    STORAGE,
    TOKEN,
    TOKENS,
    TOPICS,
    BlockFile,
    BlockStream,
    update,
)  # fmt: skip
from tests.ledger.stream.block.wrapped import contents as wrapped_contents
from tests.ledger.stream.block.wrapped import transactions, wrap
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")


def load(*paths: Path, allow_gap: bool = False) -> Progress:
    return Pipeline(LoadOptions(allow_gap=allow_gap)).run(find_record_files(paths))


def groups() -> dict[str, list[dict[str, Any]]]:
    """The recorded blocks of one network, in the folder of their generation, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for (fact,) in (each.values for each in facts("blocks")):
        found.setdefault("/".join(fact["name"].split("/")[:2]), []).append(fact)
    return {folder: sorted(group, key=lambda fact: int(fact["number"])) for folder, group in found.items()}


@needs_fixtures
@pytest.mark.parametrize("folder", groups())
def test_recorded_blocks_become_blocks_and_transactions(folder: str) -> None:
    group = groups()[folder]

    load(ROOT / folder, allow_gap=True)

    assert stored(
        "record_file",
        "index, name, version, hash, prev_hash, file_hash, count, size, round_start, round_end, "
        "sidecar_count, consensus_end",
    ) == [
        (
            *(
                fact["number"],
                parse(fact["name"]).name,
                7,
                fact["hash"],
                fact["prev_hash"],
                "",
                fact["count"],
            ),
            *(fact["size"], fact["round_start"], fact["round_end"], 0),
            fact["consensus_end"] or fact["block_timestamp"],
        )
        for fact in group
    ]
    assert len(stored("transaction", "consensus_timestamp")) == sum(fact["count"] for fact in group)
    created = {
        kind: sum(fact["transaction_types"].get(kind, 0) for fact in group)
        for kind in ("cryptoCreateAccount", "fileCreate", "nodeCreate")
    }
    made = "created_timestamp is not null and type ="
    assert len(stored("entity", "id", f"{made} 'ACCOUNT'")) == created["cryptoCreateAccount"]
    assert len(stored("entity", "id", f"{made} 'FILE'")) == created["fileCreate"]
    assert len(stored("node", "node_id", "created_timestamp is not null")) == created["nodeCreate"]


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


def as_block(given: Sequence[ComposedTransaction], version: tuple[int, int, int]) -> BlockFile:
    """The block of a network that would have written the same transactions into a record file."""
    stream = BlockStream(version)
    for composed in given:
        _add(stream, composed)
    return stream.block()


def _add(stream: BlockStream, composed: ComposedTransaction) -> None:
    record, told = composed.record, composed.record.receipt
    stream.item(signed_transaction=Transaction.FromString(composed.transaction_bytes).signedTransactionBytes)
    stream.item(
        transaction_result={
            "status": told.status,
            "consensus_timestamp": record.consensusTimestamp,
            "transaction_fee_charged": record.transactionFee,
            "transfer_list": record.transferList,
            "token_transfer_lists": record.tokenTransferLists,
        }
    )
    if told.HasField("accountID"):
        stream.item(transaction_output={"account_create": {"created_account_id": told.accountID}})
    if told.HasField("scheduleID"):
        stream.item(transaction_output={"create_schedule": {"schedule_id": told.scheduleID}})
    if record.HasField("prng_number"):
        stream.item(transaction_output={"util_prng": {"prng_number": record.prng_number}})
    if told.topicRunningHash:
        message = {"sequence_number": told.topicSequenceNumber, "running_hash": told.topicRunningHash}
        stream.item(trace_data={"submit_message_trace_data": message})
    changes = []
    if told.HasField("topicID"):
        changes.append(update(TOPICS, {"topic_id_key": told.topicID}))
    if told.HasField("fileID"):
        changes.append(update(FILES, {"file_id_key": told.fileID}))
    if told.HasField("tokenID") or told.newTotalSupply:
        key = {"token_id_key": told.tokenID if told.HasField("tokenID") else TOKEN}
        changes.append(update(TOKENS, key, {"token_value": {"total_supply": told.newTotalSupply}}))
    if changes:
        stream.change(*changes, at=composed.consensus_timestamp)


def a_bit_of_everything() -> Stream:
    stream = Stream()
    topic, message = {"topicNum": 6001}, {"topicSequenceNumber": 1, "topicRunningHash": b"h" * 48}
    stream.create(1001, 500)
    stream.create(1002)
    stream.send({1001: -5, 1002: 5}, memo="a memo")
    stream.happen("consensusCreateTopic", {"memo": "t"}, receipt(topicID=topic))
    stream.happen(
        "consensusSubmitMessage",
        {"topicID": topic, "message": b"m"},
        receipt(**message, topicRunningHashVersion=3),
    )
    stream.happen("fileCreate", {"contents": b"c"}, receipt(fileID={"fileNum": 7001}))
    create = {"name": "n", "symbol": "s", "treasury": num(1001), "initialSupply": 9, "adminKey": KEY}
    credit = [{"token": TOKEN, "transfers": [{"accountID": num(1001), "amount": 9}]}]
    stream.happen(
        "tokenCreation", create, receipt(tokenID=TOKEN, newTotalSupply=9) | {"tokenTransferLists": credit}
    )
    mint = {"tokenTransferLists": [{"token": TOKEN, "transfers": [{"accountID": num(1001), "amount": 3}]}]}
    stream.happen("tokenMint", {"token": TOKEN, "amount": 3}, receipt(newTotalSupply=12) | mint)
    stream.happen("scheduleCreate", {"memo": "later"}, receipt(scheduleID={"scheduleNum": 8001}))
    stream.happen("util_prng", {"range": 6}, {"prng_number": 4})
    stream.send({1001: -5, 1002: 5}, result=10)
    return stream


@pytest.mark.parametrize("version", [OLDER, NEWER])
def test_a_block_gives_the_rows_of_the_record_file_with_the_same_transactions(
    tmp_path: Path, version: tuple[int, int, int]
) -> None:
    stream = a_bit_of_everything()
    stream.hapi_version = version
    file = stream.block()
    file.write(tmp_path / "file")
    load(tmp_path / "file")
    from_file = contents()
    empty_tables()

    as_block(file.transactions, version).write(tmp_path / "block")
    load(tmp_path / "block")

    from_block = contents()
    assert len(from_block.pop("record_file")) == len(from_file.pop("record_file")) == 1
    # Only a block can say that there was no congestion.
    told, untold = (f'"congestion_pricing_multiplier": {value}' for value in ("0", "null"))
    from_block["transaction"] = [row.replace(told, untold) for row in from_block["transaction"]]
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


def test_blocks_are_loaded_once(tmp_path: Path) -> None:
    blocks = three_blocks(tmp_path)

    assert load(tmp_path / blocks[0].name).files == 1
    again = load(tmp_path)

    assert (again.files, again.skipped) == (2, 1)
    assert stored("record_file", "index, hash, prev_hash") == [
        (0, blocks[0].hash.hex(), "0" * 96),
        (1, blocks[1].hash.hex(), blocks[0].hash.hex()),
        (2, blocks[2].hash.hex(), blocks[1].hash.hex()),
    ]


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


def test_a_network_goes_over_from_record_files_to_blocks(tmp_path: Path) -> None:
    older = Composer(first_block=6)
    older.crypto_transfer({2: -1, 3: 1})
    older.block().write(tmp_path)
    stream = BlockStream(first_block=7)
    stream.hash = b"of the block around the record file" + bytes(13)
    stream.happen("cryptoTransfer")
    stream.block().write(tmp_path)

    load(tmp_path)

    assert stored("record_file", "index, version") == [(6, 6), (7, 7)]


def test_a_wrapped_record_file_needs_the_signatures_of_a_majority(tmp_path: Path) -> None:
    nodes = signing_nodes(4)
    book = address_book(node.address_book_node for node in nodes)
    unsigned = wrap(2, wrapped_contents(2, transactions()))
    file_hash = bytes.fromhex(local_block(unsigned.write(tmp_path)).record_file().file_hash)
    files = find_record_files([tmp_path])

    with pytest.raises(NoQuorum, match="signed by 0 of "):
        Pipeline(LoadOptions(quorums=Quorums(book))).run(files)
    assert not stored("record_file", "index")

    signatures = [{"node_id": node.node_id, "signatures_bytes": node.sign(file_hash)} for node in nodes[:2]]
    wrap(2, wrapped_contents(2, transactions()), signatures=signatures).write(tmp_path)
    done = Pipeline(LoadOptions(quorums=Quorums(book))).run(files)

    assert (done.verified, done.signed_by) == (1, frozenset({0, 1}))
    assert stored("record_file", "index, version") == [(5, 2)]


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


def test_the_results_of_a_contract_in_a_block_are_stored(tmp_path: Path) -> None:
    contract = {"contractNum": 2001}
    stream = BlockStream()
    key = {"slot_key_key": {"contractID": contract, "key": b"\1".rjust(32, b"\0")}}
    usage = {
        "contract_id": contract,
        "written_slot_keys": {"keys": [b"\1"]},
        "slot_reads": [{"index": 0, "read_value": b"\2"}],
    }
    trace = {
        "contract_slot_usages": [usage],
        "contract_actions": [{"call_type": 2, "gas": 9, "gas_used": 5, "recipient_contract": contract}],
        "logs": [{"contract_id": contract, "data": b"d", "topics": [b"\7"]}],
        "executed_initcode": {"contract_id": contract, "explicit_initcode": b"init"},
    }
    ran = {"contract_id": contract, "gas_used": 5, "sender_id": OTHER}
    at = stream.happen(
        "contractCreateInstance",
        {"gas": 10},
        outputs=[{"contract_create": {"evm_transaction_result": ran}}],
        traces=[{"evm_trace_data": trace}],
        changes=[
            update(STORAGE, key, {"slot_value_value": {"value": b"\3"}}),
            update(BYTECODE, {"contract_id_key": contract}, {"bytecode_value": {"code": b"code"}}),
        ],
    )
    stream.block().write(tmp_path)

    load(tmp_path)

    assert stored("contract", "id, initcode, runtime_bytecode") == [(2001, b"init", b"code")]
    assert stored(
        "contract_result", "consensus_timestamp, contract_id, gas_used, gas_consumed, sender_id"
    ) == [(at, 2001, 5, 5, 1002)]
    assert stored("contract_log", "contract_id, data, topic0") == [(2001, b"d", b"\7")]
    assert stored("contract_action", "gas, recipient_contract") == [(9, 2001)]
    assert stored("contract_state_change", "slot, value_read, value_written") == [(b"\1", b"\2", b"\3")]
    assert stored("contract_state", "slot, value") == [(b"\1".rjust(32, b"\0"), b"\3")]
    ((gas_used, logs_bloom),) = stored("record_file", "gas_used, logs_bloom")
    assert (gas_used, any(logs_bloom)) == (5, True)
