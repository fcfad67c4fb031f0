"""How much of a token there is: minting, burning and wiping units and serials."""

from collections.abc import Sequence
from typing import Any

from ledger.stream.record.compose import account
from mirror.demo.actions.refusals import Refused, refuses, submit_one
from mirror.demo.network import Action, Network
from mirror.demo.tokens import recipes, traders
from mirror.demo.tokens.messages import serials, token_id, units
from mirror.demo.world.tokens import Serial, Token

_MOST_SERIALS = 250
_MOST_AT_ONCE = 5
_MOST_SUPPLY = 2**62


def mint(network: Network) -> bool:
    """The treasury gets more of a fungible token."""
    minted = traders.token(network, lambda one: one.fungible and one.supply_key)
    if minted is None:
        return False
    amount = max(1, minted.initial_supply // network.choose.randrange(5, 200))
    refused = refusal(minted, amount)
    if refuses(network, refused) or minted.supply + amount > _MOST_SUPPLY:
        return False
    return _mint(network, minted, amount, refused, {"amount": amount})


def mint_serials(network: Network) -> bool:
    """The treasury gets new serials."""
    minted = traders.token(
        network, lambda one: not one.fungible and one.supply_key and len(one.serials) < _MOST_SERIALS
    )
    if minted is None:
        return False
    amount, last = network.choose.randint(1, _MOST_AT_ONCE), len(minted.serials)
    refused = refusal(minted, amount)
    if refuses(network, refused):
        return False
    metadata = [
        recipes.serial_metadata(network.choose, minted.name, last + place) for place in range(1, amount + 1)
    ]
    return _mint(network, minted, amount, refused, {"metadata": metadata})


def refusal(minted: Token, amount: int) -> str | None:
    """The result code of minting so much more; None when it may be."""
    if minted.finite and minted.supply + amount > minted.max_supply:
        return "TOKEN_MAX_SUPPLY_REACHED"
    return minted.refusal(minted.treasury)


def _mint(network: Network, minted: Token, amount: int, refused: str | None, body: dict[str, Any]) -> bool:
    receipt: dict[str, Any] = {}
    record: dict[str, Any] = {}
    if not refused:
        receipt, record = receive(network, minted, amount, body.get("metadata", ()))
    network.submit(
        "tokenMint",
        {"token": token_id(minted.number)} | body,
        payer=minted.treasury,
        receipt=receipt,
        record=record,
        result=refused or "SUCCESS",
    )
    return True


def receive(
    network: Network, minted: Token, amount: int, metadata: Sequence[bytes] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let the treasury get what is minted next: units, or a serial for each metadata. What the receipt and
    the record say of it.
    """
    at, treasury = network.now, minted.treasury
    minted.supply += amount
    minted.relationships[treasury].receive(amount, at)
    receipt: dict[str, Any] = {"newTotalSupply": minted.supply}
    moved = units(minted.number, {treasury: amount})
    if not minted.fungible:
        first = len(minted.serials) + 1
        numbers = range(first, first + amount)
        for number, each in zip(numbers, metadata, strict=True):
            minted.serials[number] = Serial(treasury, each, at, at)
        receipt["serialNumbers"] = numbers
        moved = serials(minted.number, [(number, None, treasury) for number in numbers])
    return receipt, {"tokenTransferLists": [moved]}


def burn(network: Network) -> bool:
    """Some of what the treasury has ends."""
    burnt = traders.token(network, lambda one: one.supply_key and one.balance(one.treasury))
    if burnt is None:
        return False
    refusal = burnt.refusal(burnt.treasury)
    return not refuses(network, refusal) and _end(network, "tokenBurn", burnt, burnt.treasury, refusal)


def wipe(network: Network) -> bool:
    """Somebody's units or serials are taken away and end."""
    wiped = traders.token(network, lambda one: one.wipe_key and len(one.relationships) > 1)
    if wiped is None:
        return False
    holders = [number for number in wiped.holders() if number != wiped.treasury]
    refusal = "TOKEN_IS_PAUSED" if wiped.paused else None
    if not holders or refuses(network, refusal):
        return False
    return _end(network, "tokenWipe", wiped, network.choose.choice(holders), refusal)


def _end(network: Network, kind: str, token: Token, holder: int, refusal: str | None) -> bool:
    body: dict[str, Any] = {"token": token_id(token.number)}
    if kind == "tokenWipe":
        body["account"] = account(holder)
    if token.fungible:
        amount = max(1, token.balance(holder) // network.choose.randrange(1, 40))
        body["amount"] = amount
        moved = units(token.number, {holder: -amount})
    else:
        owned = token.owned(holder)
        body["serialNumbers"] = network.choose.sample(owned, min(len(owned), network.choose.randint(1, 2)))
        amount = len(body["serialNumbers"])
        moved = serials(token.number, [(number, holder, None) for number in body["serialNumbers"]])
    if not refusal:
        token.supply -= amount
        token.relationships[holder].receive(-amount, network.now)
        for number in body.get("serialNumbers", ()):
            token.serials[number].move(None, network.now)
    network.submit(
        kind,
        body,
        payer=token.treasury,
        receipt={} if refusal else {"newTotalSupply": token.supply},
        record={} if refusal else {"tokenTransferLists": [moved]},
        result=refusal or "SUCCESS",
    )
    return True


def change_in_vain(network: Network) -> bool:
    """Somebody tries to mint or wipe what can't be."""
    token = traders.token(network)
    if token is None:
        return False
    units_of: dict[str, Any] = {"token": token_id(token.number), "amount": 1_000}
    refused: list[Refused] = []
    if token.supply_key is None:
        refused.append(("tokenMint", units_of, "TOKEN_HAS_NO_SUPPLY_KEY"))
        refused.append(("tokenBurn", units_of, "TOKEN_HAS_NO_SUPPLY_KEY"))
    wiped = units_of | {"account": account(token.treasury)}
    if token.wipe_key is None:
        refused.append(("tokenWipe", wiped, "TOKEN_HAS_NO_WIPE_KEY"))
    elif token.fungible:
        refused.append(("tokenWipe", wiped, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT"))
    return submit_one(network, refused, payer=token.treasury)


ACTIONS = (
    Action(mint, 1),
    Action(mint_serials, 3),
    Action(burn, 1),
    Action(wipe, 0),
    Action(change_in_vain, 0),
)
