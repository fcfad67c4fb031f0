"""Accounts and tokens: associating, dissociating, freezing, and knowing one's customer."""

from ledger.stream.record.compose import account
from mirror.demo.actions.refusals import Refused, refuses, submit_one
from mirror.demo.network import Action, Network
from mirror.demo.tokens import traders
from mirror.demo.tokens.messages import token_id, units
from mirror.demo.tokens.transfers import begin_relationship
from mirror.demo.world.tokens import Token


def associate(network: Network) -> bool:
    """Somebody associates with a token, or two."""
    holder = traders.trader(network)
    if holder is None:
        return False
    possible = list(network.world.tokens.living())
    tokens = network.choose.sample(possible, min(len(possible), network.choose.choice((1, 1, 2))))
    refusal = None
    if any(holder in token.relationships for token in tokens):
        refusal = "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"
    elif any(token.paused for token in tokens):
        refusal = "TOKEN_IS_PAUSED"
    if not tokens or refuses(network, refusal):
        return False
    if not refusal:
        for token in tokens:
            begin_relationship(network, token, holder)
    network.submit(
        "tokenAssociate",
        {"account": account(holder), "tokens": [token_id(token.number) for token in tokens]},
        payer=holder,
        result=refusal or "SUCCESS",
    )
    return True


def dissociate(network: Network) -> bool:
    """Somebody gives up a relationship."""
    token = traders.token(network, lambda one: len(one.relationships) > 1)
    if token is None:
        return False
    willing = [of for of, held in token.relationships.items() if not held.balance and of != token.treasury]
    holder = traders.one_of(network, willing or token.relationships)
    if holder is None:
        return False
    refusal = _refusal_to_dissociate(token, holder)
    return not refuses(network, refusal) and _dissociate(network, token, holder, refusal)


def leave_a_deleted_token(network: Network) -> bool:
    """Somebody gives up a relationship with a deleted token; what there was of it is gone with that."""
    deleted = [one for one in network.world.tokens.issued.values() if one.deleted and one.relationships]
    if not deleted:
        return False
    token = network.choose.choice(deleted)
    holder = traders.one_of(network, token.relationships)
    if holder is None or token.relationships[holder].frozen:
        return False
    return _dissociate(network, token, holder, None)


def _refusal_to_dissociate(token: Token, holder: int) -> str | None:
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


def _dissociate(network: Network, token: Token, holder: int, refusal: str | None) -> bool:
    moved = []
    if not refusal and (given_up := network.world.tokens.dissociate(token, holder, network.now)):
        moved.append(units(token.number, {holder: -given_up}))
    network.submit(
        "tokenDissociate",
        {"account": account(holder), "tokens": [token_id(token.number)]},
        payer=holder,
        record={"tokenTransferLists": moved},
        result=refusal or "SUCCESS",
    )
    return True


# STATUSES
def freeze(network: Network) -> bool:
    """Somebody may not move a token for now."""
    return _change_status(network, "tokenFreeze", "freeze_key", "frozen", True)


def unfreeze(network: Network) -> bool:
    """Somebody may move a token again, or for the first time where all begin frozen."""
    return _change_status(network, "tokenUnfreeze", "freeze_key", "frozen", False)


def grant_kyc(network: Network) -> bool:
    """The issuer of a token has come to know somebody."""
    return _change_status(network, "tokenGrantKyc", "kyc_key", "kyc_granted", True)


def revoke_kyc(network: Network) -> bool:
    """The issuer of a token no longer trusts somebody."""
    return _change_status(network, "tokenRevokeKyc", "kyc_key", "kyc_granted", False)


def _change_status(network: Network, kind: str, key: str, status: str, value: bool) -> bool:
    token = traders.token(network, lambda one: getattr(one, key))
    if token is None:
        return False
    others = [
        of
        for of, held in token.relationships.items()
        if getattr(held, status) is not value and of != token.treasury
    ]
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    if not others or refuses(network, refusal):
        return False
    found = network.choose.choice(others)
    if not refusal:
        setattr(token.relationships[found], status, value)
    network.submit(
        kind,
        {"token": token_id(token.number), "account": account(found)},
        payer=token.treasury,
        result=refusal or "SUCCESS",
    )
    return True


def change_in_vain(network: Network) -> bool:
    """Somebody tries to change a status the token doesn't have, or of an account that isn't associated."""
    token, other = traders.token(network), traders.trader(network)
    if token is None or other is None:
        return False
    body = {"token": token_id(token.number), "account": account(other)}
    refused: list[Refused] = []
    if token.freeze_key is None:
        refused.append(("tokenFreeze", body, "TOKEN_HAS_NO_FREEZE_KEY"))
    elif other not in token.relationships:
        refused.append(("tokenUnfreeze", body, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"))
    if token.kyc_key is None:
        refused.append(("tokenGrantKyc", body, "TOKEN_HAS_NO_KYC_KEY"))
    return submit_one(network, refused, payer=token.treasury)


ACTIONS = (
    Action(associate, 3),
    Action(dissociate, 0),
    Action(leave_a_deleted_token, 0),
    Action(freeze, 0),
    Action(unfreeze, 1),
    Action(grant_kyc, 1),
    Action(revoke_kyc, 0),
    Action(change_in_vain, 0),
)
