"""Token relationships: associating, dissociating, freezing, and granting KYC."""

from functools import partial

from mirror.demo.network import Action, Network, Refused, both, require, weighted
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import begin_relationship
from mirror.demo.world.messages import units
from mirror.demo.world.tokens import Token


def associate(network: Network) -> None:
    """Associate an account with a token or two."""
    holder = traders.trader(network)
    possible = list(network.world.tokens.living())
    tokens = network.choose.sample(possible, min(len(possible), network.choose.choice((1, 1, 2))))
    refusal = None
    if any(holder in token.relationships for token in tokens):
        refusal = "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"
    elif any(token.paused for token in tokens):
        refusal = "TOKEN_IS_PAUSED"
    require(tokens)
    network.give_up_if(refusal)
    if not refusal:
        for token in tokens:
            begin_relationship(network, token, holder)
    body = {"account": holder, "tokens": [token.number for token in tokens]}
    network.submit("tokenAssociate", body, payer=holder, result=refusal)


def dissociate(network: Network) -> None:
    """Dissociate an account from a token."""
    token = traders.token(network, lambda token: len(token.relationships) > 1)
    empty = [
        number
        for number, relationship in token.relationships.items()
        if not relationship.balance and number != token.treasury
    ]
    holder = traders.one_of(network, empty or token.relationships)
    refusal = _refusal_to_dissociate(token, holder)
    network.give_up_if(refusal)
    _dissociate(network, token, holder, refusal)


def leave_a_deleted_token(network: Network) -> None:
    """Dissociate an account from a deleted token, which ends what the account held of it."""
    issued = network.world.tokens.issued.values()
    token = network.pick([token for token in issued if token.deleted and token.relationships])
    holder = traders.one_of(network, token.relationships)
    require(not token.relationships[holder].frozen)
    _dissociate(network, token, holder, None)


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


def _dissociate(network: Network, token: Token, holder: int, refusal: str | None) -> None:
    moved = []
    if not refusal and (amount := network.world.tokens.dissociate(token, holder, network.now)):
        moved.append(units(token.number, {holder: -amount}))
    body, record = {"account": holder, "tokens": [token.number]}, {"tokenTransferLists": moved}
    network.submit("tokenDissociate", body, payer=holder, record=record, result=refusal)


def _change_status(network: Network, kind: str, key: str, status: str, value: bool) -> None:
    """Freeze or unfreeze an account for a token, or grant or revoke its KYC."""
    token = traders.token(network, lambda token: getattr(token, key))
    others = [
        number
        for number, relationship in token.relationships.items()
        if getattr(relationship, status) is not value and number != token.treasury
    ]
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    require(others)
    network.give_up_if(refusal)
    holder = network.choose.choice(others)
    if not refusal:
        setattr(token.relationships[holder], status, value)
    body = {"token": token.number, "account": holder}
    network.submit(kind, body, payer=token.treasury, result=refusal)


def change_in_vain(network: Network) -> None:
    """Change a status that the token does not have, or of an account that is not associated."""
    token, other = both(traders.find_token(network), traders.find_trader(network))
    body = {"token": token.number, "account": other}
    refused: list[Refused] = []
    if token.freeze_key is None:
        refused.append(("tokenFreeze", body, "TOKEN_HAS_NO_FREEZE_KEY"))
    elif other not in token.relationships:
        refused.append(("tokenUnfreeze", body, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"))
    if token.kyc_key is None:
        refused.append(("tokenGrantKyc", body, "TOKEN_HAS_NO_KYC_KEY"))
    network.submit_refused(refused, payer=token.treasury)


_FREEZE, _UNFREEZE, _GRANT_KYC, _REVOKE_KYC = (
    partial(_change_status, kind=kind, key=key, status=status, value=value)
    for kind, key, status, value in (
        ("tokenFreeze", "freeze_key", "frozen", True),
        ("tokenUnfreeze", "freeze_key", "frozen", False),
        ("tokenGrantKyc", "kyc_key", "kyc_granted", True),
        ("tokenRevokeKyc", "kyc_key", "kyc_granted", False),
    )
)
ACTIONS: tuple[Action, ...] = weighted(
    *((3, associate), (0, dissociate, leave_a_deleted_token, _FREEZE)),
    *((1, _UNFREEZE, _GRANT_KYC), (0, _REVOKE_KYC, change_in_vain)),
)
