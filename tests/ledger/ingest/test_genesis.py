"""The state that a network begins with, from its first block to the tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.pipeline import Pipeline
from ledger.ingest.verification import Finding, Verification
from ledger.stream.block.block_file import read_block_file
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import AddressBookNode
from ledger.stream.source.local import find_record_files
from mirror.core.values.hapi.messages import Block, BlockItem, Key, KeyList
from mirror.demo.streams.signing import address_book
from tests.ledger.ingest.load import settings, stored
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    BYTECODE,
    FILES,
    BlockFile,
    BlockStream,
    delete,
    of_items,
    update,
)
from tests.ledger.stream.block.wrapped import contents, transactions, wrap

pytestmark = pytest.mark.usefixtures("ledger_tables")

KEY = Key(ed25519=bytes(range(32)))
ENTITY = (
    "id, type, balance, memo, deleted, auto_renew_period, auto_renew_account_id, expiration_timestamp,"
    "max_automatic_token_associations, receiver_sig_required, key, created_timestamp, evm_address"
)


def account(number: int, **values: Any) -> Any:
    key = {"accountNum": number}
    return update(ACCOUNTS, {"account_id_key": key}, {"account_value": {"account_id": key} | values})


def file(number: int, **values: Any) -> Any:
    key = {"fileNum": number}
    return update(FILES, {"file_id_key": key}, {"file_value": {"file_id": key} | values})


def code(number: int, runtime: bytes) -> Any:
    return update(
        BYTECODE, {"contract_id_key": {"contractNum": number}}, {"bytecode_value": {"code": runtime}}
    )


STATE = [
    account(
        1001,
        tinybar_balance=100_100,
        memo="first",
        auto_renew_seconds=7,
        expiration_second=9,
        max_auto_associations=3,
        receiver_sig_required=True,
        key=KEY,
        auto_renew_account_id={"accountNum": 2},
    ),
    account(3001, smart_contract=True, alias=b"c" * 20, deleted=True, tinybar_balance=1),
    account(1003, tinybar_balance=1),
    account(1003, tinybar_balance=2),
    account(1004, tinybar_balance=4),
    delete(ACCOUNTS, {"account_id_key": {"accountNum": 1004}}),
    code(3001, b"runtime"),
    file(111, contents=b"content", memo="a file", keys=KeyList(keys=[KEY]), expiration_second=8),
]  # fmt: skip


def wrapped(changes: Sequence[Any], number: int = 0) -> BlockFile:
    """A block that wraps a record file, with state changes before it."""
    block = Block.FromString(wrap(2, contents(2, transactions(1), number=number), number=number).content)
    first, *others = block.items
    item = BlockItem(state_changes={"consensus_timestamp": {"seconds": 1}, "state_changes": changes})
    return of_items(number, [first, item, *others[:-1]], proof=others[-1].block_proof)


def load(block: BlockFile, folder: Path) -> None:
    block.write(folder)
    Pipeline().run(find_record_files([folder]))


def test_a_first_block_around_a_record_file_tells_what_had_been_before_it(tmp_path):
    load(wrapped(STATE), tmp_path)

    (start,) = (start for (start,) in stored("record_file", "consensus_start"))
    key, keys = KEY.SerializeToString(), KeyList(keys=[KEY]).SerializeToString()
    found = {row[0]: row[1:] for row in stored("entity", ENTITY)}
    # The transfer of the record file has taken 5, and the fee.
    assert found[1001] == (
        "ACCOUNT", 95, "first", False, 7, 2, 9 * 10**9, 3, True, key, None, None
    )  # fmt: skip
    assert found[3001][:4] == ("CONTRACT", 1, "", True)
    assert found[3001][-1] == b"c" * 20
    assert found[1003][:2] == ("ACCOUNT", 2)
    assert 1004 not in found
    assert found[111][:4] == ("FILE", None, "a file", False)
    assert found[111][6] == 8 * 10**9
    assert found[111][9] == keys
    assert stored("contract", "id, runtime_bytecode, initcode") == [(3001, b"runtime", None)]
    assert stored("file_data", "consensus_timestamp, entity_id, file_data, transaction_type") == [
        (start - 1, 111, b"content", 19)
    ]
    findings: list[Finding] = []
    Verification(quorums=None, found=findings.append).run(find_record_files([tmp_path]))
    assert findings == []


def test_the_address_book_in_a_file_holds_from_the_start(tmp_path):
    book = address_book([AddressBookNode(0, 3, "aa")])
    load(wrapped([*STATE, file(102, contents=book), file(112, contents=b"rates")]), tmp_path)

    (start,) = (start for (start,) in stored("record_file", "consensus_start"))
    columns = "start_consensus_timestamp, end_consensus_timestamp, file_id, file_data, node_count"
    assert stored("address_book", columns) == [(start - 1, None, 102, book, 1)]
    assert stored("address_book_entry", "consensus_timestamp, node_id, public_key") == [(start - 1, 0, "aa")]
    assert stored("file_data", "consensus_timestamp, entity_id") == [
        (start - 3, 112),
        (start - 2, 102),
        (start - 1, 111),
    ]


def test_later_blocks_and_settings_leave_it_out(tmp_path):
    load(wrapped(STATE, 5), tmp_path / "later")
    assert stored("entity", "id", "memo = 'first'") == []
    assert stored("contract", "id") == []


def test_excluded_rows_are_left_out(tmp_path):
    with settings(persist__contracts=False, persist__systemFiles=False, persist__files=False):
        load(wrapped(STATE), tmp_path)

    assert stored("contract", "id") == stored("file_data", "entity_id") == []


def test_in_a_native_first_block_transactions_tell_of_what_they_changed(tmp_path):
    stream = BlockStream()
    stream.change(account(1001, tinybar_balance=70, memo="before"), account(1003, memo="first"))
    transfers = {"accountAmounts": [{"accountID": {"accountNum": 1001}, "amount": 50}]}
    stream.happen(
        "cryptoCreateAccount",
        {"memo": "created"},
        result={"transfer_list": transfers},
        outputs=[{"account_create": {"created_account_id": {"accountNum": 1001}}}],
        changes=[account(1001, tinybar_balance=50, memo="created")],
    )
    load(stream.block(), tmp_path)

    assert stored("entity", "id, balance, memo", "id in (1001, 1003)") == [
        (1001, 50, "created"),
        (1003, 0, "first"),
    ]


def test_state_without_a_possible_id_is_refused():
    block = wrapped([account(0, memo="nobody")])

    with pytest.raises(StreamFileError, match="something without an id"):
        read_block_file(block.name, block.data)
