"""Allowances (HIP-336): of hbars, of units and of serials: granting, spending and revoking them."""

from typing import Any

from mirror.core.values.hapi.messages import AccountAmount, TransferList
from mirror.demo.actions.tokens.transfers import find_receiver, transfer
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import Transfers
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.messages import token_id
from mirror.demo.world.tokens import Allowance, AllowanceForAll, Token

_REVOKED = 0.12  # share of approvals that revoke an allowance
_IMPLIED = 0.3  # share of approvals that leave out the owner, who pays
_MOST_ALLOWED = 200  # of a kind; when there are more, one is revoked


# GRANTING
def allow_hbars(network: Network) -> None:
    """Allow another account to spend hbars, or no longer."""
    allowances = network.world.tokens.hbar_allowances
    owner = traders.trader(network)
    spender = traders.trader(network, other_than=(owner,))
    amount = network.choose.randrange(1, 500) * HBAR
    if _revokes(network):
        amount = 0
    if len(allowances) >= _MOST_ALLOWED:
        (owner, spender), amount = network.choose.choice(list(allowances)), 0
        if not traders.able(network, owner):
            raise NotPossible
    allowances[owner, spender] = Allowance(amount, amount, network.now)
    body = _parties(network, owner, spender) | {"amount": amount}
    network.submit("cryptoApproveAllowance", {"cryptoAllowances": [body]}, payer=owner)


def allow_units(network: Network) -> None:
    """Allow another account to spend units of a token, or no longer; sometimes hbars as well."""
    token = traders.token(network, lambda token: token.fungible)
    owner = traders.holder(network, token)
    spender = traders.trader(network, other_than=(owner,))
    at, tokens = network.now, network.world.tokens
    amount = max(1, token.balance(owner) // network.choose.randrange(1, 60))
    if _revokes(network):
        amount = 0
    if len(tokens.token_allowances) >= _MOST_ALLOWED:
        owner, spender, number = network.choose.choice(list(tokens.token_allowances))
        token, amount = tokens.issued[number], 0
        if token.deleted or owner not in token.relationships or not traders.able(network, owner):
            raise NotPossible
    refusal = "TOKEN_IS_PAUSED" if token.paused else None
    network.give_up_if(refusal)
    parties = _parties(network, owner, spender)
    body = {"tokenAllowances": [parties | {"tokenId": token_id(token.number), "amount": amount}]}
    if network.choose.random() < 0.15:
        body["cryptoAllowances"] = [parties | {"amount": 10 * HBAR}]
    if not refusal:
        tokens.token_allowances[owner, spender, token.number] = Allowance(amount, amount, at)
        if "cryptoAllowances" in body:
            tokens.hbar_allowances[owner, spender] = Allowance(10 * HBAR, 10 * HBAR, at)
    network.submit("cryptoApproveAllowance", body, payer=owner, result=refusal)


def allow_serials(network: Network) -> None:
    """Allow another account to spend some serials."""
    _allow_serials(network, *_owner_of_serials(network))


def _owner_of_serials(network: Network) -> tuple[Token, int, int]:
    """Return a token, a holder of its serials, and another account."""
    token = traders.token(network, lambda token: not token.fungible and token.supply and not token.paused)
    owner = traders.holder(network, token)
    return token, owner, traders.trader(network, other_than=(owner,))


def allow_serials_for_another(network: Network) -> None:
    """Let the spender of all serials of an owner allow a third account to spend some."""
    tokens = network.world.tokens
    approved = [key for key, allowance in tokens.nft_allowances.items() if allowance.approved]
    owner, delegating, number = network.pick(approved)
    token = tokens.issued[number]
    spender = traders.trader(network, other_than=(owner, delegating))
    if token.deleted or token.paused or not token.balance(owner) or not traders.able(network, delegating):
        raise NotPossible
    _allow_serials(network, token, owner, spender, delegating=delegating)


def _allow_serials(
    network: Network, token: Token, owner: int, spender: int, delegating: int | None = None
) -> None:
    owned = token.owned(owner)
    numbers = network.choose.sample(owned, min(len(owned), network.choose.randint(1, 3)))
    for number in numbers:
        serial = token.serials[number]
        serial.spender, serial.delegating_spender, serial.modified = spender, delegating, network.now
    if delegating:
        body = {"owner": account(owner), "spender": account(spender)}
        body["delegating_spender"] = account(delegating)
    else:
        body = _parties(network, owner, spender)
    body |= {"tokenId": token_id(token.number), "serial_numbers": numbers}
    network.submit("cryptoApproveAllowance", {"nftAllowances": [body]}, payer=delegating or owner)


def allow_all_serials(network: Network) -> None:
    """Allow another account to spend all serials of a token, or no longer."""
    token, owner, spender = _owner_of_serials(network)
    allowances, approved = network.world.tokens.nft_allowances, True
    in_force = [key for key, allowance in allowances.items() if allowance.approved]
    if in_force and network.choose.random() < 0.3:
        owner, spender, number = network.choose.choice(in_force)
        token, approved = network.world.tokens.issued[number], False
        if token.deleted or token.paused or owner not in token.relationships:
            raise NotPossible
        if not traders.able(network, owner):
            raise NotPossible
    allowances[owner, spender, token.number] = AllowanceForAll(approved, network.now)
    body = _parties(network, owner, spender)
    body |= {"tokenId": token_id(token.number), "approved_for_all": {"value": approved}}
    network.submit("cryptoApproveAllowance", {"nftAllowances": [body]}, payer=owner)


def take_serials_back(network: Network) -> None:
    """Delete the allowances of all serials that an owner has of a token."""
    token = traders.token(
        network, lambda token: not token.paused and any(serial.spender for serial in token.serials.values())
    )
    owners = {serial.owner: None for serial in token.serials.values() if serial.owner and serial.spender}
    owner = traders.one_of(network, owners)
    numbers = [number for number in token.owned(owner) if token.serials[number].spender]
    for number in numbers:
        token.serials[number].move(owner, network.now)
    body: dict[str, Any] = {"token_id": token_id(token.number), "serial_numbers": numbers}
    if network.choose.random() >= _IMPLIED:
        body["owner"] = account(owner)
    network.submit("cryptoDeleteAllowance", {"nftAllowances": [body]}, payer=owner)


def _revokes(network: Network) -> bool:
    return network.choose.random() < _REVOKED


def _parties(network: Network, owner: int, spender: int) -> dict[str, Any]:
    if network.choose.random() < _IMPLIED:
        return {"spender": account(spender)}
    return {"owner": account(owner), "spender": account(spender)}


# SPENDING
def take_hbars(network: Network) -> None:
    """Spend hbars by an allowance, sometimes more than allowed."""
    allowances = network.world.tokens.hbar_allowances
    usable = [key for key, allowance in allowances.items() if allowance.amount]
    owner, spender = network.pick(usable)
    if not traders.able(network, spender) or not traders.able(network, owner):
        raise NotPossible
    allowance = allowances[owner, spender]
    most = min(allowance.amount, network.world.accounts[owner].balance // 4)
    amount, refusal = network.choose.randint(1, most), None
    if network.choose.random() < 0.06:
        amount, refusal = allowance.amount + HBAR, "AMOUNT_EXCEEDS_ALLOWANCE"
    else:
        allowance.amount -= amount
    _take_hbars(network, owner, spender, amount, refusal)


def take_units(network: Network) -> None:
    """Spend units by an allowance, sometimes for another account or more than allowed."""
    tokens = network.world.tokens
    usable = [key for key, allowance in tokens.token_allowances.items() if allowance.amount]
    owner, spender, number = network.pick(usable)
    token, allowance = tokens.issued[number], tokens.token_allowances[owner, spender, number]
    most = min(allowance.amount, token.balance(owner))
    # Custom fees would be taken from the allowance as well, which is not simulated.
    if not most or not traders.able(network, spender) or (token.fees and owner != token.treasury):
        raise NotPossible
    receiver = spender if network.choose.random() < 0.7 else find_receiver(network, token, owner)
    transfers, amount = Transfers(network), network.choose.randint(1, most)
    fails_by = None
    if network.choose.random() < 0.06:
        amount, fails_by = allowance.amount + 1, "AMOUNT_EXCEEDS_ALLOWANCE"
    transfers.move(token, owner, receiver or spender, amount)
    transfer(network, transfers, payer=spender, approved=True, fails_by=fails_by)
    if transfers.settled:
        allowance.amount -= amount


def take_a_serial(network: Network) -> None:
    """Spend a serial by an allowance for that serial, or for all."""
    token = traders.token(network, lambda token: not token.fungible and token.supply)
    possible = [
        (number, serial.owner, serial.spender)
        for number, serial in token.serials.items()
        if serial.spender and serial.owner
    ]
    for (owner, spender, allowed), allowance in network.world.tokens.nft_allowances.items():
        if allowed == token.number and allowance.approved:
            possible += [(number, owner, spender) for number in token.owned(owner)[:1]]
    number, owner, spender = network.pick(possible)
    if not traders.able(network, spender):
        raise NotPossible
    transfers = Transfers(network)
    transfers.hand_over(token, number, owner, spender)
    transfer(network, transfers, payer=spender, approved=True)


def take_in_vain(network: Network) -> None:
    """Spend hbars without an allowance."""
    owner = traders.trader(network)
    spender = traders.trader(network, other_than=(owner,))
    if (owner, spender) in network.world.tokens.hbar_allowances:
        raise NotPossible
    _take_hbars(network, owner, spender, HBAR, "SPENDER_DOES_NOT_HAVE_ALLOWANCE")


def _take_hbars(network: Network, owner: int, spender: int, amount: int, refusal: str | None) -> None:
    debit = AccountAmount(accountID=account(owner), amount=-amount, is_approval=True)
    credit = AccountAmount(accountID=account(spender), amount=amount)
    network.submit(
        "cryptoTransfer",
        {"transfers": TransferList(accountAmounts=[debit, credit])},
        payer=spender,
        transfers={owner: -amount, spender: amount},
        result=refusal,
    )


def allow_in_vain(network: Network) -> None:
    """Approve an allowance for the owner itself, or of a token that the owner is not associated with."""
    owner, token = both(
        traders.find_trader(network), traders.find_token(network, lambda token: token.fungible)
    )
    spender, refusal = owner, "SPENDER_ACCOUNT_SAME_AS_OWNER"
    if owner not in token.relationships:
        spender, refusal = token.treasury, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    body = {"owner": account(owner), "spender": account(spender), "tokenId": token_id(token.number)}
    allowance = {"tokenAllowances": [body | {"amount": 100}]}
    network.submit("cryptoApproveAllowance", allowance, payer=owner, result=refusal)


ACTIONS = weighted(
    (1, allow_hbars, allow_units, allow_serials),
    (0, allow_all_serials, allow_serials_for_another, take_serials_back),
    (1, take_hbars, take_units, take_a_serial),
    (0, take_in_vain, allow_in_vain),
)
