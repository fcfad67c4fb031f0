"""The events of ERC-20 and ERC-721, logged by the address of a token: Transfer, Approval, ApprovalForAll.

Amounts are in the token's smallest unit. A serial number is indexed, an amount is not.
"""

from mirror.core.values import entity_id
from mirror.core.values.hashes import keccak256
from web3sim.operations.transfers.body import Outcome
from web3sim.state.tables.interface import Token
from web3sim.system_contracts.abi import word_of
from web3sim.system_contracts.functions import Invocation

_TRANSFER = keccak256(b"Transfer(address,address,uint256)")
_APPROVAL = keccak256(b"Approval(address,address,uint256)")
_APPROVAL_FOR_ALL = keccak256(b"ApprovalForAll(address,address,bool)")
_ZERO_ADDRESS = bytes(20)


def log_units(
    invocation: Invocation, token_id: int, sender: int | None, receiver: int | None, amount: int
) -> None:
    """Log a transfer; without a sender it is a mint, without a receiver a burn or wipe."""
    _log(invocation, token_id, _TRANSFER, (sender, receiver), amount)


def log_serial(
    invocation: Invocation, token_id: int, sender: int | None, receiver: int | None, serial_number: int
) -> None:
    """Log a transfer; without a sender it is a mint, without a receiver a burn or wipe."""
    _log(invocation, token_id, _TRANSFER, (sender, receiver), serial_number, indexed=True)


def log_approval(invocation: Invocation, token: Token, owner: int, spender: int | None, number: int) -> None:
    """Log that a spender, or none any more, may take an amount, or of a unique token a serial."""
    _log(invocation, token.id, _APPROVAL, (owner, spender), number, indexed=token.unique)


def log_approval_for_all(
    invocation: Invocation, token: Token, owner: int, operator: bytes, *, approved: bool
) -> None:
    topics = _APPROVAL_FOR_ALL, invocation.ledger.address_of(owner), operator
    invocation.log(entity_id.long_zero(token.id), *topics, data=word_of(approved))


def _log(
    invocation: Invocation,
    token_id: int,
    event: bytes,
    accounts: tuple[int | None, int | None],
    number: int,
    *,
    indexed: bool = False,
) -> None:
    address_of = invocation.ledger.address_of
    topics = [event, *(_ZERO_ADDRESS if account is None else address_of(account) for account in accounts)]
    if indexed:
        invocation.log(entity_id.long_zero(token_id), *topics, word_of(number))
    else:
        invocation.log(entity_id.long_zero(token_id), *topics, data=word_of(number))


def log_outcome(invocation: Invocation, outcome: Outcome) -> None:
    """Log all tokens that have moved, fees too, in the order of their ids."""
    for token_id in sorted({*outcome.units, *outcome.nfts}):
        _log_changes(invocation, token_id, outcome.units.get(token_id, {}))
        for nft in outcome.nfts.get(token_id, ()):
            log_serial(invocation, token_id, nft.sender, nft.receiver, nft.serial_number)


def _log_changes(invocation: Invocation, token_id: int, amounts: dict[int, int]) -> None:
    """Log from whom to whom units may have moved: the largest amounts first, then by account."""
    senders = sorted((amount, account) for account, amount in amounts.items() if amount < 0)
    receivers = sorted((-amount, account) for account, amount in amounts.items() if amount > 0)
    while senders and receivers:
        (debit, sender), (credit, receiver) = senders.pop(0), receivers.pop(0)
        amount = min(-debit, -credit)
        log_units(invocation, token_id, sender, receiver, amount)
        if -debit > amount:
            senders.insert(0, (debit + amount, sender))
        if -credit > amount:
            receivers.insert(0, (credit + amount, receiver))
