"""The Transfer logs of ERC-20 and ERC-721, at the address of the token."""

from mirror.values.hashes import keccak256
from web3sim.operations.transfers.body import NftTransfer, Outcome
from web3sim.system_contracts.abi import word_of
from web3sim.system_contracts.functions import Invocation

_TRANSFER = keccak256(b"Transfer(address,address,uint256)")


def log_outcome(invocation: Invocation, outcome: Outcome) -> None:
    """Log all tokens that have moved, fees too, in the order of their ids."""
    for token_id in sorted({*outcome.units, *outcome.nfts}):
        _log_changes(invocation, token_id, outcome.units.get(token_id, {}))
        for nft in outcome.nfts.get(token_id, ()):
            log_serial(invocation, token_id, nft)


def log_units(invocation: Invocation, token_id: int, sender: int, receiver: int, amount: int) -> None:
    address_of = invocation.ledger.address_of
    invocation.log(
        address_of(token_id), _TRANSFER, address_of(sender), address_of(receiver), data=word_of(amount)
    )


def log_serial(invocation: Invocation, token_id: int, nft: NftTransfer) -> None:
    address_of = invocation.ledger.address_of
    serial_number = word_of(nft.serial_number)
    invocation.log(
        address_of(token_id), _TRANSFER, address_of(nft.sender), address_of(nft.receiver), serial_number
    )


def _log_changes(invocation: Invocation, token_id: int, amounts: dict[int, int]) -> None:
    """Log from whom to whom units may have moved: the largest amounts first, then by account."""
    senders = sorted((amount, account) for account, amount in amounts.items() if amount < 0)
    receivers = sorted((-amount, account) for account, amount in amounts.items() if amount > 0)
    while senders and receivers:
        (given, sender), (got, receiver) = senders.pop(0), receivers.pop(0)
        amount = min(-given, -got)
        log_units(invocation, token_id, sender, receiver, amount)
        if -given > amount:
            senders.insert(0, (given + amount, sender))
        if -got > amount:
            receivers.insert(0, (got + amount, receiver))
