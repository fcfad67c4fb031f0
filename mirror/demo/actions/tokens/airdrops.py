"""Token airdrops (HIP-904): sent, claimed and cancelled; and rejected tokens (HIP-657)."""

from typing import Any

from mirror.demo.actions.tokens.transfers import amount_of
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import Transfers, can_associate
from mirror.demo.world.messages import airdrop_id, token_id
from mirror.demo.world.tokens import Airdrop, AirdropKey, RoyaltyFee, Token

_MOST_RECEIVERS = 4
_MOST_PENDING = 40


def airdrop(network: Network) -> None:
    """Airdrop a token: a receiver who is not associated and has no room for it may claim it later."""
    if len(network.world.tokens.pending()) >= _MOST_PENDING:
        _claim_or_cancel(network)
        return
    token = traders.token(
        network, lambda token: token.supply and not token.kyc_key and not token.freeze_default
    )
    sender = traders.holder(network, token)
    if token.fees and sender != token.treasury:
        raise NotPossible
    receivers = dict.fromkeys(
        traders.find_trader(network, other_than=(sender,))
        for _ in range(network.choose.randint(1, _MOST_RECEIVERS))
    )
    shares = _shares(network, token, sender, [number for number in receivers if number is not None])
    requested, moved, waiting = Transfers(network), Transfers(network), []
    for receiver, share in shares:
        _add(requested, token, sender, receiver, share)
        if receiver in token.relationships or _accepts(network, receiver):
            _add(moved, token, sender, receiver, share)
        else:
            waiting.append((receiver, share))
    refusal = token.refusal(sender) or moved.refusal()
    if token.fungible and sum(share for _, share in shares) > token.balance(sender):
        refusal = "INSUFFICIENT_TOKEN_BALANCE"
    if any(isinstance(fee, RoyaltyFee) and fee.fallback for fee in token.fees):
        refusal = "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"
    elif not token.fungible and any(
        _is_pending(network, (sender, receiver, token.number, serial)) for receiver, serial in waiting
    ):
        refusal = "PENDING_NFT_AIRDROP_ALREADY_EXISTS"
    if not shares:
        raise NotPossible
    network.give_up_if(refusal)
    record = {}
    if not refusal:
        pending = [_wait(network, token, sender, receiver, share) for receiver, share in waiting]
        record = moved.settle() | {"new_pending_airdrops": pending}
        network.world.bound.update((sender, *(receiver for receiver, _ in waiting)))
    body = {"token_transfers": requested.lists()}
    network.submit("tokenAirdrop", body, payer=sender, record=record, result=refusal)


def _claim_or_cancel(network: Network) -> None:
    try:
        claim(network)
    except NotPossible:
        cancel(network)


def _shares(network: Network, token: Token, sender: int, receivers: list[int]) -> list[tuple[int, int]]:
    """Return pairs of a receiver and an amount, or a serial."""
    if token.fungible:
        return [(receiver, amount_of(network, token, sender)) for receiver in receivers]
    owned = token.owned(sender)
    return list(zip(receivers, network.choose.sample(owned, min(len(owned), len(receivers))), strict=False))


def _add(transfers: Transfers, token: Token, sender: int, receiver: int, share: int) -> None:
    if token.fungible:
        transfers.move(token, sender, receiver, share)
    else:
        transfers.hand_over(token, share, sender, receiver)


def _accepts(network: Network, receiver: int) -> bool:
    needs_signature = network.world.accounts[receiver].receiver_signature_required
    return can_associate(network, receiver) and not needs_signature


def _is_pending(network: Network, key: AirdropKey) -> bool:
    airdrop = network.world.tokens.airdrops.get(key)
    return airdrop is not None and airdrop.state == "PENDING"


def _wait(network: Network, token: Token, sender: int, receiver: int, share: int) -> Any:
    """Add a share to the pending airdrop from sender to receiver. Return its PendingAirdropRecord."""
    key = (sender, receiver, token.number, 0 if token.fungible else share)
    airdrops = network.world.tokens.airdrops
    if not token.fungible:
        airdrops[key] = Airdrop(None, "PENDING", network.now)
        return {"pending_airdrop_id": airdrop_id(key)}
    waiting = airdrops[key].amount or 0 if _is_pending(network, key) else 0
    airdrops[key] = Airdrop(waiting + share, "PENDING", network.now)
    return {"pending_airdrop_id": airdrop_id(key), "pending_airdrop_value": {"amount": waiting + share}}


def claim(network: Network) -> None:
    """Claim one or several airdrops."""
    pending = [key for key in network.world.tokens.pending() if traders.able(network, key[1])]
    first = network.pick(pending)
    receiver = first[1]
    others = [key for key in pending if key[1] == receiver and key != first]
    claimed = [first, *network.choose.sample(others, min(len(others), network.choose.choice((0, 0, 1, 3))))]
    transfers = Transfers(network)
    transfers.claim()
    for key in claimed:
        sender, _, number, serial = key
        token = network.world.tokens.issued[number]
        _add(transfers, token, sender, receiver, serial or network.world.tokens.airdrops[key].amount or 0)
    refusal = transfers.refusal()
    network.give_up_if(refusal)
    record = {} if refusal else transfers.settle()
    if not refusal:
        _end(network, claimed, "CLAIMED")
    network.submit("tokenClaimAirdrop", _named(claimed), payer=receiver, record=record, result=refusal)


def cancel(network: Network) -> None:
    """Cancel a pending airdrop."""
    pending = [key for key in network.world.tokens.pending() if traders.able(network, key[0])]
    cancelled = network.pick(pending)
    _end(network, [cancelled], "CANCELLED")
    network.submit("tokenCancelAirdrop", _named([cancelled]), payer=cancelled[0])


def _end(network: Network, keys: list[AirdropKey], state: str) -> None:
    airdrops = network.world.tokens.airdrops
    airdrops.update({key: Airdrop(airdrops[key].amount, state, network.now) for key in keys})


def _named(keys: list[AirdropKey]) -> dict[str, Any]:
    """Return the body that names airdrops."""
    return {"pending_airdrops": [airdrop_id(key) for key in keys]}


def claim_in_vain(network: Network) -> None:
    """Claim or cancel an airdrop that is not pending."""
    token, receiver = both(traders.find_token(network), traders.find_trader(network))
    key = (token.treasury, receiver, token.number, 0 if token.fungible else 1)
    if receiver == token.treasury or _is_pending(network, key):
        raise NotPossible
    claims = network.choose.random() < 0.5
    kind, payer = ("tokenClaimAirdrop", receiver) if claims else ("tokenCancelAirdrop", token.treasury)
    network.submit(kind, _named([key]), payer=payer, result="INVALID_PENDING_AIRDROP_ID")


def reject(network: Network) -> None:
    """Reject tokens: they go back to the treasury, without custom fees (HIP-657)."""
    token = traders.token(network, lambda token: len(token.relationships) > 1)
    owner = traders.holder(network, token, other_than=(token.treasury,))
    transfers = Transfers(network)
    if token.fungible:
        transfers.move(token, owner, token.treasury, token.balance(owner))
        rejections: list[Any] = [{"fungible_token": token_id(token.number)}]
    else:
        serials = token.owned(owner)[:2]
        for serial in serials:
            transfers.hand_over(token, serial, owner, token.treasury)
        number = token_id(token.number)
        rejections = [{"nft": {"token_ID": number, "serial_number": serial}} for serial in serials]
    refusal = transfers.refusal()
    network.give_up_if(refusal)
    body: dict[str, Any] = {"rejections": rejections}
    payer = owner
    if network.choose.random() < 0.5:
        body["owner"] = account(owner)
        payer = traders.find_trader(network) or owner
    record = {} if refusal else transfers.settle()
    network.submit("tokenReject", body, payer=payer, record=record, result=refusal)


ACTIONS = weighted((1, airdrop), (0, claim, cancel, claim_in_vain, reject))
