"""Spending of allowances by contracts: each transfer is a child transaction, and has a log."""

from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import TransferList
from mirror.demo.evm import token_service
from mirror.demo.evm.children import Parent, ServiceCall, submit
from mirror.demo.evm.system_contracts import SystemCallRequest
from mirror.demo.evm.token_service import Spending
from mirror.demo.network import Network
from mirror.demo.world.contracts import LogEntry
from mirror.demo.world.messages import units


def log_of_mirrors(network: Network, called: int, request: Spending | SystemCallRequest) -> LogEntry | None:
    """Return the log that mirrors add to the call; None without units, or if the node has logged it."""
    moved = request.moved
    if moved is None or network.logs_transfers:
        return None
    return LogEntry(called, moved.topics, moved.amount.to_bytes(32, "big"))


def record(network: Network, spent: Spending, spender: int, parent: Parent) -> None:
    """Make the transfer as a child of the call; it lowers the allowance of the contract, not of the payer."""
    world, tokens = network.world, network.world.tokens
    owner, receiver = world.account_at(spent.owner), world.account_at(spent.receiver)
    assert owner is not None and receiver is not None
    moved = {owner.number: -spent.amount, receiver.number: spent.amount}
    service_call = ServiceCall(token_service.NUMBER, spender, spent.data, spent.gas, token_service.SUCCEEDED)
    if spent.token is None:
        tokens.hbar_allowances[owner.number, spender].amount -= spent.amount
        # The debits of a token have the same form.
        transfers = TransferList(accountAmounts=units(0, moved, approved=True).transfers)
        submit(network, service_call, parent, "cryptoTransfer", {"transfers": transfers}, transfers=moved)
        return
    number = entity_id.num_of_long_zero(spent.token)
    assert number is not None
    tokens.token_allowances[owner.number, spender, number].amount -= spent.amount
    for of, amount in moved.items():
        tokens.issued[number].relationships[of].receive(amount, network.now)
    body = {"tokenTransfers": [units(number, moved, approved=True)]}
    record: dict[str, Any] = {"tokenTransferLists": [units(number, moved)]}
    submit(network, service_call, parent, "cryptoTransfer", body, record=record)
