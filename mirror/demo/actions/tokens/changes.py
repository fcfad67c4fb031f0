"""Tokens themselves: changing, pausing and deleting them, their fees and their treasury."""

from typing import Any

from ledger.stream.record.compose import account, timestamp
from mirror.demo.actions.refusals import Refused, refuses, submit_one
from mirror.demo.actions.tokens.issuing import KEY_FIELDS, YEAR, deletable, key_for, may_last
from mirror.demo.network import Action, Network
from mirror.demo.tokens import fees as token_fees
from mirror.demo.tokens import recipes, traders
from mirror.demo.tokens.messages import ALL_SERIALS, association, custom_fee, serials, token_id, units
from mirror.demo.tokens.transfers import begin_relationship, can_associate
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD
from mirror.demo.world.tokens import Token
from mirror.values.hapi import Key, KeyList
from mirror.values.timestamp import NANOS_PER_SECOND

_FEWEST_LIVING = 10
_SERIES = ("new", "Series A", "Series B", "limited", "classic", "2025")
# Statuses depend on the other keys: those stay when they are once given.
_REMOVABLE = ("admin_key", "fee_schedule_key", "metadata_key", "supply_key", "wipe_key")


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
    called, _, _ = token.name.partition(" (")
    columns: dict[str, Any] = {"name": f"{called} ({network.choose.choice(_SERIES)})"}
    if network.choose.random() < 0.1:
        columns["symbol"] = f"{token.symbol.removesuffix('.N')}.N"
    return columns, dict(columns)


def _change_memo(network: Network, token: Token) -> _Change:
    memo = network.choose.choice(("", "Reviewed", "See our site for terms", f"Edition {network.now % 100}"))
    return {"memo": memo}, {"memo": {"value": memo}}


def _change_metadata(network: Network, token: Token) -> _Change:
    metadata = recipes.content_address(network.choose).encode()
    if network.choose.random() < 0.2:
        metadata = b""
    return {"metadata": metadata}, {"metadata": {"value": metadata}}


def _renew(network: Network, token: Token) -> _Change:
    if network.choose.random() < 0.5:
        expiration = ((token.expiration or network.now) // NANOS_PER_SECOND + YEAR) * NANOS_PER_SECOND
        return {"expiration": expiration}, {"expiry": timestamp(expiration)}
    period = network.choose.choice((AUTO_RENEW_PERIOD, 8_000_000))
    network.world.bound.add(token.treasury)
    columns = {"auto_renew_account": token.treasury, "auto_renew_period": period}
    return columns, {"autoRenewAccount": account(token.treasury), "autoRenewPeriod": {"seconds": period}}


def _change_key(network: Network, token: Token) -> _Change:
    """A new key, or none any more (HIP-540), where there was one."""
    given = [key for key in KEY_FIELDS if getattr(token, key)]
    name = network.choose.choice(given)
    stays = name == "admin_key" and not may_last(network)
    if name in _REMOVABLE and not stays and network.choose.random() < 0.15:
        return {name: None}, {KEY_FIELDS[name]: Key(keyList=KeyList())}
    key = key_for(network, token, name)
    return {name: key}, {KEY_FIELDS[name]: Key.FromString(key)}


def change_treasury(network: Network) -> bool:
    """A token gets another treasury, to which goes whatever the old one holds of it."""
    changed = traders.token(network, lambda one: deletable(one) and not one.paused)
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
    deleted = traders.token(network, lambda one: deletable(one) and not one.paused)
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
    number: dict[str, Any] = {"token": token_id(token.number)}
    refused: list[Refused] = []
    if token.admin_key is None:
        refused.append(("tokenUpdate", number | {"name": f"{token.name} Plus"}, "TOKEN_IS_IMMUTABLE"))
        refused.append(("tokenDeletion", number, "TOKEN_IS_IMMUTABLE"))
    if token.pause_key is None:
        refused.append(("token_pause", number, "TOKEN_HAS_NO_PAUSE_KEY"))
    return submit_one(network, refused, payer=token.treasury)


ACTIONS = (
    Action(update, 1),
    Action(change_treasury, 0),
    Action(change_fees, 0),
    Action(pause, 0),
    Action(unpause, 1),
    Action(delete, 0),
    Action(change_in_vain, 0),
)
