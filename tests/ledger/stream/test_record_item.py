import pytest

from ledger.stream.record_item import InvalidItem, RecordItem
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import (
    AccountID,
    ContractFunctionResult,
    CryptoTransferTransactionBody,
    FileUpdateTransactionBody,
    SignatureMap,
    SignaturePair,
    SignedTransaction,
    Timestamp,
    Transaction,
    TransactionBody,
    TransactionID,
    TransactionReceipt,
    TransactionRecord,
)

SUCCESS, INSUFFICIENT_PAYER_BALANCE = 22, 10


def body_bytes(**fields):
    return TransactionBody(**fields).SerializeToString()


def signed(body, **fields):
    content = SignedTransaction(bodyBytes=body, **fields).SerializeToString()
    return Transaction(signedTransactionBytes=content)


def record(at, parent=None, status=SUCCESS, **fields):
    return TransactionRecord(
        consensusTimestamp=Timestamp(seconds=at),
        parent_consensus_timestamp=None if parent is None else Timestamp(seconds=parent),
        receipt=TransactionReceipt(status=status),
        **fields,
    )


def item(at=1, *, transaction=None, previous=None, **fields):
    return RecordItem(
        0, transaction or signed(body_bytes(memo="memo")), record(at, **fields), previous=previous
    )


@pytest.mark.checklist("PARSE-01")
def test_the_body_is_that_of_the_signed_transaction_first():
    signatures = SignatureMap(sigPair=[SignaturePair(pubKeyPrefix=b"inner")])
    transaction = signed(body_bytes(memo="signed"), sigMap=signatures)
    transaction.bodyBytes = body_bytes(memo="bytes")
    transaction.body.memo = "deprecated"

    read = item(transaction=transaction)

    assert read.body.memo == "signed"
    assert read.signature_map == signatures


@pytest.mark.checklist("PARSE-01")
def test_without_a_signed_transaction_it_is_that_of_the_body_bytes():
    signatures = SignatureMap(sigPair=[SignaturePair(pubKeyPrefix=b"outer")])
    transaction = Transaction(bodyBytes=body_bytes(memo="bytes"), sigMap=signatures)
    transaction.body.memo = "deprecated"

    read = item(transaction=transaction)

    assert read.body.memo == "bytes"
    assert read.signature_map == signatures


@pytest.mark.checklist("PARSE-01")
def test_the_deprecated_body_comes_last():
    assert item(transaction=Transaction(body=TransactionBody(memo="deprecated"))).body.memo == "deprecated"


@pytest.mark.checklist("PARSE-01")
def test_a_transaction_without_any_body_is_refused():
    with pytest.raises(InvalidItem, match="has no body"):
        item(transaction=Transaction())


@pytest.mark.checklist("PARSE-02")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (body_bytes(cryptoTransfer=CryptoTransferTransactionBody()), 14),
        (wire.length_delimited(900, b""), 900),
        (wire.length_delimited(900, b"") * 2, 900),
        (wire.length_delimited(900, b"") + wire.length_delimited(901, b""), 0),
        (body_bytes(memo="nothing else"), 0),
        (b"", 0),
    ],
    ids=["known", "unknown", "unknown twice", "two unknown", "no data", "empty"],
)
def test_the_type_is_the_number_of_the_data_or_of_the_only_unknown_field(body, expected):
    transaction = signed(body) if body else Transaction(signedTransactionBytes=b"\x12\x00")

    assert item(transaction=transaction).transaction_type == expected


@pytest.mark.checklist("TX-09")
def test_a_memo_that_is_not_utf8_keeps_its_bytes():
    read = item(transaction=signed(wire.length_delimited(6, b"caf\xe9")))

    assert read.memo == b"caf\xe9"
    assert read.body.memo == "caf�"
    assert item(transaction=signed(body_bytes(memo="café"))).memo == "café".encode()


def test_payer_and_valid_start_come_from_the_transaction_id():
    transaction_id = TransactionID(
        accountID=AccountID(shardNum=1, realmNum=2, accountNum=3),
        transactionValidStart=Timestamp(seconds=5, nanos=6),
    )

    read = item(transaction=signed(body_bytes(transactionID=transaction_id)))

    assert read.payer_account_id == (1 << 54) + (2 << 38) + 3
    assert read.valid_start_ns == 5_000_000_006


@pytest.mark.checklist("ENC-03")
def test_an_impossible_transaction_id_names_no_payer_and_starts_at_the_end_of_time():
    identifier = TransactionID(
        accountID=AccountID(accountNum=-1), transactionValidStart=Timestamp(seconds=1 << 62)
    )

    read = item(transaction=signed(body_bytes(transactionID=identifier)))

    assert (read.payer_account_id, read.valid_start_ns) == (0, (1 << 63) - 1)


def test_a_record_without_consensus_timestamp_is_refused():
    with pytest.raises(InvalidItem, match="no consensus timestamp"):
        RecordItem(0, signed(body_bytes(memo="memo")), TransactionRecord())


@pytest.mark.checklist("PARSE-05")
def test_a_child_is_linked_to_the_item_before_it():
    parent = item(1)
    child = item(2, parent=1, previous=parent)

    assert child.parent is parent
    assert child.is_child
    assert child.parent_consensus_timestamp == 10**9


@pytest.mark.checklist("PARSE-05")
def test_a_second_child_is_linked_to_the_parent_of_the_first():
    parent = item(1)
    first = item(2, parent=1, previous=parent)

    assert item(3, parent=1, previous=first).parent is parent


@pytest.mark.checklist("PARSE-05")
def test_the_next_inner_transaction_of_a_batch_is_linked_past_the_children_of_the_one_before():
    batch = item(1)
    inner = item(2, parent=1, previous=batch)
    child_of_inner = item(3, parent=2, previous=inner)

    assert item(4, parent=1, previous=child_of_inner).parent is batch


@pytest.mark.checklist("PARSE-05")
def test_a_child_of_an_item_further_away_or_in_another_file_is_not_linked():
    first = item(1)
    second = item(2, previous=first)

    assert item(3, parent=1, previous=second).parent is None
    assert item(3, parent=1).parent is None
    assert item(3, parent=1).is_child


def test_an_item_without_parent_timestamp_is_not_linked():
    assert item(2, previous=item(1)).parent is None


@pytest.mark.checklist("PARSE-03")
@pytest.mark.parametrize("status", [22, 104, 220])
def test_three_results_count_as_success(status):
    assert item(status=status).successful


@pytest.mark.checklist("PARSE-03")
@pytest.mark.parametrize("status", [0, 21, 10, 23, 9999])
def test_any_other_result_is_a_failure(status):
    read = item(status=status)

    assert not read.successful
    assert read.result == status


@pytest.mark.checklist("PARSE-04")
def test_children_of_a_failed_parent_failed_whatever_their_own_result():
    parent = item(1, status=INSUFFICIENT_PAYER_BALANCE)
    child = item(2, parent=1, previous=parent)

    assert not child.successful
    assert not item(3, parent=2, previous=child).successful


@pytest.mark.checklist("FILE-11")
@pytest.mark.parametrize(
    ("transaction_id", "fields", "parent", "expected"),
    [
        (TransactionID(), {}, None, True),
        (TransactionID(nonce=1), {}, None, True),
        (TransactionID(), {}, 1, True),
        (TransactionID(nonce=1), {}, 1, False),
        (TransactionID(nonce=1, scheduled=True), {}, 1, True),
        (TransactionID(nonce=1, accountID=AccountID(accountNum=50)), {}, 1, False),
        (
            TransactionID(nonce=1, accountID=AccountID(accountNum=50)),
            {"fileUpdate": FileUpdateTransactionBody()},
            1,
            True,
        ),
    ],
)
def test_top_level_items_are_those_no_user_transaction_caused(transaction_id, fields, parent, expected):
    transaction = signed(body_bytes(transactionID=transaction_id, memo="m", **fields))

    assert item(2, transaction=transaction, parent=parent).is_top_level is expected


def test_a_contract_has_run_even_if_its_result_is_empty():
    assert item(contractCallResult=ContractFunctionResult()).ran_contract
    assert item(contractCreateResult=ContractFunctionResult()).ran_contract
    assert not item().ran_contract


def test_an_empty_function_result_counts_as_none():
    assert item(contractCallResult=ContractFunctionResult()).function_result is None
    assert item().function_result is None
    assert item(contractCreateResult=ContractFunctionResult(gasUsed=5)).function_result.gasUsed == 5
