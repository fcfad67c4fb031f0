"""Ids that no entity can have: a record may hold any number where an id is expected, which stops nothing."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import (
    AccountID,
    ContractID,
    CustomFeeLimit,
    TransactionBody,
    TransactionRecord,
)
from mirror.demo.streams.record_files import account, transfer_list
from tests.contracts.compose import (
    CALLER,
    CONTRACT,
    OTHER,
    ContractStream,
    actions,
    contract,
    ethereum_data,
    function_result,
)
from tests.ledger.ingest.load import load, settings, stored
from tests.logs import events

pytestmark = pytest.mark.usefixtures("ledger_tables")

INVALID_TRANSACTION, SUCCESS, INVALID_TOPIC_ID = 1, 22, 150
FAILED_IN_2019 = 1_570_000_000 * 10**9

# Seen as the contract of a result on a public network.
SEEN = 1514739994982350848

IMPOSSIBLE = [
    pytest.param(ContractID(contractNum=SEEN), id="too large"),
    pytest.param(ContractID(contractNum=-1), id="negative"),
    pytest.param(ContractID(shardNum=2000, contractNum=5), id="shard"),
    pytest.param(ContractID(realmNum=-1, contractNum=5), id="realm"),
    pytest.param(ContractID(evm_address=b"short"), id="short address"),
    pytest.param(ContractID(evm_address=bytes(12) + b"\xff" * 8), id="long-zero address"),
]


@pytest.fixture(autouse=True)
def _halt_on_error(settings_of: Any) -> None:
    """None of what is here is an error unless a test says so."""
    settings_of({"importer.parser.haltOnError": True})


@pytest.mark.parametrize("impossible", IMPOSSIBLE)
@pytest.mark.parametrize("field", ["contractCallResult", "contractCreateResult"])
@pytest.mark.parametrize("status", [SUCCESS, INVALID_TRANSACTION])
def test_a_function_result_of_an_impossible_contract_is_one_of_contract_zero(
    impossible: Any, field: str, status: int
) -> None:
    stream = ContractStream()
    listed = [contract(CONTRACT), impossible, contract(OTHER)]
    ran = function_result(
        contractID=impossible, createdContractIDs=listed, logInfo=[{"contractID": impossible}]
    )
    stream.happen("contractCall", {"contractID": contract(CONTRACT)}, record={field: ran}, result=status)
    stream.happen("contractCall", {"contractID": impossible}, record={field: ran}, result=status)
    stream.ethereum(ethereum_data(), ran, result=status)

    load(stream.block())

    assert stored("transaction", "index, entity_id, result") == [
        (0, CONTRACT, status),
        (1, None, status),
        (2, None, status),
    ]
    assert stored("contract_result", "transaction_index, contract_id, created_contract_ids, gas_used") == [
        (0, CONTRACT, [CONTRACT, OTHER], 500),
        (1, 0, [CONTRACT, OTHER], 500),
        (2, 0, [CONTRACT, OTHER], 500),
    ]
    assert len(stored("contract_log", "index")) == 3


def test_the_entity_of_an_impossible_receipt_is_that_of_the_body() -> None:
    stream = ContractStream()
    stream.happen(
        "contractUpdateInstance", {"contractID": contract(CONTRACT)}, receipt={"contractID": contract(SEEN)}
    )

    load(stream.block())

    assert stored("transaction", "entity_id") == stored("entity", "id") == [(CONTRACT,)]


@pytest.mark.parametrize(
    ("start", "is_approval"), [(FAILED_IN_2019, False), (None, True)], ids=["in 2019", "approved"]
)
def test_a_failed_transfer_of_an_impossible_account_is_stored_with_its_fee(
    start: int | None, is_approval: bool
) -> None:
    stream = ContractStream(start=start) if start else ContractStream()
    asked = {"accountID": AccountID(accountNum=-1), "amount": -5, "is_approval": is_approval}
    stream.happen(
        "cryptoTransfer", {"transfers": {"accountAmounts": [asked]}}, fee=20, result=INVALID_TRANSACTION
    )

    load(stream.block())

    assert stored("transaction", "result") == [(INVALID_TRANSACTION,)]
    assert stored("crypto_transfer", "entity_id, amount, is_approval, errata") == [
        (3, 1, False, None),
        (98, 19, False, None),
        (CALLER, -20, False, None),
    ]


def test_call_data_in_an_impossible_file_is_a_recoverable_problem(caplog: pytest.LogCaptureFixture) -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), call_data=-1, result=INVALID_TRANSACTION)
    with settings(importer__parser__haltOnError=False):
        load(stream.block())

    assert stored("transaction", "type, result") == [(50, INVALID_TRANSACTION)]
    assert stored("ethereum_transaction", "hash") == []
    assert "recoverable_problem" in caplog.text


@pytest.mark.checklist("TX-13")
def test_a_limit_of_custom_fees_that_names_an_impossible_id_is_left_out() -> None:
    good = CustomFeeLimit(account_id=account(CALLER), fees=[{"amount": 5}])
    of_no_account = CustomFeeLimit(account_id=AccountID(accountNum=-1))
    of_no_token = CustomFeeLimit(
        account_id=account(CALLER), fees=[{"denominating_token_id": {"tokenNum": 1 << 38}}]
    )
    stream = ContractStream()
    for limits in ([of_no_account, good, of_no_token], [of_no_token]):
        stream.transaction(TransactionBody(max_custom_fees=limits, cryptoTransfer={}))

    load(stream.block())

    assert stored("transaction", "index, max_custom_fees") == [(0, [good.SerializeToString()]), (1, None)]


def test_ids_that_the_network_refuses_or_uses_itself_are_no_problem(caplog: pytest.LogCaptureFixture) -> None:
    stream = ContractStream()
    stream.happen("consensusSubmitMessage", {"topicID": {"topicNum": -1}}, result=INVALID_TOPIC_ID)
    creation = {"call_type": 2, "calling_account": account(CALLER), "output": b""}
    stream.call(ran=function_result(), sidecars=[actions(creation)])
    stream.happen("util_prng", {})
    stream.happen("systemDelete", {"contractID": contract(-1)})

    load(stream.block())

    assert stored("transaction", "index, entity_id") == [(0, None), (1, CONTRACT), (2, None), (3, None)]
    assert stored("contract_action", "recipient_account, recipient_contract") == [(None, None)]
    told = [event["reason"] for event in events(caplog) if event["event"] == "anomaly"]
    assert len(told) == 2
    assert "no pseudorandom number" in told[0]
    assert "contract id 0.0.-1 is out of range" in told[1]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_another_impossible_entity_is_a_recoverable_problem(caplog: pytest.LogCaptureFixture) -> None:
    stream = ContractStream()
    stream.happen("consensusSubmitMessage", {"topicID": {"topicNum": -1}}, result=INVALID_TRANSACTION)
    with settings(importer__parser__haltOnError=False):
        load(stream.block())

    assert stored("transaction", "entity_id") == [(None,)]
    assert "topic id 0.0.-1 is out of range" in caplog.text


def test_an_impossible_payer_does_not_stop_the_stream() -> None:
    body = TransactionBody(cryptoTransfer={})
    body.transactionID.accountID.accountNum = -1
    stream = ContractStream()
    stream.transaction(body, TransactionRecord(transferList=transfer_list({3: -7, 98: 7})), result=71)

    load(stream.block())

    assert stored("transaction", "payer_account_id, result") == [(0, 71)]
    assert stored("crypto_transfer", "entity_id, payer_account_id") == [(3, 0), (98, 0)]
