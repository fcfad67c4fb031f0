"""Airdrops (HIP-904): tokens sent to who may not be associated yet, claimed, cancelled, or rejected."""

from typing import Any

from ledger.stream.record.compose import account
from mirror.demo.actions.refusals import refuses
from mirror.demo.actions.tokens.transfers import amount_of
from mirror.demo.network import Action, Network
from mirror.demo.tokens import traders
from mirror.demo.tokens.messages import airdrop_id, token_id
from mirror.demo.tokens.transfers import Transfers, can_associate
from mirror.demo.world.tokens import Airdrop, AirdropKey, RoyaltyFee, Token

_MOST_RECEIVERS = 4
_MOST_PENDING = 40


def airdrop(network: Network) -> bool:
    """Somebody sends a token to a few: who isn't associated and has no room left, may claim it later."""
    if len(network.world.tokens.pending()) >= _MOST_PENDING:
        return claim(network) or cancel(network)
    token = traders.token(network, lambda one: one.supply and not one.kyc_key and not one.freeze_default)
    sender = traders.holder(network, token) if token else None
    if token is None or sender is None or (token.fees and sender != token.treasury):
        return False
    receivers = dict.fromkeys(
        traders.trader(network, other_than=(sender,))
        for _ in range(network.choose.randint(1, _MOST_RECEIVERS))
    )
    shares = _shares(network, token, sender, [one for one in receivers if one is not None])
    asked, moved, waiting = Transfers(network), Transfers(network), []
    for receiver, share in shares:
        _add(asked, token, sender, receiver, share)
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
    if not shares or refuses(network, refusal):
        return False
    body, record = {"token_transfers": asked.lists()}, {}
    if not refusal:
        pending = [_wait(network, token, sender, receiver, share) for receiver, share in waiting]
        record = moved.settle() | {"new_pending_airdrops": pending}
        network.world.bound.update((sender, *(receiver for receiver, _ in waiting)))
    network.submit("tokenAirdrop", body, payer=sender, record=record, result=refusal or "SUCCESS")
    return True


def _shares(network: Network, token: Token, sender: int, receivers: list[int]) -> list[tuple[int, int]]:
    """Who gets which amount, or serial."""
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
    found = network.world.tokens.airdrops.get(key)
    return found is not None and found.state == "PENDING"


def _wait(network: Network, token: Token, sender: int, receiver: int, share: int) -> Any:
    """What waits for a receiver is all of the token that this sender sent; its PendingAirdropRecord."""
    key = (sender, receiver, token.number, 0 if token.fungible else share)
    airdrops = network.world.tokens.airdrops
    if not token.fungible:
        airdrops[key] = Airdrop(None, "PENDING", network.now)
        return {"pending_airdrop_id": airdrop_id(key)}
    waiting = airdrops[key].amount or 0 if _is_pending(network, key) else 0
    airdrops[key] = Airdrop(waiting + share, "PENDING", network.now)
    return {"pending_airdrop_id": airdrop_id(key), "pending_airdrop_value": {"amount": waiting + share}}


def claim(network: Network) -> bool:
    """Somebody claims airdrops, one or a few."""
    pending = [key for key in network.world.tokens.pending() if traders.able(network, key[1])]
    if not pending:
        return False
    first = network.choose.choice(pending)
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
    if refuses(network, refusal):
        return False
    record = {} if refusal else transfers.settle()
    return _end(network, "tokenClaimAirdrop", claimed, "CLAIMED", receiver, refusal, record)


def cancel(network: Network) -> bool:
    """Somebody takes an airdrop back that was not claimed."""
    pending = [key for key in network.world.tokens.pending() if traders.able(network, key[0])]
    if not pending:
        return False
    cancelled = network.choose.choice(pending)
    return _end(network, "tokenCancelAirdrop", [cancelled], "CANCELLED", cancelled[0], None, {})


def _end(
    network: Network,
    kind: str,
    keys: list[AirdropKey],
    state: str,
    payer: int,
    refusal: str | None,
    record: dict[str, Any],
) -> bool:
    if not refusal:
        for key in keys:
            ended = network.world.tokens.airdrops[key]
            network.world.tokens.airdrops[key] = Airdrop(ended.amount, state, network.now)
    body = {"pending_airdrops": [airdrop_id(key) for key in keys]}
    network.submit(kind, body, payer=payer, record=record, result=refusal or "SUCCESS")
    return True


def claim_in_vain(network: Network) -> bool:
    """Somebody claims, or cancels, what is not waiting."""
    token, receiver = traders.token(network), traders.trader(network)
    if token is None or receiver is None or receiver == token.treasury:
        return False
    key = (token.treasury, receiver, token.number, 0 if token.fungible else 1)
    if _is_pending(network, key):
        return False
    claims = network.choose.random() < 0.5
    kind, payer = ("tokenClaimAirdrop", receiver) if claims else ("tokenCancelAirdrop", token.treasury)
    body = {"pending_airdrops": [airdrop_id(key)]}
    network.submit(kind, body, payer=payer, result="INVALID_PENDING_AIRDROP_ID")
    return True


def reject(network: Network) -> bool:
    """Somebody sends unwanted tokens back to the treasury, without custom fees (HIP-657)."""
    token = traders.token(network, lambda one: len(one.relationships) > 1)
    owner = traders.holder(network, token, other_than=(token.treasury,)) if token else None
    if token is None or owner is None:
        return False
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
    if refuses(network, refusal):
        return False
    body: dict[str, Any] = {"rejections": rejections}
    payer = owner
    if network.choose.random() < 0.5:
        body["owner"] = account(owner)
        payer = traders.trader(network) or owner
    record = {} if refusal else transfers.settle()
    network.submit("tokenReject", body, payer=payer, record=record, result=refusal or "SUCCESS")
    return True


ACTIONS = (
    Action(airdrop, 1),
    Action(claim, 0),
    Action(cancel, 0),
    Action(claim_in_vain, 0),
    Action(reject, 0),
)
