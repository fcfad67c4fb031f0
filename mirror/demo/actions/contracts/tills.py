"""Tills: contracts that spend people's allowances (HIP-336, HIP-376) through the token service."""

from typing import TypeVar

from mirror.core.values import entity_id
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.sending import call, find_contract
from mirror.demo.network import Network, both, require, weighted
from mirror.demo.tokens import traders
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Contract
from mirror.demo.world.tokens import Allowance

_Key = TypeVar("_Key", bound=tuple[int, ...])

_GAS = 300_000
_HBARS_SHARE = 0.4
_GRANTED = 3  # an allowance is this many times the amount that is taken first


def take(network: Network) -> None:
    """Take units or hbars of an owner by a till, which is granted an allowance first if it has none."""
    till, taker = both(find_contract(network, "Till"), network.find_person(settled=True))
    require(sending.can_pay(taker, _GAS))
    if network.choose.random() < _HBARS_SHARE:
        _take_hbars(network, till, taker)
    else:
        _take_units(network, till, taker)


def _take_hbars(network: Network, till: Contract, taker: Account) -> None:
    owner = network.person()
    require(owner is not taker and not taker.receiver_signature_required)
    amount = network.choose.randrange(1, owner.balance // 50)
    allowances, key = network.world.tokens.hbar_allowances, (owner.number, till.number)
    if granted := _granted(network, allowances, key, amount):
        _allow(network, key, "cryptoAllowances", {"amount": granted})
    call(network, taker, till, "takeHbars(address,int64)", owner, amount, gas=_GAS)


def _take_units(network: Network, till: Contract, taker: Account) -> None:
    token = traders.token(
        network, lambda token: token.fungible and not token.fees and not token.refusal(taker.number)
    )
    holder, number = traders.holder(network, token, other_than=(taker.number,)), token.number
    require(not token.refusal(holder))
    amount, key = 1 + token.balance(holder) // 50, (holder, till.number, number)
    if granted := _granted(network, network.world.tokens.token_allowances, key, amount):
        _allow(network, key[:2], "tokenAllowances", {"tokenId": number, "amount": granted})
    taken = (entity_id.long_zero(number), network.world.accounts[holder], amount)
    call(network, taker, till, "takeUnits(address,address,uint256)", *taken, gas=_GAS)


def _granted(network: Network, allowances: dict[_Key, Allowance], key: _Key, amount: int) -> int:
    """Grant an allowance if there is none that is large enough; return how much, else 0."""
    if key in allowances and allowances[key].amount >= amount:
        return 0
    granted = amount * _GRANTED
    allowances[key] = Allowance(granted, granted, network.now)
    return granted


def _allow(network: Network, parties: tuple[int, int], kind: str, allowance: dict[str, int]) -> None:
    owner, spender = parties
    body = {kind: [{"owner": owner, "spender": spender, **allowance}]}
    network.submit("cryptoApproveAllowance", body, payer=owner)


ACTIONS = weighted((1, take))
