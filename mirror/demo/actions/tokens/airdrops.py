"""Token airdrops (HIP-904): sent, claimed and cancelled; and rejected tokens (HIP-657)."""

from typing import Any

from mirror.demo.actions.tokens.transfers import amount_of
from mirror.demo.network import Network, NotPossible, both, require, weighted
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import Transfers, can_associate
from mirror.demo.world.messages import airdrop_id, pending_airdrop
from mirror.demo.world.tokens import AirdropKey, RoyaltyFee, Token

_MOST_RECEIVERS = 4
_MOST_PENDING = 40


def airdrop(network: Network) -> None:
    """Airdrop a token: a receiver who is not associated and has no room for it may claim it later."""
    tokens = network.world.tokens
    if len(tokens.pending()) >= _MOST_PENDING:
        try:
            claim(network)
        except NotPossible:
            cancel(network)
        return
    token = traders.token(
        network, lambda token: token.supply and not token.kyc_key and not token.freeze_default
    )
    sender = traders.holder(network, token)
    require(not token.fees or sender == token.treasury)
    receivers = dict.fromkeys(
        traders.find_trader(network, other_than=(sender,))
        for _ in range(network.choose.randint(1, _MOST_RECEIVERS))
    )
    shares = _shares(network, token, sender, [number for number in receivers if number is not None])
    requested, moved, waiting = Transfers(network), Transfers(network), []
    for receiver, share in shares:
        requested.move(token, sender, receiver, share)
        needs_signature = network.world.accounts[receiver].receiver_signature_required
        if receiver in token.relationships or (can_associate(network, receiver) and not needs_signature):
            moved.move(token, sender, receiver, share)
        else:
            waiting.append(((sender, receiver, token.number, 0 if token.fungible else share), share))
    refusal = token.refusal(sender) or moved.refusal()
    if token.fungible and sum(share for _, share in shares) > token.balance(sender):
        refusal = "INSUFFICIENT_TOKEN_BALANCE"
    if any(isinstance(fee, RoyaltyFee) and fee.fallback for fee in token.fees):
        refusal = "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"
    elif not token.fungible and any(tokens.is_pending(key) for key, _ in waiting):
        refusal = "PENDING_NFT_AIRDROP_ALREADY_EXISTS"
    require(shares)
    network.give_up_if(refusal)
    record = {}
    if not refusal:
        at = network.now
        pending = [pending_airdrop(key, tokens.add_airdrop(key, share, at)) for key, share in waiting]
        record = moved.settle() | {"new_pending_airdrops": pending}
        network.world.bound.update((sender, *(receiver for (_, receiver, _, _), _ in waiting)))
    body = {"token_transfers": requested.lists()}
    network.submit("tokenAirdrop", body, payer=sender, record=record, result=refusal)


def _shares(network: Network, token: Token, sender: int, receivers: list[int]) -> list[tuple[int, int]]:
    """Return pairs of a receiver and an amount, or a serial."""
    if token.fungible:
        return [(receiver, amount_of(network, token, sender)) for receiver in receivers]
    owned = token.owned(sender)
    return list(zip(receivers, network.choose.sample(owned, min(len(owned), len(receivers))), strict=False))


def claim(network: Network) -> None:
    tokens = network.world.tokens
    pending = [key for key in tokens.pending() if traders.able(network, key[1])]
    first = network.pick(pending)
    receiver = first[1]
    others = [key for key in pending if key[1] == receiver and key != first]
    claimed = [first, *network.choose.sample(others, min(len(others), network.choose.choice((0, 0, 1, 3))))]
    transfers = Transfers(network, claimed=True)
    for sender, _, number, serial in claimed:
        share = serial or tokens.airdrops[sender, receiver, number, serial].amount or 0
        transfers.move(tokens.issued[number], sender, receiver, share)
    refusal = transfers.refusal()
    network.give_up_if(refusal)
    record = {} if refusal else transfers.settle()
    _end(network, "tokenClaimAirdrop", claimed, payer=receiver, record=record, result=refusal)


def cancel(network: Network) -> None:
    pending = [key for key in network.world.tokens.pending() if traders.able(network, key[0])]
    cancelled = network.pick(pending)
    _end(network, "tokenCancelAirdrop", [cancelled], payer=cancelled[0])


def _end(network: Network, kind: str, keys: list[AirdropKey], *, payer: int, **options: Any) -> None:
    """Claim or cancel airdrops, unless that fails by a `result`."""
    if not options.get("result"):
        network.world.tokens.end_airdrops(keys, kind == "tokenClaimAirdrop", network.now)
    network.submit(kind, {"pending_airdrops": [airdrop_id(key) for key in keys]}, payer=payer, **options)


def claim_in_vain(network: Network) -> None:
    """Claim or cancel an airdrop that is not pending."""
    token, receiver = both(traders.find_token(network), traders.find_trader(network))
    key = (token.treasury, receiver, token.number, 0 if token.fungible else 1)
    require(receiver != token.treasury and not network.world.tokens.is_pending(key))
    claims = network.choose.random() < 0.5
    kind, payer = ("tokenClaimAirdrop", receiver) if claims else ("tokenCancelAirdrop", token.treasury)
    _end(network, kind, [key], payer=payer, result="INVALID_PENDING_AIRDROP_ID")


def reject(network: Network) -> None:
    """Reject tokens: they go back to the treasury, without custom fees (HIP-657)."""
    token = traders.token(network, lambda token: len(token.relationships) > 1)
    owner = traders.holder(network, token, other_than=(token.treasury,))
    transfers, number = Transfers(network), token.number
    shares = [token.balance(owner)] if token.fungible else token.owned(owner)[:2]
    for share in shares:
        transfers.move(token, owner, token.treasury, share)
    refusal = transfers.refusal()
    network.give_up_if(refusal)
    body: dict[str, Any] = {"rejections": [{"fungible_token": number}]}
    if not token.fungible:
        nfts = ({"token_ID": number, "serial_number": serial} for serial in shares)
        body["rejections"] = [{"nft": nft} for nft in nfts]
    payer = owner
    if network.choose.random() < 0.5:
        body["owner"], payer = owner, traders.find_trader(network) or owner
    record = {} if refusal else transfers.settle()
    network.submit("tokenReject", body, payer=payer, record=record, result=refusal)


ACTIONS = weighted((1, airdrop), (0, claim, cancel, claim_in_vain, reject))
