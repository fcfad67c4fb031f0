"""Allowances (HIP-336): of hbars, of units and of serials: granting, spending and revoking them."""

from typing import Any

from mirror.demo.actions.tokens import traders
from mirror.demo.actions.tokens.moving import Transfers
from mirror.demo.actions.tokens.transfers import find_receiver, transfer
from mirror.demo.network import Network, pair, require, weighted
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.messages import amounts
from mirror.demo.world.tokens import Allowance, AllowanceForAll, Token

_REVOKED = 0.12  # share of approvals that revoke an allowance
_IMPLIED = 0.3  # share of approvals that leave out the owner, who pays
_MAX_ALLOWED = 200  # of a kind; when there are more, one is revoked
_MISTAKEN = 0.06  # share of the uses that take more than allowed


# GRANTING
def approve_hbars(network: Network) -> None:
    """Allow another account to spend hbars, or no longer."""
    allowances = network.world.tokens.hbar_allowances
    owner = traders.trader(network)
    spender = traders.trader(network, other_than=(owner,))
    amount = network.choose.randrange(1, 500) * HBAR
    if network.choose.random() < _REVOKED:
        amount = 0
    if len(allowances) >= _MAX_ALLOWED:
        (owner, spender), amount = network.choose.choice(list(allowances)), 0
        require(traders.can_pay(network, owner))
    allowances[owner, spender] = Allowance(amount, amount, network.now)
    body = _parties(network, owner, spender) | {"amount": amount}
    network.submit("cryptoApproveAllowance", {"cryptoAllowances": [body]}, payer=owner)


def approve_units(network: Network) -> None:
    """Allow another account to spend units of a token, or no longer; sometimes hbars as well."""
    token = traders.token(network, lambda token: token.fungible)
    owner = traders.holder(network, token)
    spender = traders.trader(network, other_than=(owner,))
    at, tokens = network.now, network.world.tokens
    amount = max(1, token.balance(owner) // network.choose.randrange(1, 60))
    if network.choose.random() < _REVOKED:
        amount = 0
    if len(tokens.token_allowances) >= _MAX_ALLOWED:
        owner, spender, number = network.choose.choice(list(tokens.token_allowances))
        token, amount = tokens.issued[number], 0
        require(not token.deleted and owner in token.relationships and traders.can_pay(network, owner))
    failure = "TOKEN_IS_PAUSED" if token.paused else None
    network.avoid_failure(failure)
    parties = _parties(network, owner, spender)
    body = {"tokenAllowances": [parties | {"tokenId": token.number, "amount": amount}]}
    if network.choose.random() < 0.15:
        body["cryptoAllowances"] = [parties | {"amount": 10 * HBAR}]
    if not failure:
        tokens.token_allowances[owner, spender, token.number] = Allowance(amount, amount, at)
        if "cryptoAllowances" in body:
            tokens.hbar_allowances[owner, spender] = Allowance(10 * HBAR, 10 * HBAR, at)
    network.submit("cryptoApproveAllowance", body, payer=owner, result=failure)


def approve_serials(network: Network) -> None:
    _approve_serials(network, *_owner_of_serials(network))


def _owner_of_serials(network: Network) -> tuple[Token, int, int]:
    """Return a token, a holder of its serials, and another account."""
    token = traders.token(network, lambda token: not token.fungible and token.supply and not token.paused)
    owner = traders.holder(network, token)
    return token, owner, traders.trader(network, other_than=(owner,))


def approve_serials_for_another(network: Network) -> None:
    """Let the spender of all serials of an owner allow a third account to spend some."""
    tokens = network.world.tokens
    owner, delegating, number = network.pick(tokens.all_serials_allowed())
    token = tokens.issued[number]
    spender = traders.trader(network, other_than=(owner, delegating))
    usable = not token.deleted and not token.paused and token.balance(owner)
    require(usable and traders.can_pay(network, delegating))
    _approve_serials(network, token, owner, spender, delegating=delegating)


def _approve_serials(
    network: Network, token: Token, owner: int, spender: int, delegating: int | None = None
) -> None:
    owned = token.owned(owner)
    numbers = network.choose.sample(owned, min(len(owned), network.choose.randint(1, 3)))
    for number in numbers:
        serial = token.serials[number]
        serial.spender, serial.delegating_spender, serial.modified = spender, delegating, network.now
    body: dict[str, Any] = {"owner": owner, "spender": spender, "delegating_spender": delegating}
    if not delegating:
        body = _parties(network, owner, spender)
    body |= {"tokenId": token.number, "serial_numbers": numbers}
    network.submit("cryptoApproveAllowance", {"nftAllowances": [body]}, payer=delegating or owner)


def approve_all_serials(network: Network) -> None:
    """Allow another account to spend all serials of a token, or no longer."""
    token, owner, spender = _owner_of_serials(network)
    tokens, approved = network.world.tokens, True
    in_force = tokens.all_serials_allowed()
    if in_force and network.choose.random() < 0.3:
        owner, spender, number = network.choose.choice(in_force)
        token, approved = tokens.issued[number], False
        require(not token.deleted and not token.paused and owner in token.relationships)
        require(traders.can_pay(network, owner))
    tokens.nft_allowances[owner, spender, token.number] = AllowanceForAll(approved, network.now)
    body = _parties(network, owner, spender) | {"tokenId": token.number, "approved_for_all": approved}
    network.submit("cryptoApproveAllowance", {"nftAllowances": [body]}, payer=owner)


def revoke_serials(network: Network) -> None:
    """Delete the allowances of all serials that an owner has of a token."""
    token = traders.token(
        network, lambda token: not token.paused and any(serial.spender for serial in token.serials.values())
    )
    owners = {serial.owner: None for serial in token.serials.values() if serial.owner and serial.spender}
    owner = traders.one_of(network, owners)
    numbers = [number for number in token.owned(owner) if token.serials[number].spender]
    for number in numbers:
        token.serials[number].move(owner, network.now)
    body: dict[str, Any] = {"token_id": token.number, "serial_numbers": numbers}
    if network.choose.random() >= _IMPLIED:
        body["owner"] = owner
    network.submit("cryptoDeleteAllowance", {"nftAllowances": [body]}, payer=owner)


def _parties(network: Network, owner: int, spender: int) -> dict[str, Any]:
    if network.choose.random() < _IMPLIED:
        return {"spender": spender}
    return {"owner": owner, "spender": spender}


# SPENDING
def spend_hbars(network: Network) -> None:
    """Spend hbars by an allowance, sometimes more than allowed."""
    allowances = network.world.tokens.hbar_allowances
    owner, spender = network.pick([key for key, allowance in allowances.items() if allowance.amount])
    require(traders.can_pay(network, spender) and traders.can_pay(network, owner))
    allowance = allowances[owner, spender]
    max_amount = min(allowance.amount, network.world.accounts[owner].balance // 4)
    amount, failure = network.choose.randint(1, max_amount), None
    if network.choose.random() < _MISTAKEN:
        amount, failure = allowance.amount + HBAR, "AMOUNT_EXCEEDS_ALLOWANCE"
    else:
        allowance.amount -= amount
    _spend_hbars(network, owner, spender, amount, failure)


def spend_units(network: Network) -> None:
    """Spend units by an allowance, sometimes for another account or more than allowed."""
    tokens = network.world.tokens
    usable = [key for key, allowance in tokens.token_allowances.items() if allowance.amount]
    owner, spender, number = network.pick(usable)
    token, allowance = tokens.issued[number], tokens.token_allowances[owner, spender, number]
    max_amount = min(allowance.amount, token.balance(owner))
    # Custom fees would be taken from the allowance as well, which is not simulated.
    require(max_amount and traders.can_pay(network, spender) and (not token.fees or owner == token.treasury))
    receiver = spender if network.choose.random() < 0.7 else find_receiver(network, token, owner)
    transfers, amount = Transfers(network), network.choose.randint(1, max_amount)
    fails_by = None
    if network.choose.random() < _MISTAKEN:
        amount, fails_by = allowance.amount + 1, "AMOUNT_EXCEEDS_ALLOWANCE"
    transfers.move(token, owner, receiver or spender, amount)
    transfer(network, transfers, payer=spender, approved=True, fails_by=fails_by)
    if transfers.settled:
        allowance.amount -= amount


def spend_serial(network: Network) -> None:
    """Spend a serial by an allowance for that serial, or for all."""
    token = traders.token(network, lambda token: not token.fungible and token.supply)
    possible = [
        (number, serial.owner, serial.spender)
        for number, serial in token.serials.items()
        if serial.spender and serial.owner
    ]
    for owner, spender, allowed in network.world.tokens.all_serials_allowed():
        if allowed == token.number:
            possible += [(number, owner, spender) for number in token.owned(owner)[:1]]
    number, owner, spender = network.pick(possible)
    require(traders.can_pay(network, spender))
    transfers = Transfers(network)
    transfers.move(token, owner, spender, number)
    transfer(network, transfers, payer=spender, approved=True)


def spend_invalid(network: Network) -> None:
    owner = traders.trader(network)
    spender = traders.trader(network, other_than=(owner,))
    require((owner, spender) not in network.world.tokens.hbar_allowances)
    _spend_hbars(network, owner, spender, HBAR, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def _spend_hbars(network: Network, owner: int, spender: int, amount: int, failure: str | None) -> None:
    moved = {owner: -amount, spender: amount}
    body = {"transfers": {"accountAmounts": amounts(moved, approved=True)}}
    network.submit("cryptoTransfer", body, payer=spender, transfers=moved, result=failure)


def approve_invalid(network: Network) -> None:
    """Approve an allowance for the owner itself, or of a token that the owner is not associated with."""
    owner, token = pair(
        traders.find_trader(network), traders.find_token(network, lambda token: token.fungible)
    )
    spender, failure = owner, "SPENDER_ACCOUNT_SAME_AS_OWNER"
    if owner not in token.relationships:
        spender, failure = token.treasury, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    body = {"owner": owner, "spender": spender, "tokenId": token.number, "amount": 100}
    network.submit("cryptoApproveAllowance", {"tokenAllowances": [body]}, payer=owner, result=failure)


ACTIONS = weighted(
    (1, approve_hbars, approve_units, approve_serials),
    (0, approve_all_serials, approve_serials_for_another, revoke_serials),
    (1, spend_hbars, spend_units, spend_serial),
    (0, spend_invalid, approve_invalid),
)
