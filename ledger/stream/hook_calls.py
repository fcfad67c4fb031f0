"""The calls of hooks that a transfer asks for (HIP-1195)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

# The oneof members of an AccountAmount, and of the two sides of an NftTransfer.
_ACCOUNT = ("pre_tx_allowance_hook", "pre_post_tx_allowance_hook")
_SENDER = ("pre_tx_sender_allowance_hook", "pre_post_tx_sender_allowance_hook")
_RECEIVER = ("pre_tx_receiver_allowance_hook", "pre_post_tx_receiver_allowance_hook")


class HookCall(NamedTuple):
    """A call of a hook, with the AccountID of its owner."""

    hook_id: int
    owner: Any


def calls_of(body: Any) -> Iterator[HookCall]:
    """Return the calls of a transfer in the network's order.

    Hooks that run only before the transfer come first, then the first calls of hooks that run before and
    after it, then their second calls.
    """
    before = [HookCall(call.hook_id, owner) for twice, call, owner in _requested(body) if not twice]
    around = [HookCall(call.hook_id, owner) for twice, call, owner in _requested(body) if twice]
    return iter(before + around + around)


def _requested(body: Any) -> Iterator[tuple[bool, Any, Any]]:
    """Yield whether a hook runs twice, its HookCall message and its owner, in the order of the body.

    Hbar comes first; of each token units come before serials, and senders before receivers.
    """
    for transfer in body.transfers.accountAmounts:
        yield from _requested_of(transfer, _ACCOUNT, transfer.accountID)
    for token in body.tokenTransfers:
        for transfer in token.transfers:
            yield from _requested_of(transfer, _ACCOUNT, transfer.accountID)
        for transfer in token.nftTransfers:
            yield from _requested_of(transfer, _SENDER, transfer.senderAccountID)
            yield from _requested_of(transfer, _RECEIVER, transfer.receiverAccountID)


def _requested_of(transfer: Any, members: tuple[str, str], owner: Any) -> Iterator[tuple[bool, Any, Any]]:
    for twice, member in enumerate(members):
        if transfer.HasField(member):
            yield bool(twice), getattr(transfer, member), owner
