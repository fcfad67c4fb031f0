"""Tills: contracts that spend people's allowances (HIP-336, HIP-376) through the token service."""

from typing import Any

from mirror.core.values import entity_id
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.sending import Function, call, find_contract
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.tokens import traders
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Contract
from mirror.demo.world.messages import token_id
from mirror.demo.world.tokens import Allowance

_GAS = 300_000
_HBARS_SHARE = 0.4
_GRANTED = 3  # an allowance is this many times the amount that is taken first


def take(network: Network) -> None:
    """Take units or hbars of an owner by a till, which is granted an allowance first if it has none."""
    till, taker = both(find_contract(network, "Till"), network.find_person(settled=True))
    if not sending.can_pay(taker, _GAS):
        raise NotPossible
    if network.choose.random() < _HBARS_SHARE:
        _take_hbars(network, till, taker)
    else:
        _take_units(network, till, taker)


def _take_hbars(network: Network, till: Contract, taker: Account) -> None:
    owner = network.person()
    if owner is taker or taker.receiver_signature_required:
        raise NotPossible
    amount = network.choose.randrange(1, owner.balance // 50)
    allowances = network.world.tokens.hbar_allowances
    allowance = allowances.get((owner.number, till.number))
    if allowance is None or allowance.amount < amount:
        granted = amount * _GRANTED
        allowances[owner.number, till.number] = Allowance(granted, granted, network.now)
        _allow(network, owner, till, {"cryptoAllowances": [{"amount": granted}]})
    call(network, taker, till, Function("takeHbars(address,int64)", _GAS), owner.address, amount)


def _take_units(network: Network, till: Contract, taker: Account) -> None:
    token = traders.token(
        network, lambda token: token.fungible and not token.fees and not token.refusal(taker.number)
    )
    holder = traders.holder(network, token, other_than=(taker.number,))
    if token.refusal(holder):
        raise NotPossible
    owner, amount = network.world.accounts[holder], 1 + token.balance(holder) // 50
    allowances, key = network.world.tokens.token_allowances, (holder, till.number, token.number)
    allowance = allowances.get(key)
    if allowance is None or allowance.amount < amount:
        granted = amount * _GRANTED
        allowances[key] = Allowance(granted, granted, network.now)
        allowed = {"tokenId": token_id(token.number), "amount": granted}
        _allow(network, owner, till, {"tokenAllowances": [allowed]})
    token_address = entity_id.long_zero(token.number)
    arguments = (token_address, owner.address, amount)
    call(network, taker, till, Function("takeUnits(address,address,uint256)", _GAS), *arguments)


def _allow(network: Network, owner: Account, till: Contract, body: dict[str, list[dict[str, Any]]]) -> None:
    """Let the owner allow the till to spend."""
    parties = {"owner": account(owner.number), "spender": account(till.number)}
    complete = {name: [parties | each for each in allowed] for name, allowed in body.items()}
    network.submit("cryptoApproveAllowance", complete, payer=owner.number)


ACTIONS = weighted((1, take))
