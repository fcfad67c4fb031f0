"""Changes of tokens and of their relationships with accounts; pausing and deleting them."""

from functools import partial
from typing import Any

from mirror.core.values.hapi.messages import Key, KeyList
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions.tokens import recipes, traders
from mirror.demo.actions.tokens.moving import begin_relationship, can_associate
from mirror.demo.actions.tokens.supply import YEAR, deletable, has_room, key_for
from mirror.demo.network import FailingTransaction, Network, pair, require, weighted
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD
from mirror.demo.world.messages import ALL_SERIALS, KEY_FIELDS, association, custom_fee, serials, units
from mirror.demo.world.tokens import Token

_MIN_LIVING = 10
_SERIES = ("new", "Series A", "Series B", "limited", "classic", "2025")
_MEMOS = ("", "Reviewed", "See our site for terms", "Edition {}")
# The other keys stay: the statuses of relationships depend on them.
_REMOVABLE = ("admin_key", "fee_schedule_key", "metadata_key", "supply_key", "wipe_key")
# Attribute of Token -> field of the body, where they differ.
_FIELDS = KEY_FIELDS | {
    "auto_renew_account": "autoRenewAccount",
    "auto_renew_period": "autoRenewPeriod",
    "expiration": "expiry",
}


# UPDATE
def update(network: Network) -> None:
    """Change how a token describes itself, its renewal, or one of its keys."""
    token = traders.token(network, lambda token: token.admin_key)
    failure = "TOKEN_IS_PAUSED" if token.paused else None
    network.avoid_failure(failure)
    attributes = _change(network, token)
    body: dict[str, Any] = {"token": token.number}
    for name, value in attributes.items():
        body[_FIELDS.get(name, name)] = Key(keyList=KeyList()) if name in KEY_FIELDS and not value else value
    if not failure:
        for name, value in attributes.items():
            setattr(token, name, value)
        token.modified = network.now
    network.submit("tokenUpdate", body, payer=token.treasury, result=failure)


def _change(network: Network, token: Token) -> dict[str, Any]:
    """Return attributes with their new values; a key that is removed is None (HIP-540)."""
    choose = network.choose
    match choose.randrange(5):
        case 0:
            attributes = {"name": f"{token.name.partition(' (')[0]} ({choose.choice(_SERIES)})"}
            if choose.random() < 0.1:
                attributes["symbol"] = f"{token.symbol.removesuffix('.N')}.N"
            return attributes
        case 1:
            return {"memo": choose.choice(_MEMOS).format(network.now % 100)}
        case 2:
            metadata = recipes.content_address(choose).encode()
            return {"metadata": b"" if choose.random() < 0.2 else metadata}
        case 3 if choose.random() < 0.5:
            expiration = ((token.expiration or network.now) // NANOS_PER_SECOND + YEAR) * NANOS_PER_SECOND
            return {"expiration": expiration}
        case 3:
            period = choose.choice((AUTO_RENEW_PERIOD, 8_000_000))
            network.world.bound.add(token.treasury)
            return {"auto_renew_account": token.treasury, "auto_renew_period": period}
    name = choose.choice([key for key in KEY_FIELDS if getattr(token, key)])
    stays = name == "admin_key" and not has_room(network)
    if name in _REMOVABLE and not stays and choose.random() < 0.15:
        return {name: None}
    return {name: key_for(network, token, name)}


def change_treasury(network: Network) -> None:
    """Give a token another treasury, which gets all that the old one holds of it."""
    token = traders.token(network, lambda token: deletable(token) and not token.paused)
    successor = traders.trader(network, other_than=(token.treasury,))
    require(_may_succeed(network, token, successor))
    at, predecessor, number = network.now, token.treasury, token.number
    associated = []
    if successor not in token.relationships:
        begin_relationship(network, token, successor, automatic=True)
        associated.append(association(successor, number))
    moved = []
    if amount := token.balance(predecessor):
        amounts = {predecessor: -amount, successor: amount}
        token.receive(amounts, at)
        all_serials = serials(number, [(ALL_SERIALS, predecessor, successor)])
        moved.append(units(number, amounts) if token.fungible else all_serials)
        for serial in token.owned(predecessor):
            token.serials[serial].move(successor, at)
    token.treasury, token.modified = successor, at
    network.world.bound.add(successor)
    body = {"token": number, "treasury": successor}
    record = {"tokenTransferLists": moved, "automatic_token_associations": associated}
    network.submit("tokenUpdate", body, payer=predecessor, record=record)


def _may_succeed(network: Network, token: Token, successor: int) -> bool:
    if token.failure(token.treasury):
        return False
    if successor in token.relationships:
        return token.failure(successor) is None and (token.fungible or not token.balance(successor))
    return can_associate(network, successor) and not token.kyc_key and not token.freeze_default


def change_fees(network: Network) -> None:
    """Replace the custom fees of a token, sometimes by none."""
    token = traders.token(network, lambda token: token.fee_schedule_key and not token.is_currency)
    kinds = network.choose.sample(recipes.kinds_of_fees(token), network.choose.choice((0, 1, 1, 2)))
    if any(kind.startswith("fractional") for kind in kinds):
        kinds = kinds[:1]
    fees = recipes.chosen_fees(network, token, tuple(kinds))
    failure = None if fees or token.fees else "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES"
    if token.paused:
        failure = "TOKEN_IS_PAUSED"
    network.avoid_failure(failure)
    if not failure:
        token.fees, token.fees_since = fees, network.now
        network.world.bound.update(fee.collector for fee in fees)
    body = {"token_id": token.number, "custom_fees": [custom_fee(fee, token.number) for fee in fees]}
    network.submit("token_fee_schedule_update", body, payer=token.treasury, result=failure)


# PAUSE, DELETE
def pause(network: Network) -> None:
    """Pause a token, unless another one is paused."""
    require(not any(token.paused for token in network.world.tokens.living()))
    _set_paused(network, paused=True)


def _set_paused(network: Network, *, paused: bool) -> None:
    token = traders.token(network, lambda token: token.pause_key and token.paused is not paused)
    token.paused, token.modified = paused, network.now
    kind = "token_pause" if paused else "token_unpause"
    network.submit(kind, {"token": token.number}, payer=token.treasury)


def delete(network: Network) -> None:
    """Delete a token. Its holders can still dissociate from it."""
    token = traders.token(network, lambda token: deletable(token) and not token.paused)
    require(len(list(network.world.tokens.living())) > _MIN_LIVING)
    token.deleted, token.modified = True, network.now
    network.submit("tokenDeletion", {"token": token.number}, payer=token.treasury)


def change_invalid(network: Network) -> None:
    """Change, delete or pause a token that has no key for it."""
    token = traders.token(network)
    body: dict[str, Any] = {"token": token.number}
    failing: list[FailingTransaction] = []
    if token.admin_key is None:
        failing.append(("tokenUpdate", body | {"name": f"{token.name} Plus"}, "TOKEN_IS_IMMUTABLE"))
        failing.append(("tokenDeletion", body, "TOKEN_IS_IMMUTABLE"))
    if token.pause_key is None:
        failing.append(("token_pause", body, "TOKEN_HAS_NO_PAUSE_KEY"))
    network.submit_failing(failing, payer=token.treasury)


# RELATIONSHIPS
def associate(network: Network) -> None:
    """Associate an account with a token or two."""
    holder = traders.trader(network)
    possible = list(network.world.tokens.living())
    tokens = network.choose.sample(possible, min(len(possible), network.choose.choice((1, 1, 2))))
    failure = None
    if any(holder in token.relationships for token in tokens):
        failure = "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"
    elif any(token.paused for token in tokens):
        failure = "TOKEN_IS_PAUSED"
    require(tokens)
    network.avoid_failure(failure)
    if not failure:
        for token in tokens:
            begin_relationship(network, token, holder)
    body = {"account": holder, "tokens": [token.number for token in tokens]}
    network.submit("tokenAssociate", body, payer=holder, result=failure)


def dissociate(network: Network) -> None:
    token = traders.token(network, lambda token: len(token.relationships) > 1)
    empty = [
        number
        for number, relationship in token.relationships.items()
        if not relationship.balance and number != token.treasury
    ]
    holder = traders.one_of(network, empty or token.relationships)
    failure = _dissociate_failure(token, holder)
    network.avoid_failure(failure)
    _dissociate(network, token, holder, failure)


def leave_a_deleted_token(network: Network) -> None:
    """Dissociate an account from a deleted token, which ends what the account held of it."""
    issued = network.world.tokens.issued.values()
    token = network.pick([token for token in issued if token.deleted and token.relationships])
    holder = traders.one_of(network, token.relationships)
    require(not token.relationships[holder].frozen)
    _dissociate(network, token, holder, None)


def _dissociate_failure(token: Token, holder: int) -> str | None:
    if token.paused:
        return "TOKEN_IS_PAUSED"
    if holder == token.treasury:
        return "ACCOUNT_IS_TREASURY"
    relationship = token.relationships[holder]
    if relationship.frozen:
        return "ACCOUNT_FROZEN_FOR_TOKEN"
    if not relationship.balance:
        return None
    return "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES" if token.fungible else "ACCOUNT_STILL_OWNS_NFTS"


def _dissociate(network: Network, token: Token, holder: int, failure: str | None) -> None:
    moved = []
    if not failure and (amount := network.world.tokens.dissociate(token, holder, network.now)):
        moved.append(units(token.number, {holder: -amount}))
    body, record = {"account": holder, "tokens": [token.number]}, {"tokenTransferLists": moved}
    network.submit("tokenDissociate", body, payer=holder, record=record, result=failure)


def _change_status(network: Network, kind: str, key: str, status: str, value: bool) -> None:
    """Freeze or unfreeze an account for a token, or grant or revoke its KYC."""
    token = traders.token(network, lambda token: getattr(token, key))
    others = [
        number
        for number, relationship in token.relationships.items()
        if getattr(relationship, status) is not value and number != token.treasury
    ]
    failure = "TOKEN_IS_PAUSED" if token.paused else None
    require(others)
    network.avoid_failure(failure)
    holder = network.choose.choice(others)
    if not failure:
        setattr(token.relationships[holder], status, value)
    body = {"token": token.number, "account": holder}
    network.submit(kind, body, payer=token.treasury, result=failure)


def change_status_invalid(network: Network) -> None:
    """Change a status that the token does not have, or of an account that is not associated."""
    token, other = pair(traders.find_token(network), traders.find_trader(network))
    body = {"token": token.number, "account": other}
    failing: list[FailingTransaction] = []
    if token.freeze_key is None:
        failing.append(("tokenFreeze", body, "TOKEN_HAS_NO_FREEZE_KEY"))
    elif other not in token.relationships:
        failing.append(("tokenUnfreeze", body, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"))
    if token.kyc_key is None:
        failing.append(("tokenGrantKyc", body, "TOKEN_HAS_NO_KYC_KEY"))
    network.submit_failing(failing, payer=token.treasury)


_FREEZE, _UNFREEZE, _GRANT_KYC, _REVOKE_KYC = (
    partial(_change_status, kind=kind, key=key, status=status, value=value)
    for kind, key, status, value in (
        ("tokenFreeze", "freeze_key", "frozen", True),
        ("tokenUnfreeze", "freeze_key", "frozen", False),
        ("tokenGrantKyc", "kyc_key", "kyc_granted", True),
        ("tokenRevokeKyc", "kyc_key", "kyc_granted", False),
    )
)


ACTIONS = weighted(
    *((1, update), (0, change_treasury, change_fees, pause), (1, partial(_set_paused, paused=False))),
    (0, delete, change_invalid),
)
RELATIONSHIPS = weighted(
    *((3, associate), (0, dissociate, leave_a_deleted_token, _FREEZE)),
    *((1, _UNFREEZE, _GRANT_KYC), (0, _REVOKE_KYC, change_status_invalid)),
)
