"""What people do with contracts that are no coins: collectibles, counters, lockers; and what goes wrong."""

from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.deploying import COIN_UNIT
from mirror.demo.actions.contracts.sending import call, ethereum_sender, play, receiver_of_money, some
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Action, Network
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.contracts import Contract

# A contract that holds so much is left alone, and another one deployed.
_MOST_COLLECTED, _MOST_LOCKERS = 150, 100
_REASONS = ("Out of stock", "Closed on Sundays", "Table is taken", "Sold out")


def use_collectible(network: Network) -> bool:
    return play(network, "Collectible", (_collect, _hand_over, _steal, _appoint), (6, 5, 1, 1))


def use_counter(network: Network) -> bool:
    return play(network, "Counter", (_count, _reset, _look_around), (12, 2, 1))


def use_factory(network: Network) -> bool:
    return play(network, "Factory", (_make_locker, _pay_from_locker), (1, 3))


def fail(network: Network) -> bool:
    """Somebody calls what fails on purpose."""
    return play(network, "Faults", (_fault,), (1,))


def pay_by_ethereum(network: Network) -> bool:
    """Somebody pays hbars with a wallet made for Ethereum."""
    sender, receiver = ethereum_sender(network), receiver_of_money(network)
    if sender is None or receiver is None or sender is receiver:
        return False
    value = 1 + int(sender.balance * network.choose.random() ** 4 / 40)
    sending.by_ethereum(
        network, sender, receiver, b"", gas=network.choose.choice((21_000, 30_000)), value=value
    )
    return True


def come_out_of_turn(network: Network) -> bool:
    """Somebody's wallet has lost count of its transactions."""
    sender, coin = ethereum_sender(network), some(network, "Coin")
    if sender is None or coin is None:
        return False
    data = call_data("transfer(address,uint256)", sender.address, COIN_UNIT)
    sending.out_of_turn(network, sender, network.world.accounts[coin.number], data)
    return True


def overdraw_by_ethereum(network: Network) -> bool:
    """Somebody's wallet promises more hbars than there are."""
    sender, receiver = ethereum_sender(network), receiver_of_money(network)
    if sender is None or receiver is None or sender is receiver:
        return False
    sending.beyond_means(network, sender, receiver)
    return True


# COLLECTIBLES
def _collect(network: Network, art: Contract) -> bool:
    sender = network.person()
    if sender is None:
        return False
    result = call(network, sender, art, 120_000, "mint(address)", sender.address)
    if result and result.result == "SUCCESS":
        art.parties.append(sender.number)
    if len(art.parties) >= _MOST_COLLECTED:
        network.world.contracts.leave(art)
    return True


def _hand_over(network: Network, art: Contract) -> bool:
    """The holder of one gives it away, or lets somebody else fetch it."""
    if not art.parties:
        return False
    place = network.choose.randrange(len(art.parties))
    holder, receiver = network.world.accounts.get(art.parties[place]), network.person()
    if receiver is None or holder is None or holder.deleted or holder is receiver:
        return False
    sender = holder
    if network.choose.random() < 0.3:
        call(network, holder, art, 80_000, "approve(address,uint256)", receiver.address, place + 1)
        sender = receiver
    moved = (holder.address, receiver.address, place + 1)
    function = network.choose.choice(("transferFrom", "safeTransferFrom"))
    result = call(network, sender, art, 140_000, f"{function}(address,address,uint256)", *moved)
    if result and result.result == "SUCCESS":
        art.parties[place] = receiver.number
    return True


def _steal(network: Network, art: Contract) -> bool:
    """Somebody asks for what is not theirs, or what there is not."""
    sender = network.person()
    if sender is None:
        return False
    number = network.choose.randrange(1, len(art.parties) + 3)
    call(network, sender, art, 90_000, "approve(address,uint256)", sender.address, number)
    return True


def _appoint(network: Network, art: Contract) -> bool:
    sender, operator = network.person(), network.person(at_least=0)
    if sender is None or operator is None or sender is operator:
        return False
    appointed = network.choose.random() < 0.7
    call(network, sender, art, 80_000, "setApprovalForAll(address,bool)", operator.address, appointed)
    return True


# COUNTERS
def _count(network: Network, counter: Contract) -> bool:
    sender = network.person()
    if sender is None:
        return False
    if network.choose.random() < 0.5:
        call(network, sender, counter, 90_000, "increment()")
    else:
        amount = network.choose.choice((0, 1, 2, 3, 5, 8, 13, 21, 34))
        call(network, sender, counter, 90_000, "add(uint256)", amount)
    return True


def _reset(network: Network, counter: Contract) -> bool:
    """The owner, or somebody who is not, resets a counter."""
    owner = None if counter.owner is None else network.world.accounts[counter.owner]
    sender = owner if network.choose.random() < 0.5 else network.person()
    if sender is None or sender.deleted:
        return False
    call(network, sender, counter, 60_000, "reset()")
    return True


def _look_around(network: Network, counter: Contract) -> bool:
    sender = network.person()
    if sender is None:
        return False
    call(network, sender, counter, 30_000, network.choose.choice(("place()", "count()")))
    return True


# LOCKERS
def _make_locker(network: Network, factory: Contract) -> bool:
    """Somebody gets a locker, mostly with money in it."""
    sender = network.person(at_least=500 * HBAR)
    if sender is None:
        return False
    money = network.choose.randrange(1, 40) * HBAR
    match network.choose.randrange(5):
        case 0:
            result = call(network, sender, factory, 1_200_000, "makeMany(uint256)", 2)
        case 1 | 2:
            salt = network.choose.getrandbits(256).to_bytes(32, "big")
            result = call(network, sender, factory, 500_000, "makeAt(bytes32)", salt, value=money)
        case _:
            result = call(network, sender, factory, 500_000, "make()", value=money)
    if result:
        factory.parties += [sender.number] * len(result.created)
    if len(factory.parties) >= _MOST_LOCKERS:
        network.world.contracts.leave(factory)
    return True


def _pay_from_locker(network: Network, factory: Contract) -> bool:
    """The holder of a locker opens it or pays from it; before it is open, that fails."""
    if not factory.parties:
        return False
    label = network.choose.randrange(len(factory.parties))
    holder, receiver = network.world.accounts.get(factory.parties[label]), receiver_of_money(network)
    if receiver is None or holder is None or holder.deleted:
        return False
    if network.choose.random() < 0.3:
        call(network, holder, factory, 120_000, "unlock(uint256)", label)
        return True
    amount = network.choose.randrange(1, HBAR)
    function = network.choose.choice(("pay", "pay", "tryToPay"))
    arguments = (label, receiver.address, amount)
    call(
        network,
        holder,
        factory,
        150_000,
        f"{function}(uint256,address,uint256)",
        *arguments,
        around=(receiver,),
    )
    return True


# WHAT GOES WRONG
def _fault(network: Network, faults: Contract) -> bool:
    sender, choose = network.person(), network.choose
    if sender is None:
        return False
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
    call(network, sender, faults, 50_000, signature, *arguments)
    return True


ACTIONS = (
    Action(use_collectible, 2),
    Action(use_counter, 2),
    Action(use_factory, 1),
    Action(fail, 0),
    Action(pay_by_ethereum, 2),
    Action(come_out_of_turn, 0),
    Action(overdraw_by_ethereum, 0),
)
