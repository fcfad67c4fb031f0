"""Tokens themselves: issuing, changing, pausing and deleting them, their fees and their treasury."""

from typing import Any

from ledger.stream.compose import account, timestamp
from ledger.stream.demo import token_fees, token_recipes, traders
from ledger.stream.demo.network import Action, Network
from ledger.stream.demo.token_messages import ALL_SERIALS, association, custom_fee, serials, token_id, units
from ledger.stream.demo.token_recipes import RECIPES
from ledger.stream.demo.token_transfers import begin_relationship, can_associate, refuses
from ledger.stream.demo.tokens import Relationship, Token
from ledger.stream.demo.wallet import EcdsaWallet, Ed25519Wallet
from mirror.values.hapi import Key, KeyList, ThresholdKey
from mirror.values.timestamp import NANOS_PER_SECOND

FIRST_TOKENS = len(RECIPES)
_MOST_LIVING, _FEWEST_LIVING = 48, 10
_QUARTER_YEAR, _YEAR = 7_776_000, 31_536_000  # seconds
_FIELDS = {
    "admin_key": "adminKey",
    "fee_schedule_key": "fee_schedule_key",
    "freeze_key": "freezeKey",
    "kyc_key": "kycKey",
    "metadata_key": "metadata_key",
    "pause_key": "pause_key",
    "supply_key": "supplyKey",
    "wipe_key": "wipeKey",
}
# Statuses depend on the other keys: those stay when they are once given.
_REMOVABLE = ("admin_key", "fee_schedule_key", "metadata_key", "supply_key", "wipe_key")


# CREATE
def create(network: Network) -> bool:
    """Somebody issues a token, which is then the treasury's."""
    treasury = traders.trader(network)
    place, living = len(network.world.tokens.issued), list(network.world.tokens.living())
    if treasury is None or len(living) >= _MOST_LIVING:
        return False
    at, number = network.now, network.new_number()
    created = _new_token(network, number, treasury, place)
    network.world.tokens.issued[number] = created
    holders = dict.fromkeys((treasury, *token_fees.own_collectors(created)))
    for holder in holders:
        created.relationships[holder] = Relationship(
            created=at,
            automatic=False,
            frozen=False if created.freeze_key else None,
            kyc_granted=True if created.kyc_key else None,
            balance_timestamp=at,
        )
    created.relationships[treasury].balance = created.initial_supply
    supply = created.initial_supply
    network.world.bound.update((*holders, *(fee.collector for fee in created.fees)))
    network.submit(
        "tokenCreation",
        _creation(created),
        payer=treasury,
        receipt={"tokenID": token_id(number)},
        record={
            "tokenTransferLists": [units(number, {treasury: supply})] if supply else [],
            "automatic_token_associations": [association(holder, number) for holder in holders],
        },
    )
    return True


def _new_token(network: Network, number: int, treasury: int, place: int) -> Token:
    choose, at = network.choose, network.now
    recipe = RECIPES[place % len(RECIPES)]
    name, symbol = token_recipes.name(recipe, place // len(RECIPES))
    created = Token(
        number=number,
        created=at,
        modified=at,
        name=name,
        symbol=symbol,
        fungible=recipe.fungible,
        treasury=treasury,
        decimals=recipe.decimals,
        finite=recipe.finite,
        memo=recipe.memo,
        freeze_default=recipe.freeze_default,
        paused=False if "pause_key" in recipe.keys else None,
        fees_since=at,
        is_currency=recipe.is_currency,
    )
    for key in recipe.keys:
        setattr(created, key, _key(network, created, key))
    if recipe.fungible:
        created.initial_supply = choose.randrange(20, 5_000) * 1_000 * 10**recipe.decimals
        created.supply = created.initial_supply
    if recipe.finite:
        headroom = choose.randrange(1, 4) if created.supply_key else 1
        created.max_supply = created.initial_supply * headroom or choose.randrange(4, 30) * 10
    if choose.random() < 0.6:
        created.metadata = token_recipes.content_address(choose).encode()
    if choose.random() < 0.7:
        created.auto_renew_account, created.auto_renew_period = treasury, _QUARTER_YEAR
    else:
        created.expiration = (at // NANOS_PER_SECOND + _YEAR) * NANOS_PER_SECOND
    created.fees = token_fees.choose(network, created, recipe.fees)
    return created


def _creation(created: Token) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": created.name,
        "symbol": created.symbol,
        "decimals": created.decimals,
        "initialSupply": created.initial_supply,
        "treasury": account(created.treasury),
        "tokenType": "FUNGIBLE_COMMON" if created.fungible else "NON_FUNGIBLE_UNIQUE",
        "supplyType": "FINITE" if created.finite else "INFINITE",
        "maxSupply": created.max_supply,
        "freezeDefault": created.freeze_default,
        "memo": created.memo,
        "metadata": created.metadata,
        "custom_fees": [custom_fee(fee, created.number) for fee in created.fees],
    }
    for key, name in _FIELDS.items():
        if serialized := getattr(created, key):
            body[name] = Key.FromString(serialized)
    if created.auto_renew_account:
        body["autoRenewAccount"] = account(created.auto_renew_account)
        body["autoRenewPeriod"] = {"seconds": created.auto_renew_period}
    else:
        body["expiry"] = timestamp(created.expiration or 0)
    return body


def _key(network: Network, token: Token, name: str) -> bytes:
    """A key for what `name` says: mostly that of the treasury, or one of its own, or one of several."""
    own = Ed25519Wallet(token.number, name, network.now)
    match network.choose.randrange(10):
        case 0:
            return EcdsaWallet(token.number, name, network.now).key
        case 1:
            others = [Ed25519Wallet(token.number, name, place).key for place in range(2)]
            keys = KeyList(keys=[Key.FromString(key) for key in (own.key, *others)])
            several: bytes = Key(thresholdKey=ThresholdKey(threshold=2, keys=keys)).SerializeToString()
            return several
        case 2 | 3 | 4:
            return own.key
    return network.world.accounts[token.treasury].key or own.key


# UPDATE
def update(network: Network) -> bool:
    """Somebody changes what a token says of itself, how it is renewed, or one of its keys."""
    changed = traders.token(network, lambda one: one.admin_key)
    refusal = "TOKEN_IS_PAUSED" if changed and changed.paused else None
    if changed is None or refuses(network, refusal):
        return False
    change = network.choose.choice((_rename, _change_memo, _change_metadata, _renew, _change_key))
    columns, fields = change(network, changed)
    if not refusal:
        for column, value in columns.items():
            setattr(changed, column, value)
        changed.modified = network.now
    network.submit(
        "tokenUpdate",
        {"token": token_id(changed.number)} | fields,
        payer=changed.treasury,
        result=refusal or "SUCCESS",
    )
    return True


_Change = tuple[dict[str, Any], dict[str, Any]]  # fields of Token, of the body


def _rename(network: Network, token: Token) -> _Change:
    called = token.name.partition(" by ")[0]
    name = f"{called} by {network.world.accounts[token.treasury].memo.partition(' ')[0] or 'us'}"
    columns: dict[str, Any] = {"name": name}
    if network.choose.random() < 0.3:
        columns["symbol"] = f"{token.symbol.rstrip('X')}X"
    return columns, dict(columns)


def _change_memo(network: Network, token: Token) -> _Change:
    memo = network.choose.choice(("", "Reviewed", "See our site for terms", f"Edition {network.now % 100}"))
    return {"memo": memo}, {"memo": {"value": memo}}


def _change_metadata(network: Network, token: Token) -> _Change:
    metadata = token_recipes.content_address(network.choose).encode()
    if network.choose.random() < 0.2:
        metadata = b""
    return {"metadata": metadata}, {"metadata": {"value": metadata}}


def _renew(network: Network, token: Token) -> _Change:
    if network.choose.random() < 0.5:
        expiration = ((token.expiration or network.now) // NANOS_PER_SECOND + _YEAR) * NANOS_PER_SECOND
        return {"expiration": expiration}, {"expiry": timestamp(expiration)}
    period = network.choose.choice((_QUARTER_YEAR, 8_000_000))
    network.world.bound.add(token.treasury)
    columns = {"auto_renew_account": token.treasury, "auto_renew_period": period}
    return columns, {"autoRenewAccount": account(token.treasury), "autoRenewPeriod": {"seconds": period}}


def _change_key(network: Network, token: Token) -> _Change:
    """A new key, or none any more (HIP-540), where there was one."""
    given = [key for key in _FIELDS if getattr(token, key)]
    name = network.choose.choice(given)
    if name in _REMOVABLE and network.choose.random() < 0.15:
        return {name: None}, {_FIELDS[name]: Key(keyList=KeyList())}
    key = _key(network, token, name)
    return {name: key}, {_FIELDS[name]: Key.FromString(key)}


def change_treasury(network: Network) -> bool:
    """A token gets another treasury, to which goes whatever the old one holds of it."""
    changed = traders.token(network, lambda one: one.admin_key and not one.paused and not one.is_currency)
    successor = traders.trader(network, other_than=(changed.treasury,)) if changed else None
    if changed is None or successor is None or not _may_succeed(network, changed, successor):
        return False
    at, predecessor, number = network.now, changed.treasury, changed.number
    associated = []
    if successor not in changed.relationships:
        begin_relationship(network, changed, successor, automatic=True)
        associated.append(association(successor, number))
    moved = []
    if amount := changed.balance(predecessor):
        changed.relationships[predecessor].receive(-amount, at)
        changed.relationships[successor].receive(amount, at)
        if changed.fungible:
            moved.append(units(number, {predecessor: -amount, successor: amount}))
        else:
            moved.append(serials(number, [(ALL_SERIALS, predecessor, successor)]))
            for serial in changed.owned(predecessor):
                changed.serials[serial].move(successor, at)
    changed.treasury, changed.modified = successor, at
    network.world.bound.add(successor)
    network.submit(
        "tokenUpdate",
        {"token": token_id(number), "treasury": account(successor)},
        payer=predecessor,
        record={"tokenTransferLists": moved, "automatic_token_associations": associated},
    )
    return True


def _may_succeed(network: Network, token: Token, successor: int) -> bool:
    if token.refusal(token.treasury):
        return False
    if successor in token.relationships:
        return token.refusal(successor) is None and (token.fungible or not token.balance(successor))
    return can_associate(network, successor) and not token.kyc_key and not token.freeze_default


def change_fees(network: Network) -> bool:
    """Somebody replaces the custom fees of a token, at times by none."""
    changed = traders.token(network, lambda one: one.fee_schedule_key and not one.is_currency)
    if changed is None:
        return False
    possible = token_fees.kinds_of(changed)
    kinds = network.choose.sample(possible, network.choose.choice((0, 1, 1, 2)))
    if any(kind.startswith("fractional") for kind in kinds):
        kinds = kinds[:1]
    fees = token_fees.choose(network, changed, tuple(kinds))
    refusal = None if fees or changed.fees else "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES"
    if changed.paused:
        refusal = "TOKEN_IS_PAUSED"
    if refuses(network, refusal):
        return False
    if not refusal:
        changed.fees, changed.fees_since = fees, network.now
        network.world.bound.update(fee.collector for fee in fees)
    network.submit(
        "token_fee_schedule_update",
        {
            "token_id": token_id(changed.number),
            "custom_fees": [custom_fee(fee, changed.number) for fee in fees],
        },
        payer=changed.treasury,
        result=refusal or "SUCCESS",
    )
    return True


# PAUSE, DELETE
def pause(network: Network) -> bool:
    """Somebody pauses a token; only few are at a time."""
    if any(token.paused for token in network.world.tokens.living()):
        return False
    return _set_paused(network, True)


def unpause(network: Network) -> bool:
    """Somebody lets a paused token move again."""
    return _set_paused(network, False)


def _set_paused(network: Network, paused: bool) -> bool:
    changed = traders.token(network, lambda one: one.pause_key and one.paused is not paused)
    if changed is None:
        return False
    changed.paused, changed.modified = paused, network.now
    body = {"token": token_id(changed.number)}
    network.submit("token_pause" if paused else "token_unpause", body, payer=changed.treasury)
    return True


def delete(network: Network) -> bool:
    """Somebody deletes a token; who holds it may still dissociate from it."""
    living = list(network.world.tokens.living())
    deleted = traders.token(network, lambda one: one.admin_key and not one.paused and not one.is_currency)
    if deleted is None or len(living) <= _FEWEST_LIVING:
        return False
    deleted.deleted, deleted.modified = True, network.now
    network.submit("tokenDeletion", {"token": token_id(deleted.number)}, payer=deleted.treasury)
    return True


def change_in_vain(network: Network) -> bool:
    """Somebody tries what the token has no key for."""
    token = traders.token(network)
    if token is None:
        return False
    number, refusals = {"token": token_id(token.number)}, []
    if token.admin_key is None:
        refusals.append(("tokenUpdate", {"name": f"{token.name} Plus"}, "TOKEN_IS_IMMUTABLE"))
        refusals.append(("tokenDeletion", {}, "TOKEN_IS_IMMUTABLE"))
    if token.pause_key is None:
        refusals.append(("token_pause", {}, "TOKEN_HAS_NO_PAUSE_KEY"))
    if not refusals:
        return False
    kind, fields, refusal = network.choose.choice(refusals)
    network.submit(kind, number | fields, payer=token.treasury, result=refusal)
    return True


ACTIONS = (
    Action(create, 1),
    Action(update, 1),
    Action(change_treasury, 0),
    Action(change_fees, 0),
    Action(pause, 0),
    Action(unpause, 1),
    Action(delete, 0),
    Action(change_in_vain, 0),
)
