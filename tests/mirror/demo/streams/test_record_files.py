import gzip

import pytest

from ledger.stream.record_file import read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.address_book import read_address_book
from ledger.stream.signature.signature_file import read_signature_file, verify
from mirror.core.values.hapi.messages import (
    ContractActions,
    ContractBytecode,
    ContractStateChanges,
    CryptoUpdateTransactionBody,
    FreezeTransactionBody,
    TransactionBody,
    TransactionReceipt,
    TransactionRecord,
    TransactionSidecarRecord,
)
from mirror.core.values.hashes import sha384
from mirror.demo.streams.signing import SigningNode
from tests.composing import Composer, Layout
from tests.signing import signing_nodes


def transfers(item):
    return {entry.accountID.accountNum: entry.amount for entry in item.record.transferList.accountAmounts}


def read(block):
    return read_record_file(block.name, block.data)


def test_blocks_follow_each_other_by_hash_number_and_time():
    composer = Composer(first_block=7, previous_hash=b"\1" * 48)
    composer.crypto_transfer({2: -1, 3: 1})
    composer.crypto_transfer({2: -1, 3: 1})
    first = composer.block()
    composer.crypto_transfer({2: -1, 3: 1})
    second = composer.block()

    one, two = read(first), read(second)

    assert (one.block_number, two.block_number) == (7, 8)
    assert one.previous_hash == "01" * 48
    assert two.previous_hash == one.hash == first.hash.hex()
    assert one.consensus_start < one.consensus_end < two.consensus_start
    assert (one.file_hash, one.metadata_hash) == (first.file_hash.hex(), first.metadata_hash.hex())
    assert one.hapi_version == composer.hapi_version


def test_the_same_calls_give_the_same_bytes():
    def composed():
        composer = Composer(nodes=signing_nodes(1))
        composer.crypto_create(1001, initial_balance=5)
        block = composer.block()
        return block.data, block.signature(composer.nodes[0])

    assert composed() == composed()


def test_transactions_read_back_as_they_were_composed():
    composer = Composer()
    composer.crypto_create(1001, initial_balance=100, payer=9, memo="created", fee=0)
    composer.crypto_update(1001, CryptoUpdateTransactionBody(receiverSigRequired=True), fee=0)
    composer.crypto_transfer({1001: -5, 1002: 5}, payer=1001, fee=1000)
    composer.crypto_delete(1001, transfer_to=1002, balance=95, fee=0)

    create, update, transfer, delete = read(composer.block()).items

    assert [item.transaction_type for item in (create, update, transfer, delete)] == [11, 15, 14, 12]
    assert all(item.successful for item in (create, update, transfer, delete))
    assert create.record.receipt.accountID.accountNum == 1001
    assert create.body.cryptoCreateAccount.initialBalance == 100
    assert (create.memo, create.payer_account_id, transfers(create)) == (b"created", 9, {9: -100, 1001: 100})
    assert update.body.cryptoUpdateAccount.accountIDToUpdate.accountNum == 1001
    assert transfers(transfer) == {1001: -1005, 1002: 5, 3: 50, 98: 950}
    assert transfer.record.transactionFee == 1000
    assert transfers(delete) == {1001: -95, 1002: 95}
    assert delete.valid_start_ns < delete.consensus_timestamp


def test_transaction_hash_is_that_of_the_signed_transaction():
    composer = Composer()
    composer.crypto_transfer({2: -1, 3: 1})

    (item,) = read(composer.block()).items

    assert item.record.transactionHash == sha384(item.transaction.signedTransactionBytes)


def test_a_failed_transaction_moves_its_fee_only():
    composer = Composer()
    composer.crypto_transfer({1001: -5, 1002: 5}, payer=1001, result=28, fee=1000)

    (item,) = read(composer.block()).items

    assert not item.successful
    assert transfers(item) == {1001: -1000, 3: 50, 98: 950}


def test_values_given_in_body_and_record_are_kept():
    composer = Composer()
    at = composer.consensus_timestamp + 5
    record = TransactionRecord(
        receipt=TransactionReceipt(status=104), transactionHash=b"hash", transactionFee=3
    )
    record.consensusTimestamp.seconds, record.consensusTimestamp.nanos = divmod(at, 10**9)
    body = TransactionBody(freeze=FreezeTransactionBody(), memo="own")
    body.transactionID.nonce = 1

    composer.transaction(body, record, memo="other", result=22)
    (item,) = read(composer.block()).items

    assert (item.consensus_timestamp, item.result, item.memo) == (at, 104, b"own")
    assert (item.record.transactionHash, item.record.transactionFee) == (b"hash", 3)
    assert item.body.transactionID.nonce == 1


def test_a_block_has_one_sidecar_with_the_records_of_its_transactions():
    composer = Composer()
    changes = TransactionSidecarRecord(state_changes=ContractStateChanges())
    bytecode = TransactionSidecarRecord(bytecode=ContractBytecode(initcode=b"init"))
    actions = TransactionSidecarRecord(actions=ContractActions())
    first = composer.crypto_transfer({2: -1, 3: 1}, sidecars=[changes, bytecode])
    second = composer.crypto_transfer({2: -1, 3: 1}, sidecars=[actions])
    block = composer.block()

    (metadata,) = read(block).sidecars
    sidecar = read_sidecar_file(metadata.name, block.sidecars[metadata.name], metadata.hash)

    assert (metadata.id, metadata.types) == (1, (1, 2, 3))
    assert [at for at, _ in sidecar.records] == [first.consensus_timestamp] * 2 + [second.consensus_timestamp]
    assert [record for _, record in sidecar.records] == [changes, bytecode, actions]
    composer.crypto_transfer({2: -1, 3: 1})
    assert read(composer.block()).sidecars == []


def test_a_block_without_transactions_is_of_the_time_in_its_name():
    composer = Composer()
    at = composer.consensus_timestamp
    file = read(composer.block())
    assert (file.items, file.consensus_start, file.consensus_end) == ([], at, at)
    assert file.hash == file.previous_hash


def test_every_node_signs_its_files_with_its_key_in_the_address_book():
    composer = Composer(nodes=signing_nodes(2))
    composer.crypto_transfer({2: -1, 3: 1})
    block = composer.block()
    keys = {node.node_id: node.public_key for node in read_address_book("book", composer.address_book())}

    for node in composer.nodes:
        data = block.signature(node)
        signature = read_signature_file(block.name.removesuffix(".gz") + "_sig", data)

        assert len(data) == 925
        assert signature.data_name == block.name
        assert signature.file_hash == sha384(gzip.decompress(block.data))
        assert signature.is_signed_by(keys[node.node_id])
        assert not signature.is_signed_by(keys[1 - node.node_id])


@pytest.mark.parametrize(
    ("layout", "folder"),
    [(Layout.ACCOUNT_ID, "recordstreams/record0.0.{account}"), (Layout.NODE_ID, "demo/0/{node}/record")],
)
def test_the_files_of_every_node_lie_in_its_folder(tmp_path, layout, folder):
    composer = Composer(nodes=signing_nodes(2))
    composer.crypto_transfer({2: -1, 3: 1}, sidecars=[TransactionSidecarRecord(actions=ContractActions())])
    block = composer.block()

    block.write(tmp_path, layout.folder)

    for node in composer.nodes:
        of_node = tmp_path / folder.format(account=node.account_id, node=node.node_id)
        assert (of_node / block.name).read_bytes() == block.data
        assert (of_node / f"{block.name.removesuffix('.gz')}_sig").read_bytes() == block.signature(node)
        for name, data in block.sidecars.items():
            assert (of_node / "sidecar" / name).read_bytes() == data
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 6


def test_without_nodes_the_files_lie_in_the_folder_itself(tmp_path):
    composer = Composer()
    composer.crypto_transfer({2: -1, 3: 1})
    block = composer.block()

    block.write(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [block.name]


def test_a_node_restored_from_its_key_signs_alike():
    (node,) = signing_nodes(1)
    restored = SigningNode(node.node_id, node.private_key)

    assert restored.sign(b"h" * 48) == node.sign(b"h" * 48)
    assert restored.address_book_node == node.address_book_node


@pytest.mark.parametrize("public_key", ["", "00", "not hex", "é"])
def test_nothing_verifies_with_a_text_that_is_no_key(public_key):
    (node,) = signing_nodes(1)

    assert not verify(public_key, b"h" * 48, node.sign(b"h" * 48))
