"""What is stored where a block lacks a field: nothing, or null, and never 0."""

from pathlib import Path
from typing import Any

import pytest

from ledger.ingest import IngestError
from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
from tests.ledger.ingest.load import settings, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    AIRDROPS,
    BYTECODE,
    FILES,
    NODES,
    OTHER,
    PAYER,
    REGISTERED_NODES,
    STORAGE,
    TOKEN,
    TOKENS,
    TOPICS,
    BlockStream,
    supply,
    topic,
    update,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("ledger_tables")

CONTRACT = {"contractNum": 2001}
SCHEDULE = {"schedule_id": {"scheduleNum": 9}}
MESSAGE = {"topicID": {"topicNum": 6001}, "message": b"m"}
MESSAGE_TRACE = {"submit_message_trace_data": {"sequence_number": 4, "running_hash": b"h"}}
MINTED = {"token": TOKEN, "nftTransfers": [{"receiverAccountID": OTHER, "serialNumber": 7}]}
RAN = {"contract_create": {"evm_transaction_result": {"contract_id": CONTRACT}}}
PENDING = {"sender_id": {"accountNum": PAYER}, "receiver_id": OTHER, "fungible_token_type": TOKEN}
NAMED = {"account_id": OTHER, "alias": b"a" * 20}

WITHOUT_ROWS_OF_ITS_TYPE = {
    "contract_result", "contract_transaction", "contract_transaction_hash", "loader_state",
    "record_file", "transaction", "transaction_hash",
}  # fmt: skip


def entity(state: int, key: dict[str, Any]) -> dict[str, Any]:
    return {"changes": [update(state, key)]}


def dropped(receiver: dict[str, Any]) -> dict[str, Any]:
    amounts = [{"accountID": {"accountNum": PAYER}, "amount": -5}, {"accountID": receiver, "amount": 5}]
    return {"token_transfers": [{"token": TOKEN, "transfers": amounts}]}


def load(folder: Path, kind: str, body: dict[str, Any], parts: dict[str, Any]) -> None:
    """Load a block of one transaction into empty tables."""
    empty_tables()
    stream = BlockStream()
    stream.happen(kind, body, **parts)
    Pipeline().run(find_record_files([stream.block().write(folder)]))


@pytest.mark.parametrize(
    ("field", "table", "kind", "body", "parts"),
    [
        ("accountID", "entity", "cryptoCreateAccount", {},
         {"outputs": [{"account_create": {"created_account_id": OTHER}}]}),
        ("contractID", "contract", "contractCreateInstance", {}, {"outputs": [RAN]}),
        ("fileID", "file_data", "fileCreate", {"contents": b"f"},
         entity(FILES, {"file_id_key": {"fileNum": 7001}})),
        ("node_id", "node", "nodeCreate", {}, entity(NODES, {"entity_number_key": {"value": 8}})),
        ("registered_node_id", "registered_node", "registeredNodeCreate", {},
         entity(REGISTERED_NODES, {"entity_number_key": {"value": 17}})),
        ("scheduleID", "schedule", "scheduleCreate", {}, {"outputs": [{"create_schedule": SCHEDULE}]}),
        ("tokenID", "token", "tokenCreation", {}, {"changes": [supply(0)]}),
        ("topicID", "topic", "consensusCreateTopic", {}, {"changes": [topic(6001)]}),
        ("topicSequenceNumber", "topic_message", "consensusSubmitMessage", MESSAGE,
         {"traces": [MESSAGE_TRACE]}),
        ("topicSequenceNumber", "topic_message", "consensusSubmitMessage", MESSAGE,
         {"changes": [topic(6001, 4, b"h")]}),
        ("pseudorandom number", "prng", "util_prng", {}, {"outputs": [{"util_prng": {"prng_number": 0}}]}),
        ("", "nft", "tokenMint", {"token": TOKEN, "metadata": [b"1"]},
         {"result": {"token_transfer_lists": [MINTED]}}),
        ("receiver of an airdrop", "token_airdrop", "tokenAirdrop", dropped({"alias": b"a" * 20}),
         {"changes": [update(ACCOUNTS, {}, {"account_value": NAMED})]}),
    ],
)  # fmt: skip
def test_without_the_field_there_is_no_row(
    tmp_path: Path, caplog, field: str, table: str, kind: str, body: dict[str, Any], parts: dict[str, Any]
) -> None:
    load(tmp_path, kind, body, parts)
    assert table in contents()
    caplog.clear()

    load(tmp_path, kind, body, {})

    assert set(contents()) <= WITHOUT_ROWS_OF_ITS_TYPE
    assert stored("transaction", "index, entity_id", "entity_id = 0") == []
    assert field in caplog.text


@pytest.mark.parametrize(
    ("field", "kind", "body", "parts"),
    [
        *(
            (field, "consensusSubmitMessage", MESSAGE, {"traces": [{"submit_message_trace_data": trace}]})
            for field, trace in (
                ("topicSequenceNumber", {}),
                ("topicSequenceNumber", {"running_hash": b"h"}),
                ("topicRunningHash", {"sequence_number": 4}),
            )
        ),
        *(
            (field, "consensusSubmitMessage", MESSAGE, {"changes": [change]})
            for field, change in (
                ("topicSequenceNumber", topic(6001)),
                ("topicRunningHash", topic(6001, 4)),
                ("topicSequenceNumber", update(TOPICS, {"topic_id_key": {"topicNum": 6001}})),
            )
        ),
        *(
            (field, kind, {}, {"outputs": [output]})
            for field, kind, output in (
                ("accountID", "cryptoCreateAccount", {"account_create": {}}),
                ("accountID", "cryptoCreateAccount",
                 {"account_create": {"created_account_id": {"accountNum": 0}}}),
                ("contractID", "contractCreateInstance",
                 {"contract_create": {"evm_transaction_result": {"contract_id": {"contractNum": 0}}}}),
                ("scheduleID", "scheduleCreate", {"create_schedule": {}}),
                ("scheduleID", "scheduleCreate", {"create_schedule": {"schedule_id": {"shardNum": 1}}}),
            )
        ),
        *(
            (field, kind, {}, entity(state, key))
            for field, kind, state in (
                ("fileID", "fileCreate", FILES),
                ("node_id", "nodeCreate", NODES),
                ("registered_node_id", "registeredNodeCreate", REGISTERED_NODES),
                ("tokenID", "tokenCreation", TOKENS),
                ("topicID", "consensusCreateTopic", TOPICS),
            )
            for key in ({}, {"proto_long_key": {"value": 5}})
        ),
    ],
)  # fmt: skip
def test_an_empty_or_incomplete_field_makes_no_row(
    tmp_path: Path, caplog, field: str, kind: str, body: dict[str, Any], parts: dict[str, Any]
) -> None:
    load(tmp_path, kind, body, parts)

    assert set(contents()) <= WITHOUT_ROWS_OF_ITS_TYPE
    assert stored("transaction", "index, entity_id", "entity_id = 0") == []
    assert f"lacks {field}" in caplog.text


@pytest.mark.parametrize("key", ["entity_number_key", "node_id_key"])
@pytest.mark.parametrize(
    ("kind", "state", "table"),
    [("nodeCreate", NODES, "node"), ("registeredNodeCreate", REGISTERED_NODES, "registered_node")],
)
@pytest.mark.parametrize("number", [0, 8])
def test_a_node_has_the_number_of_either_key(
    tmp_path: Path, key: str, kind: str, state: int, table: str, number: int
) -> None:
    load(tmp_path, kind, {}, entity(state, {key: {"value" if key == "entity_number_key" else "id": number}}))

    assert stored(table, "node_id" if table == "node" else "registered_node_id") == [(number,)]


def test_a_row_that_is_skipped_stops_a_loader_that_halts_on_problems(tmp_path: Path) -> None:
    with settings(importer__parser__haltOnError=True), pytest.raises(IngestError, match="lacks node_id"):
        load(tmp_path, "nodeCreate", {}, {})


@pytest.mark.parametrize("kind", ["tokenMint", "tokenBurn", "tokenWipe"])
@pytest.mark.parametrize("amount", [0, 5])
@pytest.mark.parametrize("changes", [[], [update(TOKENS, {"token_id_key": TOKEN})]], ids=["", "no value"])
def test_an_unknown_supply_stays_as_it_is(tmp_path: Path, kind: str, amount: int, changes: list[Any]) -> None:
    stream = BlockStream()
    stream.happen("tokenCreation", {"initialSupply": 9, "treasury": OTHER}, changes=[supply(9)])
    stream.happen(kind, {"token": TOKEN, "amount": amount}, changes=changes)

    Pipeline().run(find_record_files([stream.block().write(tmp_path)]))

    assert stored("token", "token_id, total_supply") == [(5001, 9)]


@pytest.mark.parametrize(("context", "amount"), [({}, None), ({"internal_call_context": {"value": 0}}, 0)])
def test_the_amount_of_an_unknown_call_is_null(tmp_path: Path, context: dict[str, Any], amount: int) -> None:
    ran = {"gas_used": 5, "sender_id": OTHER} | context

    load(tmp_path, "tokenMint", {}, {"outputs": [{"contract_call": {"evm_transaction_result": ran}}]})

    assert stored("contract_result", "amount, gas_used") == [(amount, 5)]


@pytest.mark.parametrize(
    ("value", "code", "initcode"),
    [
        ({"bytecode_value": {"code": b"code"}}, b"code", b"init code ends"),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_the_code_of_a_contract_is_null_where_it_is_unknown(
    tmp_path: Path, value: dict[str, Any] | None, code: bytes | None, initcode: bytes | None
) -> None:
    bookends = {"deploy_bytecode": b"init ", "metadata_bytecode": b" ends"}
    executed = {"contract_id": CONTRACT, "initcode_bookends": bookends}
    parts: dict[str, Any] = {
        "outputs": [RAN],
        "traces": [{"evm_trace_data": {"executed_initcode": executed}}],
        "changes": [] if value is None else [update(BYTECODE, {"contract_id_key": CONTRACT}, value)],
    }

    load(tmp_path, "contractCreateInstance", {}, parts)

    assert stored("contract", "id, initcode, runtime_bytecode") == [(2001, initcode, code)]
    assert stored("entity", "evm_address", "id = 2001") == [(None,)]


@pytest.mark.parametrize(
    ("update_to", "value"), [({"slot_value_value": {"value": b"\3"}}, b"\3"), ({}, None), (None, None)]
)
def test_a_slot_that_is_only_read_has_no_written_value(
    tmp_path: Path, update_to: dict[str, Any] | None, value: bytes | None
) -> None:
    key = {"slot_key_key": {"contractID": CONTRACT, "key": b"\1"}}
    usage = {
        "contract_id": CONTRACT,
        "written_slot_keys": {"keys": [b"\1"]},
        "slot_reads": [{"index": 0, "read_value": b"\2"}],
    }
    changes = [] if update_to is None else [update(STORAGE, key, update_to)]

    load(
        tmp_path,
        "contractCall",
        {"contractID": CONTRACT},
        {"traces": [{"evm_trace_data": {"contract_slot_usages": [usage]}}], "changes": changes},
    )

    assert stored("contract_state_change", "value_read, value_written") == [(b"\2", value)]
    assert stored("contract_state", "value") == ([(value,)] if value else [])


@pytest.mark.parametrize(
    ("pending", "amount"),
    [
        ([{"account_pending_airdrop_value": {"pending_airdrop_value": {"amount": 60}}}], 60),
        ([{"account_pending_airdrop_value": {}}], 5),
        ([{}], 5),
        ([], 5),
    ],
    ids=["known", "no amount", "no value", "no change"],
)
def test_an_airdrop_whose_total_is_unknown_has_what_it_added(
    tmp_path: Path, pending: list[dict[str, Any]], amount: int
) -> None:
    changes = [update(AIRDROPS, {"pending_airdrop_id_key": PENDING}, value) for value in pending]

    load(tmp_path, "tokenAirdrop", dropped(OTHER), {"changes": changes})

    assert stored("token_airdrop", "amount") == [(amount,)]
