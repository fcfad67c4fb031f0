"""Tokens changing hands: units sent, serials given away and sold, by whoever has them."""

from mirror.demo.actions.refusals import refuses
from mirror.demo.actions.tokens import issuing
from mirror.demo.network import Action, Network
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import Transfers
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import FractionalFee, Token

_AMONG_HOLDERS = 0.75
_MEMOS = ("", "", "Thanks!", "For last week", "Order {}", "Refund {}", "Share {}")


def send(network: Network) -> bool:
    """Somebody sends units of a token; issuers also to a few at once."""
    if len(network.world.tokens.issued) < issuing.FIRST_TOKENS:
        return issuing.create(network)
    sent = traders.token(network, lambda one: one.fungible)
    sender = traders.holder(network, sent) if sent else None
    if sent is None or sender is None:
        return False
    transfers = Transfers(network)
    several = sender == sent.treasury and network.choose.random() < 0.2
    for _ in range(3 if several else 1):
        receiver = receiver_of(network, sent, sender)
        if receiver is not None:
            transfers.move(sent, sender, receiver, amount_of(network, sent, sender))
    if not transfers.lists():
        return False
    memo = network.choose.choice(_MEMOS).format(network.choose.randrange(100, 999))
    return transfer(network, transfers, payer=sender, memo=memo)


def give(network: Network) -> bool:
    """Somebody gives one or two serials to somebody."""
    given = traders.token(network, lambda one: not one.fungible and one.supply)
    owner = traders.holder(network, given) if given else None
    receiver = receiver_of(network, given, owner) if given and owner else None
    if given is None or owner is None or receiver is None:
        return False
    owned, transfers = given.owned(owner), Transfers(network)
    for serial in network.choose.sample(owned, min(len(owned), network.choose.choice((1, 1, 2)))):
        transfers.hand_over(given, serial, owner, receiver)
    return transfer(network, transfers, payer=owner)


def sell(network: Network) -> bool:
    """Somebody buys a serial for hbars, or for a currency both have."""
    sold = traders.token(network, lambda one: not one.fungible and one.supply)
    owner = traders.holder(network, sold) if sold else None
    buyer = receiver_of(network, sold, owner) if sold and owner else None
    if sold is None or owner is None or buyer is None:
        return False
    transfers = Transfers(network)
    transfers.hand_over(sold, network.choose.choice(sold.owned(owner)), owner, buyer)
    currency = traders.token(network, lambda one: one.is_currency and one.balance(buyer) > 100)
    if currency and owner in currency.relationships and network.choose.random() < 0.5:
        transfers.move(currency, buyer, owner, currency.balance(buyer) // network.choose.randrange(4, 50))
    else:
        most = network.world.accounts[buyer].balance // (20 * HBAR)
        transfers.pay(buyer, owner, network.choose.randrange(1, max(2, most)) * HBAR)
    return transfer(network, transfers, payer=buyer, memo=f"{sold.name} for sale")


def send_in_vain(network: Network) -> bool:
    """Somebody sends more than there is, or what is somebody else's."""
    sent, receiver = traders.token(network), traders.trader(network)
    sender = traders.holder(network, sent) if sent else None
    if sent is None or sender is None or receiver is None or receiver == sender or sent.refusal(sender):
        return False
    transfers = Transfers(network)
    if sent.fungible:
        transfers.move(sent, sender, receiver, sent.balance(sender) + network.choose.randrange(1, 1_000))
        return transfer(network, transfers, payer=sender, fails_by="INSUFFICIENT_TOKEN_BALANCE")
    others = [number for number, serial in sent.serials.items() if serial.owner not in (None, sender)]
    if not others:
        return False
    transfers.hand_over(sent, network.choose.choice(others), sender, receiver)
    return transfer(network, transfers, payer=sender, fails_by="SENDER_DOES_NOT_OWN_NFT_SERIAL_NO")


def transfer(
    network: Network,
    transfers: Transfers,
    *,
    payer: int,
    approved: bool = False,
    memo: str = "",
    fails_by: str | None = None,
) -> bool:
    """Submit a crypto transfer, at times one that is refused; gives whether it was submitted."""
    body = transfers.body(approved=approved)
    transfers.assess()
    refusal = fails_by or transfers.refusal()
    if not fails_by and refuses(network, refusal):
        return False
    record = {} if refusal else transfers.settle()
    network.submit(
        "cryptoTransfer",
        body,
        payer=payer,
        record=record,
        transfers=transfers.hbars,
        whole={"memo": memo},
        result=refusal or "SUCCESS",
    )
    return True


# WHO AND HOW MUCH
def receiver_of(network: Network, token: Token, sender: int) -> int | None:
    """Who gets something: mostly somebody associated with the token."""
    if network.choose.random() < _AMONG_HOLDERS:
        receiver = traders.one_of(network, (of for of in token.relationships if of != sender))
        if receiver is not None:
            return receiver
    return traders.trader(network, other_than=(sender,))


def amount_of(network: Network, token: Token, sender: int) -> int:
    """A plausible amount of what somebody has: of an issuer's it is less."""
    parts = 200 if sender == token.treasury else 3
    least = 2 if any(isinstance(fee, FractionalFee) for fee in token.fees) else 1
    return max(least, int(token.balance(sender) * network.choose.random() ** 2) // parts)


ACTIONS = (
    Action(send, 11),
    Action(give, 2),
    Action(sell, 3),
    Action(send_in_vain, 0),
)
