"""Issuing tokens, and the keys they get."""

from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.keys.wallet import EcdsaWallet, Ed25519Wallet, two_of
from mirror.demo.network import Network, require, weighted
from mirror.demo.tokens import recipes, traders
from mirror.demo.tokens.recipes import RECIPES, Recipe
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD
from mirror.demo.world.messages import association, token_creation, units
from mirror.demo.world.tokens import Relationship, Token

FIRST_TOKENS = len(RECIPES)
YEAR = 31_536_000  # seconds
_MOST_LIVING, _MOST_LASTING = 48, 16


def create(network: Network) -> None:
    """Issue a token, whose supply the treasury holds at first."""
    treasury = traders.trader(network)
    require(sum(1 for _ in network.world.tokens.living()) < _MOST_LIVING)
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
    kind = made.total() % len(RECIPES)
    if _lasts(RECIPES[kind]) and not may_last(network):
        kind = choose.choice([place for place, recipe in enumerate(RECIPES) if not _lasts(recipe)])
    recipe = RECIPES[kind]
    name, symbol = recipes.name(recipe, made[kind])
    made[kind] += 1
    created = Token(number, at, at, name, symbol, recipe.fungible, treasury, recipe.decimals)
    created.finite, created.memo, created.freeze_default = recipe.finite, recipe.memo, recipe.freeze_default
    created.paused = False if "pause_key" in recipe.keys else None
    created.fees_since, created.is_currency = at, recipe.is_currency
    for key in recipe.keys:
        setattr(created, key, key_for(network, created, key))
    if recipe.fungible:
        supply = choose.randrange(20, 5_000) * 1_000 * 10**recipe.decimals
        created.initial_supply = created.supply = supply
    if recipe.finite:
        headroom = choose.randrange(1, 4) if created.supply_key else 1
        created.max_supply = created.initial_supply * headroom or choose.randrange(4, 30) * 10
    if choose.random() < 0.6:
        created.metadata = recipes.content_address(choose).encode()
    if choose.random() < 0.7:
        created.auto_renew_account, created.auto_renew_period = treasury, AUTO_RENEW_PERIOD
    else:
        created.expiration = (at // NANOS_PER_SECOND + YEAR) * NANOS_PER_SECOND
    created.fees = recipes.chosen_fees(network, created, recipe.fees)
    return created


def _lasts(recipe: Recipe) -> bool:
    return "admin_key" not in recipe.keys or recipe.is_currency


def may_last(network: Network) -> bool:
    """Return whether there is room for one more token that is never deleted."""
    lasting = sum(not deletable(token) for token in network.world.tokens.living())
    return lasting < _MOST_LASTING


def deletable(token: Token) -> bool:
    return token.admin_key is not None and not token.is_currency


def key_for(network: Network, token: Token, name: str) -> bytes:
    """Return the key called `name` for a token: mostly the treasury's, else a new one or a threshold key."""
    own = Ed25519Wallet(token.number, name, network.now)
    match network.choose.randrange(10):
        case 0:
            return EcdsaWallet(token.number, name, network.now).key
        case 1:
            others = [Ed25519Wallet(token.number, name, place).key for place in range(2)]
            return two_of(own.key, *others)
        case 2 | 3 | 4:
            return own.key
    return network.world.accounts[token.treasury].key or own.key


ACTIONS = weighted((1, create))
