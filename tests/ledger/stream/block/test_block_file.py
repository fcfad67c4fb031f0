"""Native blocks as files: what is read of them, and what is refused."""

import pytest

from ledger.stream.block.block_file import read_block_file
from ledger.stream.errors import StreamFileError
from mirror.core.values.hapi.messages import Block, Transaction, TransactionRecord
from mirror.core.values.hashes import sha384
from tests.ledger.stream.block.blocks import (
    FAILED,
    NEWER,
    OLDER,
    OTHER,
    START,
    SUCCESS,
    TOKEN,
    BlockStream,
    items_of,
    supply,
    topic,
)


@pytest.mark.parametrize("version", [OLDER, NEWER])
def test_a_block_is_a_record_file_of_version_7(version):
    stream = BlockStream(version, first_block=7)
    stream.hash = b"h" * 48
    at = stream.happen("cryptoTransfer", result={"transaction_fee_charged": 5})
    stream.happen("cryptoTransfer", status=FAILED)
    block = stream.block()

    read = read_block_file(f"some/folder/{block.name}", block.data)

    assert (read.version, read.name, read.size, read.file_hash) == (7, block.name, len(block.data), "")
    assert (read.block_number, read.hapi_version, read.software_version) == (7, version, version)
    assert (read.previous_hash, read.hash) == ((b"h" * 48).hex(), block.hash.hex())
    assert (read.consensus_start, read.consensus_end, read.count) == (at, at + 1_000, 2)
    assert (read.round_start, read.round_end) == (1, 2)
    first, second = read.items
    assert (first.successful, second.successful) == (True, False)
    assert first.record.transactionFee == 5
    assert first.record.transactionHash == sha384(
        Transaction.FromString(first.transaction_bytes).signedTransactionBytes
    )
    assert first.from_block


@pytest.mark.parametrize(("version", "ends"), [(OLDER, START + 5), (NEWER, START)])
def test_a_block_without_transactions_has_the_time_of_its_last_change_or_its_own(version, ends):
    stream = BlockStream(version)
    stream.item(signed_transaction=stream.signed("cryptoTransfer"))
    stream.consensus_timestamp += 5
    stream.change(topic(1))
    block = stream.block()

    read = read_block_file(block.name, block.data)

    assert (read.count, read.consensus_start, read.consensus_end) == (0, ends, ends)


def test_the_record_repeats_the_result():
    stream = BlockStream()
    transfers = [{"accountID": OTHER, "amount": 7}]
    stream.happen(
        "cryptoTransfer",
        whole={"memo": "a memo"},
        result={
            "transfer_list": {"accountAmounts": transfers},
            "token_transfer_lists": [{"token": TOKEN, "transfers": transfers}],
            "automatic_token_associations": [{"token_id": TOKEN, "account_id": OTHER}],
            "paid_staking_rewards": transfers,
            "assessed_custom_fees": [{"amount": 3}],
            "schedule_ref": {"scheduleNum": 9},
            "congestion_pricing_multiplier": 7,
            "high_volume_pricing_multiplier": 4,
        },
    )

    (item,) = items_of(stream)

    record = TransactionRecord.FromString(item.record_bytes)
    assert (record.receipt.status, record.consensusTimestamp) == (SUCCESS, item.record.consensusTimestamp)
    assert record.transactionHash == item.record.transactionHash
    assert record.memo == "a memo"
    assert record.transactionID == item.body.transactionID
    assert record.transferList.accountAmounts[0].amount == 7
    assert record.tokenTransferLists[0].token.tokenNum == 5001
    assert record.automatic_token_associations[0].account_id.accountNum == 1002
    assert record.paid_staking_rewards[0].amount == 7
    assert record.assessed_custom_fees[0].amount == 3
    assert record.scheduleRef.scheduleNum == 9
    assert record.high_volume_pricing_multiplier == 4
    assert item.congestion_pricing_multiplier == 7


def test_a_transaction_sent_in_the_older_form_keeps_its_hash():
    stream = BlockStream()
    signed = stream.signed(
        "cryptoTransfer",
        use_serialized_tx_message_hash_algorithm=True,
        sigMap={"sigPair": [{"pubKeyPrefix": b"k", "ed25519": b"s"}]},
    )
    stream.happen("", signed=signed)

    (item,) = items_of(stream)

    assert not Transaction.FromString(item.transaction_bytes).signedTransactionBytes
    assert item.record.transactionHash == sha384(item.transaction_bytes)
    assert item.signature_map.sigPair[0].ed25519 == b"s"
    assert Transaction.FromString(item.transaction_bytes).bodyBytes


def test_children_share_the_state_of_their_parent():
    stream = BlockStream()
    at = stream.happen("contractCall", changes=[supply(9)])
    child = stream.happen("contractCall", parent=at)
    stream.happen("tokenMint", {"token": TOKEN, "amount": 4}, parent=child)
    stream.happen("tokenMint", {"token": TOKEN, "amount": 4}, changes=[supply(13)])

    assert [item.record.receipt.newTotalSupply for item in items_of(stream)] == [0, 0, 9, 13]


def test_transactions_of_the_network_itself_are_passed_over():
    stream = BlockStream()
    stream.item(signed_transaction=b"not even a transaction")
    stream.happen("cryptoTransfer")

    assert len(items_of(stream)) == 1


def test_state_changes_after_the_last_transaction_of_an_event_are_passed_over():
    """Block nodes once refused such a block as one with an unexpected item."""
    stream = BlockStream()
    first = stream.happen("tokenMint", {"token": TOKEN, "amount": 4}, changes=[supply(13)])
    stream.change(supply(99), at=first + 1)
    stream.change(topic(6001), at=first + 2)
    stream.item(event_header={})
    stream.change(topic(6002), at=first)
    last = stream.happen("tokenMint", {"token": TOKEN, "amount": 4}, changes=[supply(17)])
    stream.change(supply(98), at=last + 1)
    stream.item(round_header={"round_number": 2})
    block = stream.block()

    read = read_block_file(block.name, block.data)

    assert [item.record.receipt.newTotalSupply for item in read.items] == [13, 17]
    assert (read.count, read.consensus_start, read.consensus_end) == (2, first, last)


def test_more_than_one_proof_is_allowed():
    stream = BlockStream()
    whole = stream.block()
    block = Block.FromString(whole.content)
    block.items.add().block_proof.block = 5

    assert read_block_file(f"{whole.number:019}.blk", block.SerializeToString()).hash == whole.hash.hex()


def test_an_unusable_transaction_is_named_with_its_place():
    stream = BlockStream()
    stream.happen("cryptoTransfer")
    stream.happen("", signed=b"not a transaction")
    block = stream.block()

    with pytest.raises(StreamFileError, match="transaction 1 of the file is unusable") as caught:
        read_block_file(block.name, block.data)

    assert 0 < caught.value.position < len(block.content)


def item_of(kind):
    return {
        "transaction_output": {"transaction_output": {}},
        "trace_data": {"trace_data": {}},
        "transaction_result": {"transaction_result": {"consensus_timestamp": {"seconds": 1}}},
        "result without time": {"transaction_result": {}},
        "block_header": {"block_header": {}},
        "redacted_item": {"redacted_item": {}},
        "filtered_single_item": {"filtered_single_item": {}},
    }[kind]


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("transaction_output", "the transaction_output follows no transaction_result"),
        ("trace_data", "the trace_data follows no transaction_result"),
        ("transaction_result", "the transaction_result belongs to no transaction"),
        ("result without time", "has no consensus timestamp"),
        ("block_header", "the block goes on with block_header"),
        ("redacted_item", "has a redacted_item in place of an item that was left out"),
        ("filtered_single_item", "has a filtered_single_item in place of an item"),
    ],
)
def test_items_out_of_order_are_refused(kind, cause):
    stream = BlockStream()
    stream.item(**item_of(kind))

    with pytest.raises(StreamFileError, match=cause):
        stream.block()


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda block: block.items.pop(0), "goes on with round_header, not with a block_header"),
        (lambda block: block.items.pop(), "the block has no proof"),
        (lambda block: block.items.pop(-2), "the block goes on with block_proof"),
        (lambda block: block.items[0].block_header.ClearField("block_timestamp"), "no block timestamp"),
        (
            lambda block: setattr(block.items[0].block_header, "number", 3),
            "its header says that it is block 3",
        ),
        (lambda block: setattr(block.items[-1].block_proof, "block", 3), "its proof says that it is block 3"),
        (
            lambda block: setattr(block.items[-2].block_footer, "start_of_block_state_root_hash", b"short"),
            "start_of_block_state_root_hash has 5 bytes, not 48",
        ),
        (
            lambda block: block.items[-2].block_footer.ClearField("previous_block_root_hash"),
            "the footer lacks a hash",
        ),
        (
            lambda block: setattr(block.items[1].round_header, "round_number", 99),
            "its proof is not of the root hash of its items",
        ),
        (lambda block: block.items.add(), "the block goes on with an unknown item"),
    ],
)
def test_a_block_that_lacks_something_is_refused(change, cause):
    stream = BlockStream()
    stream.happen("cryptoTransfer")
    whole = stream.block()
    block = Block.FromString(whole.content)
    change(block)

    with pytest.raises(StreamFileError, match=cause):
        read_block_file(f"{whole.number:019}.blk", block.SerializeToString())


def test_inner_transactions_that_did_not_run_are_dropped():
    stream = BlockStream()
    inner = [stream.signed("cryptoTransfer", whole={"memo": memo}) for memo in ("a", "b", "c")]
    at = stream.happen("atomic_batch", {"transactions": inner})
    for _ in range(2):
        stream.happen("", inner=True, parent=at)
        # What an inner transaction causes has an item of its own.
        stream.happen("cryptoCreateAccount", whole={"memo": "caused"}, parent=at)
    stream.happen("atomic_batch", {"transactions": inner[2:]})
    stream.happen("", inner=True)
    stream.happen("cryptoTransfer", whole={"memo": "later"})

    assert [item.body.memo for item in items_of(stream)] == [
        "",
        "a",
        "caused",
        "b",
        "caused",
        "",
        "c",
        "later",
    ]


def test_times_need_not_be_in_order():
    stream = BlockStream()
    times = [stream.happen("cryptoTransfer") for _ in range(2)]
    stream.consensus_timestamp = times[0] - 5
    earlier = stream.happen("cryptoTransfer")
    block = stream.block()

    file = read_block_file(block.name, block.data)

    assert (file.consensus_start, file.consensus_end) == (earlier, times[1])
    assert [item.consensus_timestamp for item in file.items] == [*times, earlier]
