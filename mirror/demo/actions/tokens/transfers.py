"""Token transfers: units sent, serials given away and sold; and new metadata of serials."""

from mirror.demo.actions.tokens import issuing
from mirror.demo.network import Network, require, required, weighted
from mirror.demo.tokens import recipes, traders
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
        most = network.world.accounts[buyer].balance // (20 * HBAR)
        transfers.pay(buyer, owner, network.choose.randrange(1, max(2, most)) * HBAR)
    transfer(network, transfers, payer=buyer, memo=f"{token.name} for sale")


def _serials_to_move(network: Network) -> tuple[Token, int, int]:
    """Return a token with serials, an owner of some, and another account."""
    token = traders.token(network, lambda token: not token.fungible and token.supply)
    owner = traders.holder(network, token)
    return token, owner, required(find_receiver(network, token, owner))


def send_in_vain(network: Network) -> None:
    """Send more units than the sender holds, or a serial of another account."""
    found, receiver = traders.find_token(network), traders.find_trader(network)
    token = required(found)
    sender = traders.holder(network, token)
    receiver = required(receiver)
    require(receiver != sender and not token.refusal(sender))
    if token.fungible:
        share, result = (
            token.balance(sender) + network.choose.randrange(1, 1_000),
            "INSUFFICIENT_TOKEN_BALANCE",
        )
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


def change_metadata(network: Network) -> None:
    """Let the issuer change the metadata of a few serials, whose owner may be another account (HIP-657)."""
    token = traders.token(network, lambda token: not token.fungible and token.metadata_key and token.supply)
    living = [number for number, serial in token.serials.items() if serial.owner]
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    require(living)
    network.give_up_if(refusal)
    changed = network.choose.sample(living, min(len(living), network.choose.choice((1, 1, 3))))
    metadata = recipes.serial_metadata(network.choose, token.name, changed[0])
    if not refusal:
        for number in changed:
            token.serials[number].metadata, token.serials[number].modified = metadata, network.now
    body = {"token": token.number, "serial_numbers": changed, "metadata": metadata}
    network.submit("token_update_nfts", body, payer=token.treasury, result=refusal)


ACTIONS = weighted((11, send), (2, give), (3, sell), (0, send_in_vain), (1, change_metadata))
