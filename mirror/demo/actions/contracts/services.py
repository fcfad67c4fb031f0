"""Tills, which spend allowances (HIP-336, HIP-376), and stewards, which use each service of the network."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions import schedules
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.sending import call, uses
from mirror.demo.actions.tokens import traders
from mirror.demo.actions.tokens.moving import can_associate
from mirror.demo.evm.system_contracts import creation_fee
from mirror.demo.network import Network, pair, require, required, weighted
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import Contract
from mirror.demo.world.tokens import Allowance, Token

_Key = TypeVar("_Key", bound=tuple[int, ...])

_HBARS_SHARE = 0.4
_GRANTED = 3  # an allowance is this many times the amount that is taken first
_GAS, _DEAR_GAS = 300_000, 2_500_000
_MAX_ISSUED, _MAX_DROPS = 3, 10
_MARGIN = HBAR  # what is left over of a fee is returned
_NAMES = (("Steward's Mark", "MARK"), ("Pantry Voucher", "PNTR"), ("Cellar Share", "CLLR"))


# TILLS
def use_till(network: Network) -> None:
    """Take units or hbars of an owner by a till, which is granted an allowance first if it has none."""
    till, recipient = pair(
        network.find(network.world.contracts.all("Till")), network.find_person(settled=True)
    )
    require(sending.can_pay(recipient, _GAS))
    if network.choose.random() < _HBARS_SHARE:
        _take_hbars(network, till, recipient)
    else:
        _take_units(network, till, recipient)


def _take_hbars(network: Network, till: Contract, recipient: Account) -> None:
    owner = network.person()
    require(owner is not recipient and not recipient.receiver_signature_required)
    amount = network.choose.randrange(1, owner.balance // 50)
    allowances, key = network.world.tokens.hbar_allowances, (owner.number, till.number)
    if granted := _granted(network, allowances, key, amount):
        _approve(network, key, "cryptoAllowances", {"amount": granted})
    call(network, recipient, till, "takeHbars(address,int64)", owner, amount, gas=_GAS)


def _take_units(network: Network, till: Contract, recipient: Account) -> None:
    token = traders.token(
        network, lambda token: token.fungible and not token.fees and not token.failure(recipient.number)
    )
    holder, number = traders.holder(network, token, other_than=(recipient.number,)), token.number
    require(not token.failure(holder))
    amount, key = 1 + token.balance(holder) // 50, (holder, till.number, number)
    if granted := _granted(network, network.world.tokens.token_allowances, key, amount):
        _approve(network, key[:2], "tokenAllowances", {"tokenId": number, "amount": granted})
    taken = (entity_id.long_zero(number), network.world.accounts[holder], amount)
    call(network, recipient, till, "takeUnits(address,address,uint256)", *taken, gas=_GAS)


def _granted(network: Network, allowances: dict[_Key, Allowance], key: _Key, amount: int) -> int:
    """Grant an allowance if there is none that is large enough; return how much, else 0."""
    if key in allowances and allowances[key].amount >= amount:
        return 0
    granted = amount * _GRANTED
    allowances[key] = Allowance(granted, granted, network.now)
    return granted


def _approve(network: Network, parties: tuple[int, int], kind: str, allowance: dict[str, int]) -> None:
    owner, spender = parties
    body = {kind: [{"owner": owner, "spender": spender, **allowance}]}
    network.submit("cryptoApproveAllowance", body, payer=owner)


# STEWARDS
def _sender(network: Network, gas: int, value: int = 0) -> Account:
    sender = required(network.find_person(settled=True))
    require(sending.can_pay(sender, gas, value))
    return sender


def _join(network: Network, contract: Contract) -> None:
    """Associate with a token that it may hold."""
    sender = _sender(network, _DEAR_GAS)
    token = _token(network, lambda token: _is_plain(token) and contract.number not in token.relationships)
    call(network, sender, contract, "join(address)", entity_id.long_zero(token.number), gas=_DEAR_GAS)


def _deposit(network: Network, contract: Contract) -> None:
    token = _token(network, lambda token: _keeps(token, contract))
    holder = traders.holder(network, token, other_than=(contract.number,))
    sender = network.world.accounts[holder]
    require(not token.failure(holder) and not sender.is_contract and sending.can_pay(sender, _GAS))
    deposited = (entity_id.long_zero(token.number), 1 + token.balance(holder) // 40)
    call(network, sender, contract, "deposit(address,int64)", *deposited, gas=_GAS)


def _withdraw(network: Network, contract: Contract) -> None:
    """Take units back, by the functions of ERC-20; sometimes more than there are."""
    token = _token(network, lambda token: _keeps(token, contract) and token.balance(contract.number))
    holders = [number for number in token.relationships if not token.failure(number)]
    recipient = network.world.accounts[traders.one_of(network, holders)]
    require(not recipient.is_contract and not recipient.receiver_signature_required)
    require(sending.can_pay(recipient, _GAS))
    balance = token.balance(contract.number)
    amount = balance + 1 if network.choose.random() < 0.1 else 1 + balance // 3
    withdrawn = (entity_id.long_zero(token.number), amount)
    call(network, recipient, contract, "withdraw(address,uint256)", *withdrawn, gas=_GAS)


def _issue(network: Network, contract: Contract) -> None:
    """Have it create a token, whose treasury it is."""
    tokens = network.world.tokens.issued.values()
    issued = [token for token in tokens if token.treasury == contract.number]
    require(len(issued) < _MAX_ISSUED)
    fee = creation_fee(network.world) + _MARGIN
    sender = _sender(network, _DEAR_GAS, fee)
    token = (*_NAMES[len(issued) % len(_NAMES)], network.choose.randrange(10, 900) * 100_000)
    call(network, sender, contract, "issue(string,string,int64)", *token, gas=_DEAR_GAS, value=fee)


def _drop(network: Network, contract: Contract) -> None:
    """Have it airdrop units: to an account that takes them, or that may claim them later."""
    sender = _sender(network, _DEAR_GAS)
    token = _token(network, lambda token: _keeps(token, contract) and token.balance(contract.number) > 50)
    receiver = required(network.find_person(settled=True))
    require(not receiver.receiver_signature_required)
    if receiver.number in token.relationships:
        require(not token.failure(receiver.number))
    else:
        require(not can_associate(network, receiver.number))
        require(len(network.world.tokens.pending()) < _MAX_DROPS)
    amount = 1 + token.balance(contract.number) // 50
    dropped = (entity_id.long_zero(token.number), receiver, amount)
    call(network, sender, contract, "drop(address,address,int64)", *dropped, gas=_DEAR_GAS)


def _remind(network: Network, contract: Contract) -> None:
    """Have it schedule a call that is never signed."""
    sender, payer = pair(_sender(network, _DEAR_GAS), network.find_person(settled=True))
    second = network.now // NANOS_PER_SECOND + network.choose.randrange(600, 7_200)
    number, signature = network.world.next_number, "remind(address,uint256)"
    result = call(network, sender, contract, signature, payer, second, gas=_DEAR_GAS)
    if result is not None and result.result == "SUCCESS":
        network.call_at(second * NANOS_PER_SECOND, partial(schedules.end, number=number))


def _quote(network: Network, contract: Contract) -> None:
    tinycents = network.choose.randrange(1, 10**12)
    call(network, _sender(network, _GAS), contract, "quote(uint256)", tinycents, gas=_GAS)


def _draw(network: Network, contract: Contract) -> None:
    call(network, _sender(network, _GAS), contract, "draw()", gas=_GAS)


def _token(network: Network, fits: Callable[[Token], object]) -> Token:
    """Return a token that fits, also one that the steward has issued. Errors: NotPossible."""
    return network.pick([token for token in network.world.tokens.living() if fits(token)])


def _is_plain(token: Token) -> bool:
    """Return whether each associated account can move a token, without fees."""
    guarded = token.freeze_default or token.kyc_key or token.fees
    return token.fungible and not guarded and not token.paused


def _keeps(token: Token, contract: Contract) -> bool:
    return _is_plain(token) and not token.failure(contract.number)


_WAYS: dict[str, tuple[int, Callable[[Network, Contract], None]]] = {
    "join": (3, _join),
    "deposit": (5, _deposit),
    "withdraw": (4, _withdraw),
    "issue": (1, _issue),
    "drop": (3, _drop),
    "remind": (1, _remind),
    "quote": (2, _quote),
    "draw": (1, _draw),
}


def _use_steward(network: Network, contract: Contract, way: str) -> None:
    _WAYS[way][1](network, contract)


STEWARD = uses(2, "Steward", _use_steward, {way: weight for way, (weight, _) in _WAYS.items()})
ACTIONS = (*weighted((1, use_till)), STEWARD)
