"""Changes of tokens: their properties, keys, treasury and fees; pausing and deleting them."""

from typing import Any

from mirror.core.values.hapi.messages import Key, KeyList
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions.tokens.issuing import YEAR, deletable, key_for, may_last
from mirror.demo.network import Network, NotPossible, Refused, weighted
from mirror.demo.streams.record_files import account, timestamp
from mirror.demo.tokens import fees as token_fees
from mirror.demo.tokens import recipes, traders
from mirror.demo.tokens.recipes import KEY_FIELDS
from mirror.demo.tokens.transfers import begin_relationship, can_associate
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD
from mirror.demo.world.messages import ALL_SERIALS, association, custom_fee, serials, token_id, units
from mirror.demo.world.tokens import Token

_FEWEST_LIVING = 10
_SERIES = ("new", "Series A", "Series B", "limited", "classic", "2025")
# The other keys stay: the statuses of relationships depend on them.
_REMOVABLE = ("admin_key", "fee_schedule_key", "metadata_key", "supply_key", "wipe_key")


# UPDATE
def update(network: Network) -> None:
    """Change how a token describes itself, its renewal, or one of its keys."""
    token = traders.token(network, lambda token: token.admin_key)
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    network.give_up_if(refusal)
    change = network.choose.choice((_rename, _change_memo, _change_metadata, _renew, _change_key))
    attributes, fields = change(network, token)
    if not refusal:
        for name, value in attributes.items():
            setattr(token, name, value)
        token.modified = network.now
    body = {"token": token_id(token.number)} | fields
    network.submit("tokenUpdate", body, payer=token.treasury, result=refusal)


_Change = tuple[dict[str, Any], dict[str, Any]]  # attributes of Token, fields of the body


def _rename(network: Network, token: Token) -> _Change:
    name, _, _ = token.name.partition(" (")
    attributes: dict[str, Any] = {"name": f"{name} ({network.choose.choice(_SERIES)})"}
    if network.choose.random() < 0.1:
        attributes["symbol"] = f"{token.symbol.removesuffix('.N')}.N"
    return attributes, dict(attributes)


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
    attributes = {"auto_renew_account": token.treasury, "auto_renew_period": period}
    return attributes, {"autoRenewAccount": account(token.treasury), "autoRenewPeriod": {"seconds": period}}


def _change_key(network: Network, token: Token) -> _Change:
    """Replace a key that the token has, or remove it (HIP-540)."""
    name = network.choose.choice([key for key in KEY_FIELDS if getattr(token, key)])
    stays = name == "admin_key" and not may_last(network)
    if name in _REMOVABLE and not stays and network.choose.random() < 0.15:
        return {name: None}, {KEY_FIELDS[name]: Key(keyList=KeyList())}
    key = key_for(network, token, name)
    return {name: key}, {KEY_FIELDS[name]: Key.FromString(key)}


def change_treasury(network: Network) -> None:
    """Give a token another treasury, which gets all that the old one holds of it."""
    token = traders.token(network, lambda token: deletable(token) and not token.paused)
    successor = traders.trader(network, other_than=(token.treasury,))
    if not _may_succeed(network, token, successor):
        raise NotPossible
    at, predecessor, number = network.now, token.treasury, token.number
    associated = []
    if successor not in token.relationships:
        begin_relationship(network, token, successor, automatic=True)
        associated.append(association(successor, number))
    moved = []
    if amount := token.balance(predecessor):
        token.relationships[predecessor].receive(-amount, at)
        token.relationships[successor].receive(amount, at)
        if token.fungible:
            moved.append(units(number, {predecessor: -amount, successor: amount}))
        else:
            moved.append(serials(number, [(ALL_SERIALS, predecessor, successor)]))
            for serial in token.owned(predecessor):
                token.serials[serial].move(successor, at)
    token.treasury, token.modified = successor, at
    network.world.bound.add(successor)
    network.submit(
        "tokenUpdate",
        {"token": token_id(number), "treasury": account(successor)},
        payer=predecessor,
        record={"tokenTransferLists": moved, "automatic_token_associations": associated},
    )


def _may_succeed(network: Network, token: Token, successor: int) -> bool:
    if token.refusal(token.treasury):
        return False
    if successor in token.relationships:
        return token.refusal(successor) is None and (token.fungible or not token.balance(successor))
    return can_associate(network, successor) and not token.kyc_key and not token.freeze_default


def change_fees(network: Network) -> None:
    """Replace the custom fees of a token, sometimes by none."""
    token = traders.token(network, lambda token: token.fee_schedule_key and not token.is_currency)
    kinds = network.choose.sample(token_fees.kinds_of(token), network.choose.choice((0, 1, 1, 2)))
    if any(kind.startswith("fractional") for kind in kinds):
        kinds = kinds[:1]
    fees = token_fees.choose(network, token, tuple(kinds))
    refusal = None if fees or token.fees else "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES"
    if token.paused:
        refusal = "TOKEN_IS_PAUSED"
    network.give_up_if(refusal)
    if not refusal:
        token.fees, token.fees_since = fees, network.now
        network.world.bound.update(fee.collector for fee in fees)
    body = {
        "token_id": token_id(token.number),
        "custom_fees": [custom_fee(fee, token.number) for fee in fees],
    }
    network.submit("token_fee_schedule_update", body, payer=token.treasury, result=refusal)


# PAUSE, DELETE
def pause(network: Network) -> None:
    """Pause a token, unless another one is paused."""
    if any(token.paused for token in network.world.tokens.living()):
        raise NotPossible
    _set_paused(network, True)


def unpause(network: Network) -> None:
    """Unpause a token."""
    _set_paused(network, False)


def _set_paused(network: Network, paused: bool) -> None:
    token = traders.token(network, lambda token: token.pause_key and token.paused is not paused)
    token.paused, token.modified = paused, network.now
    body = {"token": token_id(token.number)}
    network.submit("token_pause" if paused else "token_unpause", body, payer=token.treasury)


def delete(network: Network) -> None:
    """Delete a token. Its holders can still dissociate from it."""
    living = list(network.world.tokens.living())
    token = traders.token(network, lambda token: deletable(token) and not token.paused)
    if len(living) <= _FEWEST_LIVING:
        raise NotPossible
    token.deleted, token.modified = True, network.now
    network.submit("tokenDeletion", {"token": token_id(token.number)}, payer=token.treasury)


def change_in_vain(network: Network) -> None:
    """Change, delete or pause a token that has no key for it."""
    token = traders.token(network)
    body: dict[str, Any] = {"token": token_id(token.number)}
    refused: list[Refused] = []
    if token.admin_key is None:
        refused.append(("tokenUpdate", body | {"name": f"{token.name} Plus"}, "TOKEN_IS_IMMUTABLE"))
        refused.append(("tokenDeletion", body, "TOKEN_IS_IMMUTABLE"))
    if token.pause_key is None:
        refused.append(("token_pause", body, "TOKEN_HAS_NO_PAUSE_KEY"))
    network.submit_refused(refused, payer=token.treasury)


ACTIONS = weighted(
    *((1, update), (0, change_treasury, change_fees, pause), (1, unpause)), (0, delete, change_in_vain)
)
