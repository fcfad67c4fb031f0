"""Spending of allowances by contracts: each transfer is a child transaction, and has a log."""

from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import AccountAmount, TokenID, TransferList
from mirror.demo.evm import token_service
from mirror.demo.evm.children import Answered, Place, submit
from mirror.demo.evm.system_contracts import SystemCallRequest
from mirror.demo.evm.token_service import Spending
from mirror.demo.network import Network
from mirror.demo.streams.record_files import ComposedTransaction, account
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import LogEntry


def log_of_mirrors(network: Network, called: int, asked: Spending | SystemCallRequest) -> LogEntry | None:
    """Return the log that mirrors add to the call; None without units, or if the node has logged it."""
    moved = asked.moved
    if moved is None or network.logs_transfers:
        return None
    return LogEntry(called, moved.topics, moved.amount.to_bytes(32, "big"))


def record(
    network: Network, spent: Spending, spender: int, parent: ComposedTransaction, nonce: int, payer: int
) -> None:
    """Make the transfer as a child of the call; it lowers the allowance of the contract, not of the payer."""
    tokens = network.world.tokens
    owner, receiver = _holder(network, spent.owner), _holder(network, spent.receiver)
    moved = {owner.number: -spent.amount, receiver.number: spent.amount}
    record: dict[str, Any] = {}
    if spent.token is None:
        tokens.hbar_allowances[owner.number, spender].amount -= spent.amount
        body: dict[str, Any] = {"transfers": TransferList(accountAmounts=_amounts(moved, approved=True))}
    else:
        number = entity_id.num_of_long_zero(spent.token)
        assert number is not None
        tokens.token_allowances[owner.number, spender, number].amount -= spent.amount
        token = TokenID(tokenNum=number)
        body = {"tokenTransfers": [{"token": token, "transfers": _amounts(moved, approved=True)}]}
        record["tokenTransferLists"] = [{"token": token, "transfers": _amounts(moved, approved=False)}]
        for of, amount in moved.items():
            tokens.issued[number].relationships[of].receive(amount, network.now)
    answered = Answered(token_service.NUMBER, spender, spent.data, spent.gas, token_service.SUCCEEDED)
    transfers = moved if spent.token is None else None
    place = Place(parent, nonce, payer)
    submit(network, answered, place, "cryptoTransfer", body, record=record, transfers=transfers)


def _amounts(moved: dict[int, int], *, approved: bool) -> list[Any]:
    """Return the AccountAmount messages; `approved` debits use an allowance."""
    return [
        AccountAmount(accountID=account(of), amount=amount, is_approval=approved and amount < 0)
        for of, amount in moved.items()
    ]


def _holder(network: Network, address: bytes) -> Account:
    accounts = network.world.accounts
    number = entity_id.num_of_long_zero(address)
    if number is not None:
        return accounts[number]
    return next(holder for holder in accounts.values() if holder.evm_address == address)
