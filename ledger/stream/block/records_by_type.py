"""The part of a record that depends on the type of its transaction: created ids, totals, results.

Source: transaction outputs, trace data, and the state after the transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ledger.stream.block.block_items import BlockTransaction
from ledger.stream.block.contract_records import add_function_result, sidecar_records
from ledger.stream.block.state_after import (
    FILES,
    NODES,
    REGISTERED_NODES,
    TOKENS,
    TOPICS,
    StateAfter,
    hook_of,
)
from ledger.stream.record_item import RecordItem
from mirror.core.values import alias, entity_id
from mirror.core.values.ethereum import EIP_7702
from mirror.core.values.hapi.messages import ContractID, PendingAirdropId, PendingAirdropRecord
from mirror.core.values.hapi.transaction_types import NUMBERS

_RUNNING_HASH_VERSION = 3
_MAY_DELEGATE = frozenset(
    NUMBERS[name] for name in ("CRYPTOCREATEACCOUNT", "CRYPTOUPDATEACCOUNT", "ETHEREUMTRANSACTION")
)
_OF_CONTRACTS = frozenset((NUMBERS["CONTRACTCALL"], NUMBERS["CONTRACTCREATEINSTANCE"]))


class RecordParts(NamedTuple):
    """What completes a record: EvmTraceData in `traces`, EVM addresses of contracts (encoded) so far."""

    item: RecordItem
    transaction: BlockTransaction
    state: StateAfter
    traces: list[Any]
    addresses: Mapping[int, bytes]

    @property
    def receipt(self) -> Any:
        return self.item.record.receipt

    def mark_missing(self, field: str) -> None:
        """Note that the block lacks a field: by the record alone it would be 0."""
        self.item.absent |= {field}


def is_completed(item: RecordItem, transaction: BlockTransaction) -> bool:
    """Return whether anything but the result of a transaction is in its record."""
    return bool(transaction.outputs or transaction.traces) or item.transaction_type in _COMPLETED


def complete(
    item: RecordItem, transaction: BlockTransaction, state: StateAfter, addresses: Mapping[int, bytes]
) -> None:
    """Complete the record of an item by the state after it and its siblings; the last child comes first."""
    traces = [trace.evm_trace_data for trace in transaction.traces if trace.HasField("evm_trace_data")]
    parts = RecordParts(item, transaction, state, traces, addresses)
    for output in transaction.outputs:
        _add_output(parts, output)
    if item.transaction_type in _MAY_DELEGATE and _delegates(item):
        item.account_nonces = state.take_nonces()
    completer = _ON_SUCCESS.get(item.transaction_type)
    if completer is not None and item.successful:
        completer(parts)
    created = _CREATED_IDS.get(item.transaction_type)
    if created is not None and item.successful and _is_empty(getattr(parts.receipt, created)):
        parts.mark_missing(created)
    if traces or item.transaction_type == NUMBERS["CONTRACTCREATEINSTANCE"]:
        item.sidecar_records = sidecar_records(
            item.record.consensusTimestamp,
            traces,
            state,
            creation=item.transaction_type == NUMBERS["CONTRACTCREATEINSTANCE"],
            contract=parts.receipt.contractID,
            hook=item.executed_hook,
        )


def _delegates(item: RecordItem) -> bool:
    """Return whether the item delegates accounts: an Ethereum transaction (EIP-7702) even if it failed."""
    body = item.body
    data: bytes = body.ethereumTransaction.ethereum_data
    if data:
        return data[:1] == bytes((EIP_7702,))
    created, updated = body.cryptoCreateAccount, body.cryptoUpdateAccount
    return item.successful and bool(created.delegation_address or updated.delegation_address)


# Outputs


def _add_output(parts: RecordParts, output: Any) -> None:
    record, receipt = parts.item.record, parts.receipt
    field = output.WhichOneof("transaction")
    if field == "account_create":
        receipt.accountID.CopyFrom(output.account_create.created_account_id)
    elif field == "util_prng" and (choice := output.util_prng.WhichOneof("entropy")):
        setattr(record, choice, getattr(output.util_prng, choice))
    elif field in ("create_schedule", "sign_schedule"):
        schedule = getattr(output, field)
        if field == "create_schedule":
            receipt.scheduleID.CopyFrom(schedule.schedule_id)
        if schedule.HasField("scheduled_transaction_id"):
            receipt.scheduledTransactionID.CopyFrom(schedule.scheduled_transaction_id)
    elif field == "contract_call":
        _add_result(parts, "contractCallResult", output.contract_call.evm_transaction_result)
    elif field == "contract_create":
        _add_result(parts, "contractCreateResult", output.contract_create.evm_transaction_result)
    elif field == "ethereum_call" and (choice := output.ethereum_call.WhichOneof("transaction_result")):
        creates = choice == "evm_create_transaction_result"
        name = "contractCreateResult" if creates else "contractCallResult"
        _add_result(parts, name, getattr(output.ethereum_call, choice))


def _add_result(parts: RecordParts, name: str, evm_result: Any) -> None:
    result = getattr(parts.item.record, name)
    result.SetInParent()
    add_function_result(result, evm_result, parts.traces, parts.addresses)
    if not evm_result.HasField("internal_call_context"):
        parts.mark_missing("amount")
    hook = hook_of(evm_result.executed_hook_id)
    if hook[0]:  # else it has no owner, or an impossible one
        parts.item.executed_hook = hook
    if result.HasField("contractID"):
        if _called_contract(parts.item, evm_result):
            parts.receipt.contractID.CopyFrom(result.contractID)
        if name == "contractCreateResult" and parts.item.successful:
            address = parts.state.evm_addresses.get(entity_id.from_contract(result.contractID))
            if address is not None:
                result.evm_address.value = address
    parts.item.result_field = name


def _called_contract(item: RecordItem, evm_result: Any) -> bool:
    """Return whether the receipt names the contract of a result: that of a call or creation.

    An Ethereum transaction that used no gas never reached its contract. The results of others are those of
    system contracts that caused them.
    """
    if item.transaction_type == NUMBERS["ETHEREUMTRANSACTION"]:
        return bool(evm_result.gas_used)
    return item.transaction_type in _OF_CONTRACTS


# Types


def _account_created(parts: RecordParts) -> None:
    """Add the address that follows from a public key as alias; an alias of 20 bytes is an address itself."""
    new_alias = parts.item.body.cryptoCreateAccount.alias
    address = alias.evm_address(new_alias) if new_alias else None
    if address is not None and address != new_alias:
        parts.item.record.evm_address = address


def _account_updated(parts: RecordParts) -> None:
    account = parts.item.body.cryptoUpdateAccount.accountIDToUpdate
    if account.WhichOneof("account") == "alias":
        account = parts.state.account(account.alias) or account
    parts.receipt.accountID.CopyFrom(account)


def _contract_changed(parts: RecordParts) -> None:
    body = parts.item.body
    contract = getattr(body, body.WhichOneof("data")).contractID
    if contract.WhichOneof("contract") == "evm_address":
        num = entity_id.num_of_long_zero(contract.evm_address)
        account = parts.state.account(contract.evm_address)
        if num is None and account is not None:
            num = account.accountNum
        if num is not None:
            contract = ContractID(shardNum=contract.shardNum, realmNum=contract.realmNum, contractNum=num)
    parts.receipt.contractID.CopyFrom(contract)


def _created(parts: RecordParts) -> None:
    """Set the id of a created entity, taken from the state."""
    field, state = _STATES[parts.item.transaction_type]
    entity = parts.state.take(state)
    if state in (NODES, REGISTERED_NODES):
        _set_number(parts, field, entity)
    elif entity is not None:
        getattr(parts.receipt, field).CopyFrom(entity)


def _set_number(parts: RecordParts, field: str, number: int | None) -> None:
    if number is None:
        parts.mark_missing(field)
    else:
        setattr(parts.receipt, field, number)


def _is_empty(identifier: Any) -> bool:
    """Return whether an id names nothing: it is unset, or its number is 0."""
    parts = {field.name: part for field, part in identifier.ListFields()}
    return not any(part for name, part in parts.items() if name not in ("shardNum", "realmNum"))


def _message_submitted(parts: RecordParts) -> None:
    """Add sequence number and running hash, from a trace or, of a topic's last message, from the state."""
    receipt = parts.receipt
    receipt.topicRunningHashVersion = _RUNNING_HASH_VERSION
    for trace in parts.transaction.traces:
        if trace.HasField("submit_message_trace_data"):
            traced = trace.submit_message_trace_data
            number, running_hash = traced.sequence_number, traced.running_hash
            break
    else:
        topic = parts.item.body.consensusSubmitMessage.topicID
        number, running_hash = parts.state.take_message(entity_id.from_topic(topic)) or (0, b"")
    if number and running_hash:
        receipt.topicSequenceNumber, receipt.topicRunningHash = number, running_hash
    else:
        parts.mark_missing("topicRunningHash" if number else "topicSequenceNumber")


def _token_minted(parts: RecordParts) -> None:
    body, receipt = parts.item.body.tokenMint, parts.receipt
    _set_supply(parts, body.token, body.amount + len(body.metadata))
    serials = [
        transfer.serialNumber
        for token in parts.item.record.tokenTransferLists
        if token.token == body.token
        for transfer in token.nftTransfers
    ]
    receipt.serialNumbers.extend(sorted(serials))


def _supply_reduced(parts: RecordParts) -> None:
    body = getattr(parts.item.body, parts.item.body.WhichOneof("data"))
    _set_supply(parts, body.token, -body.amount - len(body.serialNumbers))


def _set_supply(parts: RecordParts, token: Any, added: int) -> None:
    _set_number(parts, "newTotalSupply", parts.state.take_supply(entity_id.from_token(token), added))


def _tokens_airdropped(parts: RecordParts) -> None:
    record = parts.item.record
    record.new_pending_airdrops.extend(
        pending_airdrops(parts.item.body.tokenAirdrop, record.tokenTransferLists, parts.state)
    )


def _airdrops_claimed(parts: RecordParts) -> None:
    claimed = parts.item.body.tokenClaimAirdrop.pending_airdrops
    end_airdrops(claimed, parts.item.record.tokenTransferLists, parts.state)


def _airdrops_cancelled(parts: RecordParts) -> None:
    end_airdrops(parts.item.body.tokenCancelAirdrop.pending_airdrops, (), parts.state)


# The field of the receipt with the id of a created entity, and the state that has it.
_STATES = {
    NUMBERS["CONSENSUSCREATETOPIC"]: ("topicID", TOPICS),
    NUMBERS["FILECREATE"]: ("fileID", FILES),
    NUMBERS["NODECREATE"]: ("node_id", NODES),
    NUMBERS["REGISTEREDNODECREATE"]: ("registered_node_id", REGISTERED_NODES),
    NUMBERS["TOKENCREATION"]: ("tokenID", TOKENS),
}
_ON_SUCCESS: dict[int, Callable[[RecordParts], None]] = {
    **dict.fromkeys(_STATES, _created),
    NUMBERS["CONSENSUSSUBMITMESSAGE"]: _message_submitted,
    NUMBERS["CONTRACTDELETEINSTANCE"]: _contract_changed,
    NUMBERS["CONTRACTUPDATEINSTANCE"]: _contract_changed,
    NUMBERS["CRYPTOCREATEACCOUNT"]: _account_created,
    NUMBERS["CRYPTOUPDATEACCOUNT"]: _account_updated,
    NUMBERS["TOKENAIRDROP"]: _tokens_airdropped,
    NUMBERS["TOKENBURN"]: _supply_reduced,
    NUMBERS["TOKENCANCELAIRDROP"]: _airdrops_cancelled,
    NUMBERS["TOKENCLAIMAIRDROP"]: _airdrops_claimed,
    NUMBERS["TOKENMINT"]: _token_minted,
    NUMBERS["TOKENWIPE"]: _supply_reduced,
}
# The field of the receipt with the id that a transaction gives.
_CREATED_IDS = {
    NUMBERS["CONSENSUSCREATETOPIC"]: "topicID",
    NUMBERS["CONTRACTCREATEINSTANCE"]: "contractID",
    NUMBERS["CRYPTOCREATEACCOUNT"]: "accountID",
    NUMBERS["FILECREATE"]: "fileID",
    NUMBERS["SCHEDULECREATE"]: "scheduleID",
    NUMBERS["TOKENCREATION"]: "tokenID",
}
_COMPLETED = frozenset((*_ON_SUCCESS, *_CREATED_IDS, NUMBERS["ETHEREUMTRANSACTION"]))


def pending_airdrops(body: Any, results: Iterable[Any], state: StateAfter) -> list[Any]:
    """Return the PendingAirdropRecords of a body; `results` are the TokenTransferLists of its result."""
    received = set(_received(results))
    pending: list[Any] = []
    # Backward, as the state is unwound: one transaction may name a receiver twice.
    for transfers in reversed(body.token_transfers):
        token = transfers.token
        token_id = entity_id.from_token(token)
        sender = next((amount.accountID for amount in transfers.transfers if amount.amount < 0), None)
        for nft in reversed(transfers.nftTransfers):
            receiver = _resolved(nft.receiverAccountID, state)
            if (token_id, nft.serialNumber, entity_id.from_account(receiver)) in received:
                continue
            identifier = PendingAirdropId(
                sender_id=_resolved(nft.senderAccountID, state), receiver_id=receiver
            )
            identifier.non_fungible_token.token_ID.CopyFrom(token)
            identifier.non_fungible_token.serial_number = nft.serialNumber
            pending.append(PendingAirdropRecord(pending_airdrop_id=identifier))
        for amount in reversed(transfers.transfers):
            receiver = _resolved(amount.accountID, state)
            if sender is None or amount.amount <= 0:
                continue
            if (token_id, 0, entity_id.from_account(receiver)) in received:
                continue
            identifier = PendingAirdropId(
                sender_id=_resolved(sender, state), receiver_id=receiver, fungible_token_type=token
            )
            record = PendingAirdropRecord(pending_airdrop_id=identifier)
            record.pending_airdrop_value.amount = state.take_airdrop(identifier, amount.amount)
            pending.append(record)
    pending.reverse()
    return pending


def end_airdrops(identifiers: Iterable[Any], results: Iterable[Any], state: StateAfter) -> None:
    """Note that the airdrops of PendingAirdropIds were pending before they were claimed or cancelled.

    `results` are the TokenTransferLists of that transaction's result: a claim tells the amount, unless the
    receiver claims that of several senders at once.
    """
    credits: dict[tuple[int, int], int] = {}
    for transfers in results:
        token = entity_id.from_token(transfers.token)
        for amount in transfers.transfers:
            if amount.amount > 0:
                credits[token, entity_id.from_account(amount.accountID)] = amount.amount
    ended: dict[tuple[int, int], list[Any]] = {}
    for identifier in identifiers:
        if identifier.HasField("fungible_token_type"):
            receiver = entity_id.from_account(_resolved(identifier.receiver_id, state))
            token = entity_id.from_token(identifier.fungible_token_type)
            ended.setdefault((token, receiver), []).append(identifier)
    for credit, together in ended.items():
        for identifier in together:
            state.end_airdrop(identifier, credits.get(credit) if len(together) == 1 else None)


def _received(results: Iterable[Any]) -> Iterator[tuple[int, int, int]]:
    """Yield token, serial number (0 for amounts) and account of every credit."""
    for transfers in results:
        token = entity_id.from_token(transfers.token)
        for amount in transfers.transfers:
            if amount.amount > 0:
                yield token, 0, entity_id.from_account(amount.accountID)
        for nft in transfers.nftTransfers:
            yield token, nft.serialNumber, entity_id.from_account(nft.receiverAccountID)


def _resolved(account: Any, state: StateAfter) -> Any:
    """Return the account by its number, if it is named by an alias and was changed."""
    if account.WhichOneof("account") == "alias":
        return state.account(account.alias) or account
    return account
