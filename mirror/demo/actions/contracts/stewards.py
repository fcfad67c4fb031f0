"""Stewards: contracts that hold, issue and give away tokens, and call each service of the network."""

from collections.abc import Callable
from functools import partial

from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions import schedules
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.sending import Function, call, use
from mirror.demo.evm import system_contracts
from mirror.demo.evm.run import place
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.streams.record_files import FEE_COLLECTOR
from mirror.demo.tokens import traders
from mirror.demo.tokens.transfers import can_associate
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import Contract
from mirror.demo.world.tokens import Token

_GAS, _DEAR_GAS = 300_000, 2_500_000
_MOST_ISSUED, _MOST_DROPS = 3, 10
_MARGIN = HBAR  # what is left over of a fee is returned
_NAMES = (("Steward's Mark", "MARK"), ("Pantry Voucher", "PNTR"), ("Cellar Share", "CLLR"))


def steward(network: Network) -> None:
    """Use a steward in one of several ways."""
    uses = (_join, _deposit, _withdraw, _issue, _drop, _remind, _quote, _draw)
    use(network, "Steward", uses, (3, 5, 4, 1, 3, 1, 2, 1))


def _sender(network: Network, gas: int, value: int = 0) -> Account:
    sender = network.find_person(settled=True)
    if sender is None or not sending.can_pay(sender, gas, value):
        raise NotPossible
    return sender


def _join(network: Network, contract: Contract) -> None:
    """Associate with a token that it may hold."""
    sender = _sender(network, _DEAR_GAS)
    token = _token(network, lambda token: _is_plain(token) and contract.number not in token.relationships)
    call(network, sender, contract, Function("join(address)", _DEAR_GAS), entity_id.long_zero(token.number))


def _deposit(network: Network, contract: Contract) -> None:
    """Give it units of a token."""
    token = _token(network, lambda token: _keeps(token, contract))
    holder = traders.holder(network, token, other_than=(contract.number,))
    sender = network.world.accounts[holder]
    if token.refusal(holder) or sender.is_contract or not sending.can_pay(sender, _GAS):
        raise NotPossible
    amount = 1 + token.balance(holder) // 40
    arguments = (entity_id.long_zero(token.number), amount)
    call(network, sender, contract, Function("deposit(address,int64)", _GAS), *arguments)


def _withdraw(network: Network, contract: Contract) -> None:
    """Take units back, by the functions of ERC-20; sometimes more than there are."""
    token = _token(network, lambda token: _keeps(token, contract) and token.balance(contract.number))
    holders = [number for number in token.relationships if not token.refusal(number)]
    taker = network.world.accounts[traders.one_of(network, holders)]
    if taker.is_contract or taker.receiver_signature_required or not sending.can_pay(taker, _GAS):
        raise NotPossible
    held = token.balance(contract.number)
    amount = held + 1 if network.choose.random() < 0.1 else 1 + held // 3
    arguments = (entity_id.long_zero(token.number), amount)
    call(network, taker, contract, Function("withdraw(address,uint256)", _GAS), *arguments)


def _issue(network: Network, contract: Contract) -> None:
    """Have it create a token, whose treasury it is."""
    tokens = network.world.tokens.issued.values()
    issued = [token for token in tokens if token.treasury == contract.number]
    if len(issued) >= _MOST_ISSUED:
        raise NotPossible
    here = place(network)
    fee = system_contracts.creation_fee(here.rate, here.gas_price) + _MARGIN
    sender = _sender(network, _DEAR_GAS, fee)
    name, symbol = _NAMES[len(issued) % len(_NAMES)]
    supply = network.choose.randrange(10, 900) * 100_000
    # The fees of system contracts have this collector, also where transactions have another one.
    collector = network.world.accounts[FEE_COLLECTOR]
    function = Function("issue(string,string,int64)", _DEAR_GAS)
    call(network, sender, contract, function, name, symbol, supply, value=fee, around=(collector,))


def _drop(network: Network, contract: Contract) -> None:
    """Have it airdrop units: to an account that takes them, or that may claim them later."""
    sender = _sender(network, _DEAR_GAS)
    token = _token(network, lambda token: _keeps(token, contract) and token.balance(contract.number) > 50)
    receiver = network.find_person(settled=True)
    if receiver is None or receiver.receiver_signature_required:
        raise NotPossible
    if receiver.number in token.relationships:
        refused: object = token.refusal(receiver.number)
    else:
        is_full = len(network.world.tokens.pending()) >= _MOST_DROPS
        refused = can_associate(network, receiver.number) or is_full
    if refused:
        raise NotPossible
    amount = 1 + token.balance(contract.number) // 50
    arguments = (entity_id.long_zero(token.number), receiver.address, amount)
    call(network, sender, contract, Function("drop(address,address,int64)", _DEAR_GAS), *arguments)


def _remind(network: Network, contract: Contract) -> None:
    """Have it schedule a call that is never signed."""
    sender, payer = both(_sender(network, _DEAR_GAS), network.find_person(settled=True))
    second = network.now // NANOS_PER_SECOND + network.choose.randrange(600, 7_200)
    number = network.world.next_number
    arguments = (payer.address, second)
    result = call(network, sender, contract, Function("remind(address,uint256)", _DEAR_GAS), *arguments)
    if result is not None and result.result == "SUCCESS":
        network.at(second * NANOS_PER_SECOND, partial(schedules.end, number=number))


def _quote(network: Network, contract: Contract) -> None:
    tinycents = network.choose.randrange(1, 10**12)
    call(network, _sender(network, _GAS), contract, Function("quote(uint256)", _GAS), tinycents)


def _draw(network: Network, contract: Contract) -> None:
    call(network, _sender(network, _GAS), contract, Function("draw()", _GAS))


def _token(network: Network, fits: Callable[[Token], object]) -> Token:
    """Return a token that fits, also one that the steward has issued. Errors: NotPossible."""
    tokens = [token for token in network.world.tokens.living() if fits(token)]
    return network.pick(tokens)


def _is_plain(token: Token) -> bool:
    """Return whether each associated account can move a token, without fees."""
    guarded = token.freeze_default or token.kyc_key or token.fees
    return token.fungible and not guarded and not token.paused


def _keeps(token: Token, contract: Contract) -> bool:
    return _is_plain(token) and not token.refusal(contract.number)


ACTIONS = weighted((2, steward))
