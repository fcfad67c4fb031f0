"""The Transfer events of what a transfer has moved."""

from web3sim.operations.transfers.body import Outcome
from web3sim.system_contracts.functions import Invocation
from web3sim.system_contracts.token_service.erc.events import log_serial, log_units


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
        (given, sender), (got, receiver) = senders.pop(0), receivers.pop(0)
        amount = min(-given, -got)
        log_units(invocation, token_id, sender, receiver, amount)
        if -given > amount:
            senders.insert(0, (given + amount, sender))
        if -got > amount:
            receivers.insert(0, (got + amount, receiver))
