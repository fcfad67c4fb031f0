"""Token transfers, sales, metadata of serials; airdrops (HIP-904) and rejections (HIP-657)."""

from typing import Any

from mirror.demo.actions.tokens import recipes, supply, traders
from mirror.demo.actions.tokens.moving import Transfers, can_associate
from mirror.demo.network import Network, NotPossible, pair, require, required, weighted
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.messages import airdrop_id, pending_airdrop
from mirror.demo.world.tokens import AirdropKey, FractionalFee, RoyaltyFee, Token

_AMONG_HOLDERS = 0.75
_MEMOS = ("", "", "Thanks!", "For last week", "Order {}", "Refund {}", "Share {}")
_MAX_RECEIVERS = 4
_MAX_PENDING = 40


def send(network: Network) -> None:
    """Send units of a token; issuers sometimes send to several accounts at once."""
    if len(network.world.tokens.issued) < supply.FIRST_TOKENS:
        supply.create(network)
        return
    token = traders.token(network, lambda token: token.fungible)
    sender = traders.holder(network, token)
    transfers = Transfers(network)
    several = sender == token.treasury and network.choose.random() < 0.2
    for _ in range(3 if several else 1):
        receiver = find_receiver(network, token, sender)
        if receiver is not None:
            transfers.move(token, sender, receiver, _amount_of(network, token, sender))
    require(transfers.lists())
    memo = network.choose.choice(_MEMOS).format(network.choose.randrange(100, 999))
    transfer(network, transfers, payer=sender, memo=memo)


def give(network: Network) -> None:
    """Give one or two serials to another account."""
    token, owner, receiver = _serials_to_move(network)
    owned, transfers = token.owned(owner), Transfers(network)
    for serial in network.choose.sample(owned, min(len(owned), network.choose.choice((1, 1, 2)))):
        transfers.move(token, owner, receiver, serial)
    transfer(network, transfers, payer=owner)


def sell(network: Network) -> None:
    """Sell a serial for hbars, or for a currency token that both hold."""
    token, owner, buyer = _serials_to_move(network)
    transfers = Transfers(network)
    transfers.move(token, owner, buyer, network.choose.choice(token.owned(owner)))
    currency = traders.find_token(network, lambda token: token.is_currency and token.balance(buyer) > 100)
    if currency and owner in currency.relationships and network.choose.random() < 0.5:
        transfers.move(currency, buyer, owner, currency.balance(buyer) // network.choose.randrange(4, 50))
    else:
        max_price = network.world.accounts[buyer].balance // (20 * HBAR)
        transfers.pay(buyer, owner, network.choose.randrange(1, max(2, max_price)) * HBAR)
    transfer(network, transfers, payer=buyer, memo=f"{token.name} for sale")


def _serials_to_move(network: Network) -> tuple[Token, int, int]:
    """Return a token with serials, an owner of some, and another account."""
    token = traders.token(network, lambda token: not token.fungible and token.supply)
    owner = traders.holder(network, token)
    return token, owner, required(find_receiver(network, token, owner))


def send_invalid(network: Network) -> None:
    """Send more units than the sender holds, or a serial of another account."""
    found, receiver = traders.find_token(network), traders.find_trader(network)
    token = required(found)
    sender = traders.holder(network, token)
    receiver = required(receiver)
    require(receiver != sender and not token.failure(sender))
    if token.fungible:
        share = token.balance(sender) + network.choose.randrange(1, 1_000)
        result = "INSUFFICIENT_TOKEN_BALANCE"
    else:
        owners = {number: serial.owner for number, serial in token.serials.items()}
        share = network.pick([number for number, owner in owners.items() if owner not in (None, sender)])
        result = "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"
    transfers = Transfers(network)
    transfers.move(token, sender, receiver, share)
    transfer(network, transfers, payer=sender, fails_by=result)


def transfer(
    network: Network,
    transfers: Transfers,
    *,
    payer: int,
    approved: bool = False,
    memo: str = "",
    fails_by: str | None = None,
) -> None:
    """Submit a crypto transfer. `fails_by` is the result code of one that is meant to fail.

    Errors: NotPossible, mostly, if it would be refused for another reason.
    """
    body = transfers.body(approved=approved)
    transfers.assess()
    failure = fails_by or transfers.failure()
    if not fails_by:
        network.avoid_failure(failure)
    network.submit(
        "cryptoTransfer",
        body,
        payer=payer,
        record={} if failure else transfers.settle(),
        transfers=transfers.hbars,
        envelope={"memo": memo},
        result=failure,
    )


def find_receiver(network: Network, token: Token, sender: int) -> int | None:
    """Return an account to receive a token, mostly one associated with it; None if there is none."""
    if network.choose.random() < _AMONG_HOLDERS:
        associated = (number for number in token.relationships if number != sender)
        receiver = traders.find_one_of(network, associated)
        if receiver is not None:
            return receiver
    return traders.find_trader(network, other_than=(sender,))


def _amount_of(network: Network, token: Token, sender: int) -> int:
    """Return a plausible part of what an account holds; an issuer gives a smaller part."""
    parts = 200 if sender == token.treasury else 3
    minimum = 2 if any(isinstance(fee, FractionalFee) for fee in token.fees) else 1
    return max(minimum, int(token.balance(sender) * network.choose.random() ** 2) // parts)


def change_metadata(network: Network) -> None:
    """Let the issuer change the metadata of a few serials, whose owner may be another account (HIP-657)."""
    token = traders.token(network, lambda token: not token.fungible and token.metadata_key and token.supply)
    living = [number for number, serial in token.serials.items() if serial.owner]
    failure = "TOKEN_IS_PAUSED" if token.paused else None
    require(living)
    network.avoid_failure(failure)
    changed = network.choose.sample(living, min(len(living), network.choose.choice((1, 1, 3))))
    metadata = recipes.serial_metadata(network.choose, token.name, changed[0])
    if not failure:
        for number in changed:
            token.serials[number].metadata, token.serials[number].modified = metadata, network.now
    body = {"token": token.number, "serial_numbers": changed, "metadata": metadata}
    network.submit("token_update_nfts", body, payer=token.treasury, result=failure)


# AIRDROPS
def airdrop(network: Network) -> None:
    """Airdrop a token: a receiver who is not associated and has no room for it may claim it later."""
    tokens = network.world.tokens
    if len(tokens.pending()) >= _MAX_PENDING:
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
        for _ in range(network.choose.randint(1, _MAX_RECEIVERS))
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
    failure = token.failure(sender) or moved.failure()
    if token.fungible and sum(share for _, share in shares) > token.balance(sender):
        failure = "INSUFFICIENT_TOKEN_BALANCE"
    if any(isinstance(fee, RoyaltyFee) and fee.fallback for fee in token.fees):
        failure = "TOKEN_AIRDROP_WITH_FALLBACK_ROYALTY"
    elif not token.fungible and any(tokens.is_pending(key) for key, _ in waiting):
        failure = "PENDING_NFT_AIRDROP_ALREADY_EXISTS"
    require(shares)
    network.avoid_failure(failure)
    record = {}
    if not failure:
        at = network.now
        pending = [pending_airdrop(key, tokens.add_airdrop(key, share, at)) for key, share in waiting]
        record = moved.settle() | {"new_pending_airdrops": pending}
        network.world.bound.update((sender, *(receiver for (_, receiver, _, _), _ in waiting)))
    body = {"token_transfers": requested.lists()}
    network.submit("tokenAirdrop", body, payer=sender, record=record, result=failure)


def _shares(network: Network, token: Token, sender: int, receivers: list[int]) -> list[tuple[int, int]]:
    """Return pairs of a receiver and an amount, or a serial."""
    if token.fungible:
        return [(receiver, _amount_of(network, token, sender)) for receiver in receivers]
    owned = token.owned(sender)
    return list(zip(receivers, network.choose.sample(owned, min(len(owned), len(receivers))), strict=False))


def claim(network: Network) -> None:
    tokens = network.world.tokens
    pending = [key for key in tokens.pending() if traders.can_pay(network, key[1])]
    first = network.pick(pending)
    receiver = first[1]
    others = [key for key in pending if key[1] == receiver and key != first]
    claimed = [first, *network.choose.sample(others, min(len(others), network.choose.choice((0, 0, 1, 3))))]
    transfers = Transfers(network, claimed=True)
    for sender, _, number, serial in claimed:
        share = serial or tokens.airdrops[sender, receiver, number, serial].amount or 0
        transfers.move(tokens.issued[number], sender, receiver, share)
    failure = transfers.failure()
    network.avoid_failure(failure)
    record = {} if failure else transfers.settle()
    _end(network, "tokenClaimAirdrop", claimed, payer=receiver, record=record, result=failure)


def cancel(network: Network) -> None:
    pending = [key for key in network.world.tokens.pending() if traders.can_pay(network, key[0])]
    cancelled = network.pick(pending)
    _end(network, "tokenCancelAirdrop", [cancelled], payer=cancelled[0])


def _end(network: Network, kind: str, keys: list[AirdropKey], *, payer: int, **options: Any) -> None:
    """Claim or cancel airdrops, unless that fails by a `result`."""
    if not options.get("result"):
        network.world.tokens.end_airdrops(keys, kind == "tokenClaimAirdrop", network.now)
    network.submit(kind, {"pending_airdrops": [airdrop_id(key) for key in keys]}, payer=payer, **options)


def claim_invalid(network: Network) -> None:
    """Claim or cancel an airdrop that is not pending."""
    token, receiver = pair(traders.find_token(network), traders.find_trader(network))
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
    failure = transfers.failure()
    network.avoid_failure(failure)
    body: dict[str, Any] = {"rejections": [{"fungible_token": number}]}
    if not token.fungible:
        nfts = ({"token_ID": number, "serial_number": serial} for serial in shares)
        body["rejections"] = [{"nft": nft} for nft in nfts]
    payer = owner
    if network.choose.random() < 0.5:
        body["owner"], payer = owner, traders.find_trader(network) or owner
    record = {} if failure else transfers.settle()
    network.submit("tokenReject", body, payer=payer, record=record, result=failure)


ACTIONS = weighted((11, send), (2, give), (3, sell), (0, send_invalid), (1, change_metadata))
AIRDROPS = weighted((1, airdrop), (0, claim, cancel, claim_invalid, reject))
