"""The supply of tokens: minting, burning and wiping units and serials."""

from collections.abc import Sequence
from typing import Any

from mirror.demo.network import Network, Refused, Submission, require, weighted
from mirror.demo.tokens import recipes, traders
from mirror.demo.world.messages import serials, units
from mirror.demo.world.tokens import Serial, Token

_MOST_SERIALS = 250
_MOST_AT_ONCE = 5
_MOST_SUPPLY = 2**62


def mint(network: Network) -> None:
    token = traders.token(network, lambda token: token.fungible and token.supply_key)
    amount = max(1, token.initial_supply // network.choose.randrange(5, 200))
    refusal = refusal_to_mint(token, amount)
    network.give_up_if(refusal)
    require(token.supply + amount <= _MOST_SUPPLY)
    _mint(network, token, amount, refusal, {"amount": amount})


def mint_serials(network: Network) -> None:
    token = traders.token(
        network, lambda token: not token.fungible and token.supply_key and len(token.serials) < _MOST_SERIALS
    )
    amount, last = network.choose.randint(1, _MOST_AT_ONCE), len(token.serials)
    refusal = refusal_to_mint(token, amount)
    network.give_up_if(refusal)
    numbers = range(last + 1, last + amount + 1)
    metadata = [recipes.serial_metadata(network.choose, token.name, number) for number in numbers]
    _mint(network, token, amount, refusal, {"metadata": metadata})


def refusal_to_mint(token: Token, amount: int) -> str | None:
    """Return the result code of minting this much more; None if it succeeds."""
    if token.finite and token.supply + amount > token.max_supply:
        return "TOKEN_MAX_SUPPLY_REACHED"
    return token.refusal(token.treasury)


def _mint(network: Network, token: Token, amount: int, refusal: str | None, body: dict[str, Any]) -> None:
    minted: Submission = {"result": refusal}
    if not refusal:
        minted["receipt"], minted["record"] = receive(network, token, amount, body.get("metadata", ()))
    network.submit("tokenMint", {"token": token.number} | body, payer=token.treasury, **minted)


def receive(
    network: Network, token: Token, amount: int, metadata: Sequence[bytes] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the treasury what is minted now: units, or a serial for each metadata.

    Return fields of the receipt and of the record.
    """
    at, treasury = network.now, token.treasury
    token.supply += amount
    token.relationships[treasury].receive(amount, at)
    receipt: dict[str, Any] = {"newTotalSupply": token.supply}
    if token.fungible:
        return receipt, {"tokenTransferLists": [units(token.number, {treasury: amount})]}
    first = len(token.serials) + 1
    receipt["serialNumbers"] = numbers = range(first, first + amount)
    for number, content in zip(numbers, metadata, strict=True):
        token.serials[number] = Serial(treasury, content, at, at)
    moved = serials(token.number, [(number, None, treasury) for number in numbers])
    return receipt, {"tokenTransferLists": [moved]}


def burn(network: Network) -> None:
    """Burn some of what the treasury holds."""
    token = traders.token(network, lambda token: token.supply_key and token.balance(token.treasury))
    refusal = token.refusal(token.treasury)
    network.give_up_if(refusal)
    _end(network, "tokenBurn", token, token.treasury, refusal)


def wipe(network: Network) -> None:
    """Wipe units or serials of a holder."""
    token = traders.token(network, lambda token: token.wipe_key and len(token.relationships) > 1)
    holders = [number for number in token.holders() if number != token.treasury]
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    require(holders)
    network.give_up_if(refusal)
    _end(network, "tokenWipe", token, network.choose.choice(holders), refusal)


def _end(network: Network, kind: str, token: Token, holder: int, refusal: str | None) -> None:
    body: dict[str, Any] = {"token": token.number}
    if kind == "tokenWipe":
        body["account"] = holder
    ended: list[int] = []
    if token.fungible:
        amount = body["amount"] = max(1, token.balance(holder) // network.choose.randrange(1, 40))
        moved = units(token.number, {holder: -amount})
    else:
        owned = token.owned(holder)
        ended = network.choose.sample(owned, min(len(owned), network.choose.randint(1, 2)))
        body["serialNumbers"], amount = ended, len(ended)
        moved = serials(token.number, [(number, holder, None) for number in ended])
    outcome: Submission = {"result": refusal}
    if not refusal:
        token.supply -= amount
        token.relationships[holder].receive(-amount, network.now)
        for number in ended:
            token.serials[number].move(None, network.now)
        outcome = {"receipt": {"newTotalSupply": token.supply}, "record": {"tokenTransferLists": [moved]}}
    network.submit(kind, body, payer=token.treasury, **outcome)


def change_in_vain(network: Network) -> None:
    """Mint, burn or wipe without the key for it, or wipe the treasury."""
    token = traders.token(network)
    body: dict[str, Any] = {"token": token.number, "amount": 1_000}
    refused: list[Refused] = []
    if token.supply_key is None:
        refused += [(kind, body, "TOKEN_HAS_NO_SUPPLY_KEY") for kind in ("tokenMint", "tokenBurn")]
    wiped = body | {"account": token.treasury}
    if token.wipe_key is None:
        refused.append(("tokenWipe", wiped, "TOKEN_HAS_NO_WIPE_KEY"))
    elif token.fungible:
        refused.append(("tokenWipe", wiped, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT"))
    network.submit_refused(refused, payer=token.treasury)


ACTIONS = weighted((1, mint), (3, mint_serials), (1, burn), (0, wipe, change_in_vain))
