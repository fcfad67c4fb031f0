"""The events of ERC-20 and ERC-721, logged by the address of a token: Transfer, Approval, ApprovalForAll.

Amounts are in the token's smallest unit. A serial number is indexed, an amount is not.
"""

from mirror.core.values import entity_id
from mirror.core.values.hashes import keccak256
from web3sim.engine.interface import ZERO_ADDRESS
from web3sim.operations.tokens.allowances import Approval
from web3sim.operations.transfers.body import NftTransfer, Outcome
from web3sim.system_contracts.abi import word_of
from web3sim.system_contracts.functions import Invocation

_TRANSFER = keccak256(b"Transfer(address,address,uint256)")
_APPROVAL = keccak256(b"Approval(address,address,uint256)")
_APPROVAL_FOR_ALL = keccak256(b"ApprovalForAll(address,address,bool)")


def log_fungible(invocation: Invocation, token_id: int, sender: int, receiver: int, amount: int) -> None:
    _log(invocation, token_id, (_TRANSFER, *_addresses(invocation, sender, receiver)), amount)


def log_nft(invocation: Invocation, token_id: int, nft: NftTransfer) -> None:
    topics = (_TRANSFER, *_addresses(invocation, nft.sender, nft.receiver), word_of(nft.serial_number))
    _log(invocation, token_id, topics)


def log_approval(invocation: Invocation, approval: Approval, number: int) -> None:
    """Log that a spender, or none any more, may take an amount, or of a unique token a serial."""
    topics = (_APPROVAL, *_parties(invocation, approval))
    if approval.token.unique:
        _log(invocation, approval.token.id, (*topics, word_of(number)))
    else:
        _log(invocation, approval.token.id, topics, number)


def log_approval_for_all(invocation: Invocation, approval: Approval, *, approved: bool) -> None:
    topics = (_APPROVAL_FOR_ALL, *_parties(invocation, approval))
    _log(invocation, approval.token.id, topics, int(approved))


def log_outcome(invocation: Invocation, outcome: Outcome) -> None:
    """Log all tokens that have moved, fees too, in the order of their ids."""
    for token_id in sorted({*outcome.fungible, *outcome.nfts}):
        _log_changes(invocation, token_id, outcome.fungible.get(token_id, {}))
        for nft in outcome.nfts.get(token_id, ()):
            log_nft(invocation, token_id, nft)


def _log_changes(invocation: Invocation, token_id: int, amounts: dict[int, int]) -> None:
    """Log from whom to whom units may have moved: the largest amounts first, then by account."""
    senders = sorted((amount, account) for account, amount in amounts.items() if amount < 0)
    receivers = sorted((-amount, account) for account, amount in amounts.items() if amount > 0)
    while senders and receivers:
        (debit, sender), (credit, receiver) = senders.pop(0), receivers.pop(0)
        amount = min(-debit, -credit)
        log_fungible(invocation, token_id, sender, receiver, amount)
        if -debit > amount:
            senders.insert(0, (debit + amount, sender))
        if -credit > amount:
            receivers.insert(0, (credit + amount, receiver))


def _parties(invocation: Invocation, approval: Approval) -> tuple[bytes, bytes]:
    """The service itself names owner and spender by their long-zero addresses."""
    spender = approval.spender
    if invocation.target is None:
        owner = entity_id.long_zero(approval.owner)
        return owner, ZERO_ADDRESS if spender is None else entity_id.long_zero(spender)
    address_of = invocation.ledger.address_of
    return address_of(approval.owner), ZERO_ADDRESS if spender is None else address_of(spender)


def _addresses(invocation: Invocation, *accounts: int) -> tuple[bytes, ...]:
    return tuple(map(invocation.ledger.address_of, accounts))


def _log(invocation: Invocation, token_id: int, topics: tuple[bytes, ...], number: int | None = None) -> None:
    data = b"" if number is None else word_of(number)
    invocation.log(entity_id.long_zero(token_id), *topics, data=data)
