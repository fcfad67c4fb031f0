"""The part of a record that depends on the type of its transaction: created ids, totals, results.

Source: transaction outputs, trace data, and the state after the transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ledger.stream.block.airdrop import pending_airdrops
from ledger.stream.block.contract import function_result, sidecar_records
from ledger.stream.block.items import BlockTransaction
from ledger.stream.block.state import StateAfter
from ledger.stream.record.item import RecordItem
from mirror.values import alias, entity_id
from mirror.values.hapi import ContractID
from mirror.values.transaction_types import NUMBERS

_RUNNING_HASH_VERSION = 3


@dataclass(frozen=True, slots=True)
class Given:
    """What a record is completed from; `traces` are the EvmTraceData of the transaction."""

    item: RecordItem
    transaction: BlockTransaction
    state: StateAfter
    traces: list[Any]

    @property
    def receipt(self) -> Any:
        return self.item.record.receipt


def complete(item: RecordItem, transaction: BlockTransaction, state: StateAfter) -> None:
    """Add to `item` what its type needs; after all later items of the block."""
    traces = [trace.evm_trace_data for trace in transaction.traces if trace.HasField("evm_trace_data")]
    given = Given(item, transaction, state, traces)
    for output in transaction.outputs:
        _add_output(given, output)
    by_type = _ON_SUCCESS.get(item.transaction_type)
    if by_type is not None and item.successful:
        by_type(given)
    if traces or item.transaction_type == NUMBERS["CONTRACTCREATEINSTANCE"]:
        item.sidecar_records = sidecar_records(
            item.record.consensusTimestamp,
            traces,
            state,
            creation=item.transaction_type == NUMBERS["CONTRACTCREATEINSTANCE"],
            contract=given.receipt.contractID,
        )


# Outputs


def _add_output(given: Given, output: Any) -> None:
    record, receipt = given.item.record, given.receipt
    kind = output.WhichOneof("transaction")
    if kind == "account_create":
        receipt.accountID.CopyFrom(output.account_create.created_account_id)
    elif kind == "util_prng":
        which = output.util_prng.WhichOneof("entropy")
        if which is not None:
            setattr(record, which, getattr(output.util_prng, which))
    elif kind == "create_schedule":
        receipt.scheduleID.CopyFrom(output.create_schedule.schedule_id)
        _copy(output.create_schedule, "scheduled_transaction_id", receipt.scheduledTransactionID)
    elif kind == "sign_schedule":
        _copy(output.sign_schedule, "scheduled_transaction_id", receipt.scheduledTransactionID)
    elif kind == "contract_call":
        _add_result(given, "contractCallResult", output.contract_call.evm_transaction_result)
    elif kind == "contract_create":
        _add_result(given, "contractCreateResult", output.contract_create.evm_transaction_result)
    elif kind == "ethereum_call":
        which = output.ethereum_call.WhichOneof("transaction_result")
        if which is not None:
            creates = which == "evm_create_transaction_result"
            name = "contractCreateResult" if creates else "contractCallResult"
            _add_result(given, name, getattr(output.ethereum_call, which))


def _add_result(given: Given, name: str, evm_result: Any) -> None:
    result = function_result(evm_result, given.traces)
    if result.HasField("contractID"):
        # An Ethereum transaction that used no gas never came to its contract.
        if evm_result.gas_used or given.item.transaction_type != NUMBERS["ETHEREUMTRANSACTION"]:
            given.receipt.contractID.CopyFrom(result.contractID)
        if name == "contractCreateResult" and given.item.successful:
            address = given.state.evm_address(entity_id.of_contract(result.contractID))
            if address is not None:
                result.evm_address.value = address
    getattr(given.item.record, name).CopyFrom(result)


def _copy(output: Any, field: str, to: Any) -> None:
    if output.HasField(field):
        to.CopyFrom(getattr(output, field))


# Types


def _account_created(given: Given) -> None:
    """The address that a public key given as alias stands for; a 20 byte alias is an address itself."""
    given_alias = given.item.body.cryptoCreateAccount.alias
    address = alias.evm_address(given_alias) if given_alias else None
    if address is not None and address != given_alias:
        given.item.record.evm_address = address


def _account_updated(given: Given) -> None:
    account = given.item.body.cryptoUpdateAccount.accountIDToUpdate
    if account.WhichOneof("account") == "alias":
        account = given.state.account(account.alias) or account
    given.receipt.accountID.CopyFrom(account)


def _contract_updated(given: Given) -> None:
    _add_contract(given, given.item.body.contractUpdateInstance.contractID)


def _contract_deleted(given: Given) -> None:
    _add_contract(given, given.item.body.contractDeleteInstance.contractID)


def _add_contract(given: Given, contract: Any) -> None:
    if contract.WhichOneof("contract") == "evm_address":
        num = entity_id.num_of_long_zero(contract.evm_address)
        account = given.state.account(contract.evm_address)
        if num is None and account is not None:
            num = account.accountNum
        if num is not None:
            contract = ContractID(shardNum=contract.shardNum, realmNum=contract.realmNum, contractNum=num)
    given.receipt.contractID.CopyFrom(contract)


def _file_created(given: Given) -> None:
    _set(given.receipt.fileID, given.state.take_file())


def _topic_created(given: Given) -> None:
    _set(given.receipt.topicID, given.state.take_topic())


def _token_created(given: Given) -> None:
    _set(given.receipt.tokenID, given.state.take_token())


def _node_created(given: Given) -> None:
    given.receipt.node_id = given.state.take_node() or 0


def _set(field: Any, entity: Any | None) -> None:
    if entity is not None:
        field.CopyFrom(entity)


def _message_submitted(given: Given) -> None:
    """Traces tell it, except those of a topic's last message: that one the state has too."""
    receipt = given.receipt
    receipt.topicRunningHashVersion = _RUNNING_HASH_VERSION
    for trace in given.transaction.traces:
        if trace.HasField("submit_message_trace_data"):
            told = trace.submit_message_trace_data
            receipt.topicSequenceNumber, receipt.topicRunningHash = told.sequence_number, told.running_hash
            return
    topic = given.item.body.consensusSubmitMessage.topicID
    last = given.state.take_message(entity_id.of_topic(topic))
    if last is not None:
        receipt.topicSequenceNumber, receipt.topicRunningHash = last


def _token_minted(given: Given) -> None:
    body, receipt = given.item.body.tokenMint, given.receipt
    _set_supply(given, body.token, body.amount + len(body.metadata))
    serials = [
        transfer.serialNumber
        for token in given.item.record.tokenTransferLists
        if token.token == body.token
        for transfer in token.nftTransfers
    ]
    receipt.serialNumbers.extend(sorted(serials))


def _token_burnt(given: Given) -> None:
    body = given.item.body.tokenBurn
    _set_supply(given, body.token, -body.amount - len(body.serialNumbers))


def _token_wiped(given: Given) -> None:
    body = given.item.body.tokenWipe
    _set_supply(given, body.token, -body.amount - len(body.serialNumbers))


def _set_supply(given: Given, token: Any, added: int) -> None:
    supply = given.state.take_supply(entity_id.of_token(token), added)
    if supply is not None:
        given.receipt.newTotalSupply = supply


def _tokens_airdropped(given: Given) -> None:
    record = given.item.record
    record.new_pending_airdrops.extend(
        pending_airdrops(given.item.body.tokenAirdrop, record.tokenTransferLists, given.state)
    )


_ON_SUCCESS: dict[int, Callable[[Given], None]] = {
    NUMBERS["CONSENSUSCREATETOPIC"]: _topic_created,
    NUMBERS["CONSENSUSSUBMITMESSAGE"]: _message_submitted,
    NUMBERS["CONTRACTDELETEINSTANCE"]: _contract_deleted,
    NUMBERS["CONTRACTUPDATEINSTANCE"]: _contract_updated,
    NUMBERS["CRYPTOCREATEACCOUNT"]: _account_created,
    NUMBERS["CRYPTOUPDATEACCOUNT"]: _account_updated,
    NUMBERS["FILECREATE"]: _file_created,
    NUMBERS["NODECREATE"]: _node_created,
    NUMBERS["TOKENAIRDROP"]: _tokens_airdropped,
    NUMBERS["TOKENBURN"]: _token_burnt,
    NUMBERS["TOKENCREATION"]: _token_created,
    NUMBERS["TOKENMINT"]: _token_minted,
    NUMBERS["TOKENWIPE"]: _token_wiped,
}
