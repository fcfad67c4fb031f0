"""Synthetic logs: transfers and approvals by the token service, as an ERC-20 or ERC-721 contract logs them.

Ethereum tools see them like those of contracts. Topics hold the long-zero address of an account; for
transferred units the EVM address if it has one. Topics and amounts lose leading zeros.

Units that contracts move are logged only before HAPI 0.71, when nodes did not log them. Such a log belongs
to the call, and has its time, hash and contract.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from contracts.handlers.blooms import Blooms
from contracts.handlers.positions import LogIndex, Positions
from contracts.handlers.results import NODE_LOGS_SINCE, add_contract_transactions, insert_result
from contracts.models import ContractLog
from ledger.handlers.transaction import SUBMIT_MESSAGE, TransactionsWithLogs
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item, handles
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.ethereum import stripped
from mirror.core.values.hapi.transaction_types import NUMBERS

TRANSFER = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
APPROVAL = bytes.fromhex("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")
APPROVAL_FOR_ALL = bytes.fromhex("17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31")

# Function selectors: transfer(address,uint256), approve(address,uint256).
_TRANSFER_CALL, _APPROVE_CALL = bytes.fromhex("a9059cbb"), bytes.fromhex("095ea7b3")

FAIL_INVALID = 23
# Their transfers mint or burn units, so the other side is no account.
ONE_SIDED = frozenset(NUMBERS[name] for name in ("TOKENCREATION", "TOKENMINT", "TOKENBURN", "TOKENWIPE"))

ZERO = b"\0"
_UNSIGNED = (1 << 64) - 1

# Without the setting for many parties a record with more lists of transfers than this has no logs.
FEW_LISTS = 2


class _Log(NamedTuple):
    """What a log says: the token, the topics and the data."""

    token: int
    topic0: bytes
    topic1: bytes
    topic2: bytes
    topic3: bytes | None = None
    data: bytes = ZERO


class _Call(NamedTuple):
    """The contract call that a log belongs to."""

    consensus_timestamp: int
    transaction_hash: bytes
    contract_id: int
    root_contract_id: int | None


@every_item(Order.TOKEN_TRANSFERS)
def token_transfer_logs(item: RecordItem, batch: Batch) -> None:
    """Log the token transfers that no node logs. Source: record.tokenTransferLists.

    Rows: contract_log insert; those of `Blooms.add`; unless a contract moved them, contract_result and
    contract_transaction insert, if configured.
    """
    lists = item.record.tokenTransferLists
    persist = batch.persist
    if not lists or not persist.tokens or not (item.successful or item.result == FAIL_INVALID):
        return
    of_contract = item.ran_contract
    if of_contract and item.hapi_version >= NODE_LOGS_SINCE:
        return
    if persist.synthetic_contract_logs and (persist.synthetic_contract_logs_multi or len(lists) <= FEW_LISTS):
        for transfers in lists:
            token = entity_id.from_token(transfers.token)
            if transfers.transfers:
                _units_moved(item, batch, token, transfers.transfers)
            if of_contract:
                continue
            for transfer in transfers.nftTransfers:
                # A negative number stands for serials that the record does not list.
                if transfer.serialNumber < 0:
                    continue
                sender = account_topic(entity_id.from_account(transfer.senderAccountID))
                receiver = account_topic(entity_id.from_account(transfer.receiverAccountID))
                number = number_bytes(transfer.serialNumber)
                _add(item, batch, _Log(token, TRANSFER, sender, receiver, number))
    if persist.synthetic_contract_results and not of_contract:
        _add_result(item, batch, entity_id.from_token(lists[0].token), _TRANSFER_CALL)


@handles("CRYPTOAPPROVEALLOWANCE")
def allowance_logs(item: RecordItem, batch: Batch) -> None:
    """Log approvals; the last entry of a key counts. Source: body.cryptoApproveAllowance.

    Rows: contract_log insert; contract_result insert, if configured.
    """
    body = item.body.cryptoApproveAllowance
    if not (body.nftAllowances or body.tokenAllowances) or item.record.WhichOneof("body") is not None:
        return
    if batch.persist.synthetic_contract_logs:
        _serials_approved(item, batch, body.nftAllowances)
        granted: set[tuple[int, int, int]] = set()
        for allowance, owner in _owned(item, batch, body.tokenAllowances):
            spender = entity_id.from_account(allowance.spender)
            token = entity_id.from_token(allowance.tokenId)
            if (owner, spender, token) not in granted:
                granted.add((owner, spender, token))
                amount = number_bytes(allowance.amount)
                topics = APPROVAL, account_topic(owner), account_topic(spender)
                _add(item, batch, _Log(token, *topics, data=amount))
    if batch.persist.synthetic_contract_results:
        _add_result(item, batch, 0, _APPROVE_CALL)


@handles("CRYPTODELETEALLOWANCE")
def deleted_allowance_logs(item: RecordItem, batch: Batch) -> None:
    """Log approvals without a spender. Source: body.cryptoDeleteAllowance. Rows: contract_log insert."""
    if not batch.persist.synthetic_contract_logs or item.record.WhichOneof("body") is not None:
        return
    for allowance in item.body.cryptoDeleteAllowance.nftAllowances:
        owner = entity_id.from_account(allowance.owner) or item.payer_account_id
        token = entity_id.from_token(allowance.token_id)
        for serial in allowance.serial_numbers:
            _add(item, batch, _Log(token, APPROVAL, account_topic(owner), b"", number_bytes(serial)))


def _units_moved(item: RecordItem, batch: Batch, token: int, transfers: Any) -> None:
    for sender, receiver, amount in moves(item.transaction_type, entity_id.amounts_of(transfers)):
        _add_transfer(item, batch, token, sender, receiver, amount)


def moves(transaction_type: int, moved: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield sender, receiver and amount of units that are minted (from 0), burnt (to 0), or moved."""
    if transaction_type in ONE_SIDED:
        for account, amount in moved:
            sender, receiver = (account, 0) if amount < 0 else (0, account if amount else 0)
            yield sender, receiver, abs(amount)
    elif len(moved) == 2 and moved[0][1] + moved[1][1] == 0:
        (sender, amount), (receiver, _) = sorted(moved, key=lambda transfer: transfer[1])
        if amount:
            yield sender, receiver, -amount
    else:
        yield from _pairs(moved)


def _pairs(moved: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield sender, receiver and amount: the largest sender paired with the largest receiver, and so on."""
    by_amount = sorted(moved, key=lambda transfer: (-abs(transfer[1]), transfer[0] & _UNSIGNED))
    senders = [[account, -amount] for account, amount in reversed(by_amount) if amount <= 0]
    receivers = [[account, amount] for account, amount in reversed(by_amount) if amount > 0]
    while senders and receivers:
        sender, receiver = senders[-1], receivers[-1]
        amount = min(sender[1], receiver[1])
        yield sender[0], receiver[0], amount
        for side, party in ((senders, sender), (receivers, receiver)):
            party[1] -= amount
            if not party[1]:
                side.pop()


def _add_transfer(
    item: RecordItem, batch: Batch, token: int, sender: int, receiver: int, amount: int
) -> None:
    sides = account_topic(sender), account_topic(receiver)
    log = _add(item, batch, _Log(token, TRANSFER, *sides, data=number_bytes(amount)))
    if batch.persist.synthetic_evm_addresses:
        for column, account in (("topic1", sender), ("topic2", receiver)):
            if account:
                batch.evm_addresses.fill(log, column, account)


def _serials_approved(item: RecordItem, batch: Batch, allowances: Any) -> None:
    for_all: set[tuple[int, int, int]] = set()
    serials: set[tuple[int, int]] = set()
    for allowance, owner in _owned(item, batch, allowances):
        spender, token = entity_id.from_account(allowance.spender), entity_id.from_token(allowance.tokenId)
        sides = account_topic(owner), account_topic(spender)
        has_for_all = allowance.HasField("approved_for_all")
        if has_for_all and (owner, spender, token) not in for_all:
            for_all.add((owner, spender, token))
            data = b"\1" if allowance.approved_for_all.value else b"\0"
            _add(item, batch, _Log(token, APPROVAL_FOR_ALL, *sides, data=data))
        for serial in allowance.serial_numbers:
            if (token, serial) in serials:
                continue
            serials.add((token, serial))
            if not has_for_all:
                _add(item, batch, _Log(token, APPROVAL, *sides, number_bytes(serial)))


def _owned(item: RecordItem, batch: Batch, allowances: Any) -> Iterator[tuple[Any, int]]:
    """Yield allowances with their owner, the last one first; those of an unknown alias are left out."""
    for allowance in reversed(allowances):
        owner = batch.lookup.account(allowance.owner)
        if not owner and allowance.owner.WhichOneof("account") == "alias":
            continue
        yield allowance, owner or item.payer_account_id


def _add(item: RecordItem, batch: Batch, log: _Log) -> dict[str, Any]:
    timestamp, hash, contract, root = _call(item, batch, log.token)
    if item.transaction_type == SUBMIT_MESSAGE:
        batch.state(TransactionsWithLogs).add(timestamp)
    row = batch.insert(
        ContractLog,
        bloom=b"",
        consensus_timestamp=timestamp,
        contract_id=contract,
        data=log.data or ZERO,
        index=batch.state(LogIndex).take(),
        payer_account_id=item.payer_account_id,
        root_contract_id=root,
        synthetic=True,
        topic0=log.topic0,
        topic1=log.topic1,
        topic2=log.topic2,
        topic3=log.topic3,
        transaction_hash=hash,
        transaction_index=batch.state(Positions).log_position(item, batch),
    )
    batch.state(Blooms).add(row, batch, of_contract=contract != log.token)
    return row


def _call(item: RecordItem, batch: Batch, token: int) -> _Call:
    """Return the call that caused a log; without one, the item stands for a call of the token."""
    call = item.contract_parent
    if call is None:
        return _Call(item.consensus_timestamp, item.hash, token, token)
    kind = call.record.WhichOneof("body")
    called = batch.lookup.contract(getattr(call.record, kind).contractID) if kind else call.entity_id
    root = batch.lookup.contract(call.record.receipt.contractID)
    return _Call(call.consensus_timestamp, call.hash, called, root or None)


def _add_result(item: RecordItem, batch: Batch, contract: int, selector: bytes) -> None:
    insert_result(
        item,
        batch,
        contract,
        call_result=b"\1" if item.successful else b"\0",
        created_contract_ids=[],
        function_parameters=selector,
        gas_limit=0,
        sender_id=item.payer_account_id,
    )
    add_contract_transactions(item, batch, {contract, item.payer_account_id})


def account_topic(account: int) -> bytes:
    """Return an account as a topic: its long-zero address without leading zeros; empty for no account."""
    return number_bytes(account & entity_id.MAX_NUM)


def number_bytes(number: int) -> bytes:
    """Return the unsigned big-endian bytes without leading zeros; 0 is empty."""
    return stripped(number & _UNSIGNED)
