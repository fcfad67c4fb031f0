"""Issuing tokens with their keys, and their supply: minting, burning and wiping units and serials."""

from collections.abc import Sequence
from typing import Any

from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions.tokens import recipes, traders
from mirror.demo.actions.tokens.recipes import SPECS, TokenSpec
from mirror.demo.network import FailingTransaction, Network, Submission, require, weighted
from mirror.demo.streams.keys import EcdsaWallet, Ed25519Wallet, threshold_key
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD
from mirror.demo.world.messages import association, serials, token_creation, units
from mirror.demo.world.tokens import Relationship, Serial, Token

FIRST_TOKENS = len(SPECS)
YEAR = 31_536_000  # seconds
_MAX_LIVING, _MAX_LASTING = 48, 16
_MAX_SERIALS = 250
_MAX_AT_ONCE = 5
_MAX_SUPPLY = 2**62


# ISSUING
def create(network: Network) -> None:
    """Issue a token, whose supply the treasury holds at first."""
    treasury = traders.trader(network)
    require(sum(1 for _ in network.world.tokens.living()) < _MAX_LIVING)
    at, number = network.now, network.new_number()
    created = _new_token(network, number, treasury)
    network.world.tokens.issued[number] = created
    holders = dict.fromkeys((treasury, *recipes.own_collectors(created)))
    frozen, kyc = False if created.freeze_key else None, True if created.kyc_key else None
    for holder in holders:
        created.relationships[holder] = Relationship(at, False, frozen, kyc, balance_timestamp=at)
    supply = created.relationships[treasury].balance = created.initial_supply
    network.world.bound.update((*holders, *(fee.collector for fee in created.fees)))
    record = {
        "tokenTransferLists": [units(number, {treasury: supply})] if supply else [],
        "automatic_token_associations": [association(holder, number) for holder in holders],
    }
    receipt = {"tokenID": number}
    network.submit("tokenCreation", token_creation(created), payer=treasury, receipt=receipt, record=record)


def _new_token(network: Network, number: int, treasury: int) -> Token:
    choose, at, made = network.choose, network.now, network.world.tokens.made
    kind = made.total() % len(SPECS)
    if _is_permanent(SPECS[kind]) and not has_room(network):
        kind = choose.choice([index for index, spec in enumerate(SPECS) if not _is_permanent(spec)])
    spec = SPECS[kind]
    name, symbol = recipes.name(spec, made[kind])
    made[kind] += 1
    created = Token(number, at, at, name, symbol, spec.fungible, treasury, spec.decimals)
    created.finite, created.memo, created.freeze_default = spec.finite, spec.memo, spec.freeze_default
    created.paused = False if "pause_key" in spec.keys else None
    created.fees_since, created.is_currency = at, spec.is_currency
    for key in spec.keys:
        setattr(created, key, key_for(network, created, key))
    if spec.fungible:
        supply = choose.randrange(20, 5_000) * 1_000 * 10**spec.decimals
        created.initial_supply = created.supply = supply
    if spec.finite:
        headroom = choose.randrange(1, 4) if created.supply_key else 1
        created.max_supply = created.initial_supply * headroom or choose.randrange(4, 30) * 10
    if choose.random() < 0.6:
        created.metadata = recipes.content_address(choose).encode()
    if choose.random() < 0.7:
        created.auto_renew_account, created.auto_renew_period = treasury, AUTO_RENEW_PERIOD
    else:
        created.expiration = (at // NANOS_PER_SECOND + YEAR) * NANOS_PER_SECOND
    created.fees = recipes.chosen_fees(network, created, spec.fees)
    return created


def _is_permanent(spec: TokenSpec) -> bool:
    return "admin_key" not in spec.keys or spec.is_currency


def has_room(network: Network) -> bool:
    """Return whether there is room for one more token that is never deleted."""
    lasting = sum(not deletable(token) for token in network.world.tokens.living())
    return lasting < _MAX_LASTING


def deletable(token: Token) -> bool:
    return token.admin_key is not None and not token.is_currency


def key_for(network: Network, token: Token, name: str) -> bytes:
    """Return the key called `name` for a token: mostly the treasury's, else a new one or a threshold key."""
    own = Ed25519Wallet(token.number, name, network.now)
    match network.choose.randrange(10):
        case 0:
            return EcdsaWallet(token.number, name, network.now).key
        case 1:
            others = [Ed25519Wallet(token.number, name, index).key for index in range(2)]
            return threshold_key(own.key, *others)
        case 2 | 3 | 4:
            return own.key
    return network.world.accounts[token.treasury].key or own.key


# SUPPLY
def mint(network: Network) -> None:
    token = traders.token(network, lambda token: token.fungible and token.supply_key)
    amount = max(1, token.initial_supply // network.choose.randrange(5, 200))
    failure = mint_failure(token, amount)
    network.avoid_failure(failure)
    require(token.supply + amount <= _MAX_SUPPLY)
    _mint(network, token, amount, failure, {"amount": amount})


def mint_serials(network: Network) -> None:
    token = traders.token(
        network, lambda token: not token.fungible and token.supply_key and len(token.serials) < _MAX_SERIALS
    )
    amount, last = network.choose.randint(1, _MAX_AT_ONCE), len(token.serials)
    failure = mint_failure(token, amount)
    network.avoid_failure(failure)
    numbers = range(last + 1, last + amount + 1)
    metadata = [recipes.serial_metadata(network.choose, token.name, number) for number in numbers]
    _mint(network, token, amount, failure, {"metadata": metadata})


def mint_failure(token: Token, amount: int) -> str | None:
    """Return the result code of minting this much more; None if it succeeds."""
    if token.finite and token.supply + amount > token.max_supply:
        return "TOKEN_MAX_SUPPLY_REACHED"
    return token.failure(token.treasury)


def _mint(network: Network, token: Token, amount: int, failure: str | None, body: dict[str, Any]) -> None:
    minted: Submission = {"result": failure}
    if not failure:
        minted["receipt"], minted["record"] = receive(network, token, amount, body.get("metadata", ()))
    network.submit("tokenMint", {"token": token.number} | body, payer=token.treasury, **minted)


def receive(
    network: Network, token: Token, amount: int, metadata: Sequence[bytes] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the treasury what is minted now; return fields of the receipt and of the record."""
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
    failure = token.failure(token.treasury)
    network.avoid_failure(failure)
    _end(network, "tokenBurn", token, token.treasury, failure)


def wipe(network: Network) -> None:
    """Wipe units or serials of a holder."""
    token = traders.token(network, lambda token: token.wipe_key and len(token.relationships) > 1)
    holders = [number for number in token.holders() if number != token.treasury]
    failure = "TOKEN_IS_PAUSED" if token.paused else None
    require(holders)
    network.avoid_failure(failure)
    _end(network, "tokenWipe", token, network.choose.choice(holders), failure)


def _end(network: Network, kind: str, token: Token, holder: int, failure: str | None) -> None:
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
    outcome: Submission = {"result": failure}
    if not failure:
        token.supply -= amount
        token.relationships[holder].receive(-amount, network.now)
        for number in ended:
            token.serials[number].move(None, network.now)
        outcome = {"receipt": {"newTotalSupply": token.supply}, "record": {"tokenTransferLists": [moved]}}
    network.submit(kind, body, payer=token.treasury, **outcome)


def change_invalid(network: Network) -> None:
    """Mint, burn or wipe without the key for it, or wipe the treasury."""
    token = traders.token(network)
    body: dict[str, Any] = {"token": token.number, "amount": 1_000}
    failing: list[FailingTransaction] = []
    if token.supply_key is None:
        failing += [(kind, body, "TOKEN_HAS_NO_SUPPLY_KEY") for kind in ("tokenMint", "tokenBurn")]
    wiped = body | {"account": token.treasury}
    if token.wipe_key is None:
        failing.append(("tokenWipe", wiped, "TOKEN_HAS_NO_WIPE_KEY"))
    elif token.fungible:
        failing.append(("tokenWipe", wiped, "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT"))
    network.submit_failing(failing, payer=token.treasury)


ISSUING = weighted((1, create))
ACTIONS = weighted((1, mint), (3, mint_serials), (1, burn), (0, wipe, change_invalid))
