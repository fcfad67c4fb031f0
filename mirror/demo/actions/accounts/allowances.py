"""Allowances (HIP-336): of hbars, of units and of serials; granting, using and revoking them."""

from typing import Any

from ledger.stream.record.compose import account
from mirror.demo.actions.refusals import refuses
from mirror.demo.actions.tokens.transfers import receiver_of, transfer
from mirror.demo.network import Action, Network
from mirror.demo.tokens import traders
from mirror.demo.tokens.messages import token_id
from mirror.demo.tokens.transfers import Transfers
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.tokens import Allowance, AllowanceForAll, Token
from mirror.values.hapi import AccountAmount, TransferList

_REVOKED = 0.12  # how often an allowance granted anew is one of nothing
_IMPLIED = 0.3  # how often the owner goes without saying, as it pays
_MOST_ALLOWED = 200  # of a kind; when there are more, one is revoked


# GRANTING
def allow_hbars(network: Network) -> bool:
    """Somebody may take hbars of somebody else's, or no longer."""
    allowances = network.world.tokens.hbar_allowances
    owner = traders.trader(network)
    spender = traders.trader(network, other_than=(owner,)) if owner else None
    if owner is None or spender is None:
        return False
    amount = network.choose.randrange(1, 500) * HBAR
    if _revokes(network):
        amount = 0
    if len(allowances) >= _MOST_ALLOWED:
        (owner, spender), amount = network.choose.choice(list(allowances)), 0
        if not traders.able(network, owner):
            return False
    allowances[owner, spender] = Allowance(amount, amount, network.now)
    body = _parties(network, owner, spender) | {"amount": amount}
    network.submit("cryptoApproveAllowance", {"cryptoAllowances": [body]}, payer=owner)
    return True


def allow_units(network: Network) -> bool:
    """Somebody may take units of a token of somebody else's, or no longer; at times hbars with them."""
    token = traders.token(network, lambda one: one.fungible)
    owner = traders.holder(network, token) if token else None
    spender = traders.trader(network, other_than=(owner,)) if owner else None
    if token is None or owner is None or spender is None:
        return False
    at, allowances = network.now, network.world.tokens
    amount = max(1, token.balance(owner) // network.choose.randrange(1, 60))
    if _revokes(network):
        amount = 0
    if len(allowances.token_allowances) >= _MOST_ALLOWED:
        owner, spender, number = network.choose.choice(list(allowances.token_allowances))
        token, amount = allowances.issued[number], 0
        if token.deleted or owner not in token.relationships or not traders.able(network, owner):
            return False
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    if refuses(network, refusal):
        return False
    parties = _parties(network, owner, spender)
    allowance = parties | {"tokenId": token_id(token.number), "amount": amount}
    body = {"tokenAllowances": [allowance]}
    if network.choose.random() < 0.15:
        body["cryptoAllowances"] = [parties | {"amount": 10 * HBAR}]
    if not refusal:
        allowances.token_allowances[owner, spender, token.number] = Allowance(amount, amount, at)
        if "cryptoAllowances" in body:
            allowances.hbar_allowances[owner, spender] = Allowance(10 * HBAR, 10 * HBAR, at)
    network.submit("cryptoApproveAllowance", body, payer=owner, result=refusal or "SUCCESS")
    return True


def allow_serials(network: Network) -> bool:
    """Somebody may take some serials of somebody else's."""
    found = _owner_of_serials(network)
    return found is not None and _allow_serials(network, *found)


def _owner_of_serials(network: Network) -> tuple[Token, int, int] | None:
    """A token, somebody with serials of it, and somebody else."""
    token = traders.token(network, lambda one: not one.fungible and one.supply and not one.paused)
    owner = traders.holder(network, token) if token else None
    spender = traders.trader(network, other_than=(owner,)) if owner else None
    return None if token is None or owner is None or spender is None else (token, owner, spender)


def allow_serials_for_another(network: Network) -> bool:
    """Who may take all serials of somebody lets a third one take some."""
    allowed = [key for key, allowance in network.world.tokens.nft_allowances.items() if allowance.approved]
    if not allowed:
        return False
    owner, delegating, number = network.choose.choice(allowed)
    token = network.world.tokens.issued[number]
    spender = traders.trader(network, other_than=(owner, delegating))
    if spender is None or token.deleted or token.paused or not token.balance(owner):
        return False
    if not traders.able(network, delegating):
        return False
    return _allow_serials(network, token, owner, spender, delegating=delegating)


def _allow_serials(
    network: Network, token: Token, owner: int, spender: int, delegating: int | None = None
) -> bool:
    owned = token.owned(owner)
    allowed = network.choose.sample(owned, min(len(owned), network.choose.randint(1, 3)))
    for number in allowed:
        serial = token.serials[number]
        serial.spender, serial.delegating_spender, serial.modified = spender, delegating, network.now
    body = {"owner": account(owner), "spender": account(spender)} if delegating else {}
    body = body or _parties(network, owner, spender)
    body |= {"tokenId": token_id(token.number), "serial_numbers": allowed}
    if delegating:
        body["delegating_spender"] = account(delegating)
    network.submit("cryptoApproveAllowance", {"nftAllowances": [body]}, payer=delegating or owner)
    return True


def allow_all_serials(network: Network) -> bool:
    """Somebody may take all serials of a token of somebody else's, or no longer."""
    found = _owner_of_serials(network)
    if found is None:
        return False
    token, owner, spender = found
    allowances, approved = network.world.tokens.nft_allowances, True
    given = [key for key, allowance in allowances.items() if allowance.approved]
    if given and network.choose.random() < 0.3:
        owner, spender, number = network.choose.choice(given)
        token, approved = network.world.tokens.issued[number], False
        if token.deleted or token.paused or owner not in token.relationships:
            return False
        if not traders.able(network, owner):
            return False
    allowances[owner, spender, token.number] = AllowanceForAll(approved, network.now)
    body = _parties(network, owner, spender)
    body |= {"tokenId": token_id(token.number), "approved_for_all": {"value": approved}}
    network.submit("cryptoApproveAllowance", {"nftAllowances": [body]}, payer=owner)
    return True


def take_serials_back(network: Network) -> bool:
    """An owner lets nobody else take serials any more."""
    token = traders.token(
        network, lambda one: not one.paused and any(serial.spender for serial in one.serials.values())
    )
    if token is None:
        return False
    owners = {serial.owner: None for serial in token.serials.values() if serial.owner and serial.spender}
    owner = traders.one_of(network, owners)
    if owner is None:
        return False
    taken = [number for number in token.owned(owner) if token.serials[number].spender]
    for number in taken:
        token.serials[number].move(owner, network.now)
    body: dict[str, Any] = {"token_id": token_id(token.number), "serial_numbers": taken}
    if network.choose.random() >= _IMPLIED:
        body["owner"] = account(owner)
    network.submit("cryptoDeleteAllowance", {"nftAllowances": [body]}, payer=owner)
    return True


def _revokes(network: Network) -> bool:
    return network.choose.random() < _REVOKED


def _parties(network: Network, owner: int, spender: int) -> dict[str, Any]:
    if network.choose.random() < _IMPLIED:
        return {"spender": account(spender)}
    return {"owner": account(owner), "spender": account(spender)}


# USING
def take_hbars(network: Network) -> bool:
    """Somebody takes hbars by an allowance, at times more than allowed."""
    usable = [key for key, left in network.world.tokens.hbar_allowances.items() if left.amount]
    if not usable:
        return False
    owner, spender = network.choose.choice(usable)
    if not traders.able(network, spender) or not traders.able(network, owner):
        return False
    allowance = network.world.tokens.hbar_allowances[owner, spender]
    most = min(allowance.amount, network.world.accounts[owner].balance // 4)
    amount, refusal = network.choose.randint(1, most), None
    if network.choose.random() < 0.06:
        amount, refusal = allowance.amount + HBAR, "AMOUNT_EXCEEDS_ALLOWANCE"
    else:
        allowance.amount -= amount
    _take_hbars(network, owner, spender, amount, refusal)
    return True


def take_units(network: Network) -> bool:
    """Somebody takes units by an allowance, for somebody else at times, at times more than allowed."""
    usable = [key for key, left in network.world.tokens.token_allowances.items() if left.amount]
    if not usable:
        return False
    owner, spender, number = network.choose.choice(usable)
    token = network.world.tokens.issued[number]
    allowance = network.world.tokens.token_allowances[owner, spender, number]
    most = min(allowance.amount, token.balance(owner))
    # What fees would take of an allowance is nobody's business here.
    if not most or not traders.able(network, spender) or (token.fees and owner != token.treasury):
        return False
    receiver = spender if network.choose.random() < 0.7 else receiver_of(network, token, owner)
    transfers, amount = Transfers(network), network.choose.randint(1, most)
    fails_by = None
    if network.choose.random() < 0.06:
        amount, fails_by = allowance.amount + 1, "AMOUNT_EXCEEDS_ALLOWANCE"
    transfers.move(token, owner, receiver or spender, amount)
    happened = transfer(network, transfers, payer=spender, approved=True, fails_by=fails_by)
    if happened and transfers.settled:
        allowance.amount -= amount
    return happened


def take_a_serial(network: Network) -> bool:
    """Somebody takes a serial by an allowance: of that serial, or of all."""
    allowances = network.world.tokens.nft_allowances
    token = traders.token(network, lambda one: not one.fungible and one.supply)
    if token is None:
        return False
    takers = [
        (number, serial.owner, serial.spender)
        for number, serial in token.serials.items()
        if serial.spender and serial.owner
    ]
    for (owner, spender, allowed), allowance in allowances.items():
        if allowed == token.number and allowance.approved:
            takers += [(number, owner, spender) for number in token.owned(owner)[:1]]
    if not takers:
        return False
    number, owner, spender = network.choose.choice(takers)
    if not traders.able(network, spender):
        return False
    transfers = Transfers(network)
    transfers.hand_over(token, number, owner, spender)
    return transfer(network, transfers, payer=spender, approved=True)


def take_in_vain(network: Network) -> bool:
    """Somebody takes what nobody allowed."""
    owner = traders.trader(network)
    spender = traders.trader(network, other_than=(owner,)) if owner else None
    if owner is None or spender is None or (owner, spender) in network.world.tokens.hbar_allowances:
        return False
    _take_hbars(network, owner, spender, HBAR, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")
    return True


def _take_hbars(network: Network, owner: int, spender: int, amount: int, refusal: str | None) -> None:
    debit = AccountAmount(accountID=account(owner), amount=-amount, is_approval=True)
    credit = AccountAmount(accountID=account(spender), amount=amount)
    network.submit(
        "cryptoTransfer",
        {"transfers": TransferList(accountAmounts=[debit, credit])},
        payer=spender,
        transfers={owner: -amount, spender: amount},
        result=refusal or "SUCCESS",
    )


def allow_in_vain(network: Network) -> bool:
    """Somebody allows itself, or what it has nothing to do with."""
    owner, token = traders.trader(network), traders.token(network, lambda one: one.fungible)
    if owner is None or token is None:
        return False
    spender, refusal = owner, "SPENDER_ACCOUNT_SAME_AS_OWNER"
    if owner not in token.relationships:
        spender, refusal = token.treasury, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    body = {"owner": account(owner), "spender": account(spender), "tokenId": token_id(token.number)}
    allowance = {"tokenAllowances": [body | {"amount": 100}]}
    network.submit("cryptoApproveAllowance", allowance, payer=owner, result=refusal)
    return True


ACTIONS = (
    Action(allow_hbars, 1),
    Action(allow_units, 1),
    Action(allow_serials, 1),
    Action(allow_all_serials, 0),
    Action(allow_serials_for_another, 0),
    Action(take_serials_back, 0),
    Action(take_hbars, 1),
    Action(take_units, 1),
    Action(take_a_serial, 1),
    Action(take_in_vain, 0),
    Action(allow_in_vain, 0),
)
