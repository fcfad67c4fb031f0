"""Token transfers: units sent, serials given away and sold."""

from mirror.demo.actions.tokens import issuing
from mirror.demo.network import Network, NotPossible, weighted
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import Transfers
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import FractionalFee, Token

_AMONG_HOLDERS = 0.75
_MEMOS = ("", "", "Thanks!", "For last week", "Order {}", "Refund {}", "Share {}")


def send(network: Network) -> None:
    """Send units of a token; issuers sometimes send to several accounts at once."""
    if len(network.world.tokens.issued) < issuing.FIRST_TOKENS:
        issuing.create(network)
        return
    token = traders.token(network, lambda token: token.fungible)
    sender = traders.holder(network, token)
    transfers = Transfers(network)
    several = sender == token.treasury and network.choose.random() < 0.2
    for _ in range(3 if several else 1):
        receiver = find_receiver(network, token, sender)
        if receiver is not None:
            transfers.move(token, sender, receiver, amount_of(network, token, sender))
    if not transfers.lists():
        raise NotPossible
    memo = network.choose.choice(_MEMOS).format(network.choose.randrange(100, 999))
    transfer(network, transfers, payer=sender, memo=memo)


def give(network: Network) -> None:
    """Give one or two serials to another account."""
    token, owner, receiver = _serials_to_move(network)
    owned, transfers = token.owned(owner), Transfers(network)
    for serial in network.choose.sample(owned, min(len(owned), network.choose.choice((1, 1, 2)))):
        transfers.hand_over(token, serial, owner, receiver)
    transfer(network, transfers, payer=owner)


def sell(network: Network) -> None:
    """Sell a serial for hbars, or for a currency token that both hold."""
    token, owner, buyer = _serials_to_move(network)
    transfers = Transfers(network)
    transfers.hand_over(token, network.choose.choice(token.owned(owner)), owner, buyer)
    currency = traders.find_token(network, lambda token: token.is_currency and token.balance(buyer) > 100)
    if currency and owner in currency.relationships and network.choose.random() < 0.5:
        transfers.move(currency, buyer, owner, currency.balance(buyer) // network.choose.randrange(4, 50))
    else:
        most = network.world.accounts[buyer].balance // (20 * HBAR)
        transfers.pay(buyer, owner, network.choose.randrange(1, max(2, most)) * HBAR)
    transfer(network, transfers, payer=buyer, memo=f"{token.name} for sale")


def _serials_to_move(network: Network) -> tuple[Token, int, int]:
    """Return a token with serials, an owner of some, and another account."""
    token = traders.token(network, lambda token: not token.fungible and token.supply)
    owner = traders.holder(network, token)
    receiver = find_receiver(network, token, owner)
    if receiver is None:
        raise NotPossible
    return token, owner, receiver


def send_in_vain(network: Network) -> None:
    """Send more units than the sender holds, or a serial of another account."""
    token, receiver = traders.find_token(network), traders.find_trader(network)
    sender = traders.holder(network, token) if token else None
    if token is None or sender is None or receiver in (None, sender) or token.refusal(sender):
        raise NotPossible
    assert receiver is not None
    transfers = Transfers(network)
    if token.fungible:
        transfers.move(token, sender, receiver, token.balance(sender) + network.choose.randrange(1, 1_000))
        transfer(network, transfers, payer=sender, fails_by="INSUFFICIENT_TOKEN_BALANCE")
        return
    others = [number for number, serial in token.serials.items() if serial.owner not in (None, sender)]
    if not others:
        raise NotPossible
    transfers.hand_over(token, network.choose.choice(others), sender, receiver)
    transfer(network, transfers, payer=sender, fails_by="SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")


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
    refusal = fails_by or transfers.refusal()
    if not fails_by:
        network.give_up_if(refusal)
    network.submit(
        "cryptoTransfer",
        body,
        payer=payer,
        record={} if refusal else transfers.settle(),
        transfers=transfers.hbars,
        envelope={"memo": memo},
        result=refusal,
    )


# RECEIVERS AND AMOUNTS
def find_receiver(network: Network, token: Token, sender: int) -> int | None:
    """Return an account to receive a token, mostly one associated with it; None if there is none."""
    if network.choose.random() < _AMONG_HOLDERS:
        associated = (number for number in token.relationships if number != sender)
        receiver = traders.find_one_of(network, associated)
        if receiver is not None:
            return receiver
    return traders.find_trader(network, other_than=(sender,))


def amount_of(network: Network, token: Token, sender: int) -> int:
    """Return a plausible part of what an account holds; an issuer gives a smaller part."""
    parts = 200 if sender == token.treasury else 3
    least = 2 if any(isinstance(fee, FractionalFee) for fee in token.fees) else 1
    return max(least, int(token.balance(sender) * network.choose.random() ** 2) // parts)


ACTIONS = weighted((11, send), (2, give), (3, sell), (0, send_in_vain))
