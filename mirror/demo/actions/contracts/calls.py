"""Calls of other contracts than coins: collectibles, counters, lockers; and calls that fail."""

from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.deploying import COIN_UNIT
from mirror.demo.actions.contracts.sending import (
    ContractCall,
    Function,
    call,
    find_contract,
    find_ethereum_sender,
    find_payee,
    use,
)
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.contracts import Contract

# A contract that holds this many is no longer called, and another one is deployed.
_MOST_COLLECTED, _MOST_LOCKERS = 150, 100
_REASONS = ("Out of stock", "Closed on Sundays", "Table is taken", "Sold out")


def use_collectible(network: Network) -> None:
    """Mint, transfer or approve collectibles."""
    use(network, "Collectible", (_collect, _hand_over, _steal, _appoint), (6, 5, 1, 1))


def use_counter(network: Network) -> None:
    """Count, reset a counter, or read it."""
    use(network, "Counter", (_count, _reset, _look_around), (12, 2, 1))


def use_factory(network: Network) -> None:
    """Make a locker, or pay from one."""
    use(network, "Factory", (_make_locker, _pay_from_locker), (1, 3))


def fail(network: Network) -> None:
    """Call a function that fails on purpose."""
    use(network, "Faults", (_fault,), (1,))


def pay_by_ethereum(network: Network) -> None:
    """Pay hbars by an Ethereum transaction."""
    sender, receiver = both(find_ethereum_sender(network), find_payee(network))
    value = 1 + int(sender.balance * network.choose.random() ** 4 / 40)
    gas = network.choose.choice((21_000, 30_000))
    sending.by_ethereum(network, ContractCall(sender, receiver, b"", gas, value))


def come_out_of_order(network: Network) -> None:
    """Send an Ethereum transaction with a wrong nonce."""
    sender, coin = both(find_ethereum_sender(network), find_contract(network, "Coin"))
    data = call_data("transfer(address,uint256)", sender.address, COIN_UNIT)
    sending.out_of_order(network, sender, network.world.accounts[coin.number], data)


def overdraw_by_ethereum(network: Network) -> None:
    """Send an Ethereum transaction of more hbars than the sender has."""
    sending.beyond_means(network, *both(find_ethereum_sender(network), find_payee(network)))


# COLLECTIBLES
def _collect(network: Network, art: Contract) -> None:
    sender = network.person()
    result = call(network, sender, art, Function("mint(address)", 120_000), sender.address)
    if result and result.result == "SUCCESS":
        art.parties.append(sender.number)
    if len(art.parties) >= _MOST_COLLECTED:
        network.world.contracts.leave(art)


def _hand_over(network: Network, art: Contract) -> None:
    """Transfer a collectible, or approve an account that transfers it."""
    if not art.parties:
        raise NotPossible
    place = network.choose.randrange(len(art.parties))
    holder, receiver = network.world.accounts.get(art.parties[place]), network.person()
    if holder is None or holder.deleted or holder is receiver:
        raise NotPossible
    sender = holder
    if network.choose.random() < 0.3:
        call(network, holder, art, Function("approve(address,uint256)", 80_000), receiver.address, place + 1)
        sender = receiver
    moved = (holder.address, receiver.address, place + 1)
    name = network.choose.choice(("transferFrom", "safeTransferFrom"))
    result = call(network, sender, art, Function(f"{name}(address,address,uint256)", 140_000), *moved)
    if result and result.result == "SUCCESS":
        art.parties[place] = receiver.number


def _steal(network: Network, art: Contract) -> None:
    """Approve a collectible of another account, or one that does not exist."""
    sender = network.person()
    number = network.choose.randrange(1, len(art.parties) + 3)
    call(network, sender, art, Function("approve(address,uint256)", 90_000), sender.address, number)


def _appoint(network: Network, art: Contract) -> None:
    sender, operator = both(network.find_person(), network.find_person(at_least=0))
    appointed = network.choose.random() < 0.7
    call(
        network, sender, art, Function("setApprovalForAll(address,bool)", 80_000), operator.address, appointed
    )


# COUNTERS
def _count(network: Network, counter: Contract) -> None:
    sender = network.person()
    if network.choose.random() < 0.5:
        call(network, sender, counter, Function("increment()", 90_000))
    else:
        amount = network.choose.choice((0, 1, 2, 3, 5, 8, 13, 21, 34))
        call(network, sender, counter, Function("add(uint256)", 90_000), amount)


def _reset(network: Network, counter: Contract) -> None:
    """Reset a counter as its owner, or as another account."""
    owner = None if counter.owner is None else network.world.accounts[counter.owner]
    sender = owner if network.choose.random() < 0.5 else network.find_person()
    if sender is None or sender.deleted:
        raise NotPossible
    call(network, sender, counter, Function("reset()", 60_000))


def _look_around(network: Network, counter: Contract) -> None:
    sender = network.person()
    call(network, sender, counter, Function(network.choose.choice(("place()", "count()")), 30_000))


# LOCKERS
def _make_locker(network: Network, factory: Contract) -> None:
    """Make a locker, mostly with money in it, or two."""
    sender = network.person(at_least=500 * HBAR)
    money = network.choose.randrange(1, 40) * HBAR
    match network.choose.randrange(5):
        case 0:
            result = call(network, sender, factory, Function("makeMany(uint256)", 1_200_000), 2)
        case 1 | 2:
            salt = network.choose.getrandbits(256).to_bytes(32, "big")
            result = call(network, sender, factory, Function("makeAt(bytes32)", 500_000), salt, value=money)
        case _:
            result = call(network, sender, factory, Function("make()", 500_000), value=money)
    if result:
        factory.parties += [sender.number] * len(result.created)
    if len(factory.parties) >= _MOST_LOCKERS:
        network.world.contracts.leave(factory)


def _pay_from_locker(network: Network, factory: Contract) -> None:
    """Unlock a locker or pay from it, which fails while it is locked."""
    if not factory.parties:
        raise NotPossible
    label = network.choose.randrange(len(factory.parties))
    holder, receiver = network.world.accounts.get(factory.parties[label]), find_payee(network)
    if receiver is None or holder is None or holder.deleted:
        raise NotPossible
    if network.choose.random() < 0.3:
        call(network, holder, factory, Function("unlock(uint256)", 120_000), label)
        return
    amount = network.choose.randrange(1, HBAR)
    name = network.choose.choice(("pay", "pay", "tryToPay"))
    function, arguments = Function(f"{name}(uint256,address,uint256)", 150_000), (receiver.address, amount)
    call(network, holder, factory, function, label, *arguments, around=(receiver,))


# FAILURES
def _fault(network: Network, faults: Contract) -> None:
    sender, choose = network.person(), network.choose
    signature, arguments = choose.choice(
        (
            ("reason(string)", (choose.choice(_REASONS),)),
            ("custom(uint256,string)", (choose.randrange(500), choose.choice(_REASONS))),
            ("silent()", ()),
            ("failAssertion()", ()),
            ("overflow(uint256)", (choose.randrange(1, 9),)),
            ("divide(uint256,uint256)", (choose.randrange(1, 9), 0)),
            ("element(uint256)", (choose.randrange(9),)),
            ("invalid()", ()),
            ("exhaust()", ()),
            ("undone(uint256)", (choose.randrange(1, 1_000),)),
        )
    )
    call(network, sender, faults, Function(signature, 50_000), *arguments)


ACTIONS = weighted(
    *((2, use_collectible, use_counter), (1, use_factory), (0, fail), (2, pay_by_ethereum)),
    (0, come_out_of_order, overdraw_by_ethereum),
)
