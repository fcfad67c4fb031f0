"""Calls of contracts: coins (ERC-20), exchanges that trade them for hbars, collectibles, counters, lockers.

And calls that fail, and delegations.
"""

from eth_abi.abi import encode

from mirror.core.values.hashes import keccak256
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.deploying import COIN_UNIT
from mirror.demo.actions.contracts.sending import call, owner_of, uses
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Network, both, require, required, weighted
from mirror.demo.world.accounts import HBAR, NO_DELEGATION, Account
from mirror.demo.world.contracts import Contract, Result

_TRANSFER, _APPROVE = "transfer(address,uint256)", "approve(address,uint256)"
_GAS = 80_000
_EVERYTHING = 2**256 - 1
_COIN_BALANCES = 4  # storage slot of the mapping
# A contract that holds this many is no longer called, and another one is deployed.
_MOST_COLLECTED, _MOST_LOCKERS = 150, 100
_REASONS = ("Out of stock", "Closed on Sundays", "Table is taken", "Sold out")
_MOST_DELEGATING, _ENDING = 8, 0.3


# COINS
def _pay_coins(network: Network, coin: Contract) -> None:
    sender, receiver = both(_holder(network, coin), network.find_person(at_least=0))
    amount = 1 + int(_coins_of(coin, sender) * network.choose.random() ** 3 / 4)
    result = call(network, sender, coin, _TRANSFER, receiver, amount, gas=_GAS)
    _now_holds(coin, receiver, result)


def _take_allowed_coins(network: Network, coin: Contract) -> None:
    """Approve a spender, who then transfers some of the coins or too many."""
    owner, spender = both(_holder(network, coin), network.find_person())
    allowed = 1 + _coins_of(coin, owner) // network.choose.randrange(10, 100)
    call(network, owner, coin, _APPROVE, spender, allowed, gas=_GAS)
    wanted = network.choose.choice((allowed // 2 + 1, allowed, allowed * 2))
    taken = (owner, spender, wanted)
    result = call(network, spender, coin, "transferFrom(address,address,uint256)", *taken, gas=120_000)
    _now_holds(coin, spender, result)


def _mint(network: Network, coin: Contract) -> None:
    """Mint coins as the owner, or sometimes as another account."""
    is_other = network.choose.random() < 0.2
    sender = network.find_person() if is_other else owner_of(network, coin)
    receiver = network.person(at_least=0)
    sender = required(sender)
    amount = network.choose.randrange(1, 1_000) * COIN_UNIT
    result = call(network, sender, coin, "mint(address,uint256)", receiver, amount, gas=90_000)
    _now_holds(coin, receiver, result)


def _burn(network: Network, coin: Contract) -> None:
    sender = required(_holder(network, coin))
    call(network, sender, coin, "burn(uint256)", 1 + _coins_of(coin, sender) // 1_000, gas=60_000)


def _overspend(network: Network, coin: Contract) -> None:
    sender, receiver = network.find_person(), network.find_person(at_least=0)
    sender, receiver = required(sender), required(receiver)
    call(network, sender, coin, _TRANSFER, receiver, _coins_of(coin, sender) + COIN_UNIT, gas=_GAS)


def _coins_of(coin: Contract, holder: Account) -> int:
    """Return the coins of an account, read from the storage of the contract."""
    slot = keccak256(encode(("address", "uint256"), (holder.address, _COIN_BALANCES)))
    stored = coin.slots.get(int.from_bytes(slot, "big"))
    return stored.value if stored else 0


def _holder(network: Network, coin: Contract) -> Account | None:
    number = network.find(coin.parties)
    holder = None if number is None else network.world.accounts[number]
    return holder if holder and not holder.deleted and _coins_of(coin, holder) else None


def _now_holds(coin: Contract, holder: Account, result: Result | None) -> None:
    if result and result.result == "SUCCESS" and holder.number not in coin.parties:
        coin.parties.append(holder.number)


# EXCHANGES
def _buy(network: Network, exchange: Contract) -> None:
    buyer = network.person()
    require(network.world.accounts[exchange.number].balance)
    money = network.choose.randrange(HBAR // 10, 20 * HBAR)
    wanted = network.choose.choice((1, 1, 1, _EVERYTHING))
    result = call(network, buyer, exchange, "buy(uint256)", wanted, gas=150_000, value=money)
    _now_holds(_coin(network, exchange), buyer, result)


def _sell(network: Network, exchange: Contract) -> None:
    seller = _trader(network, exchange)
    require(network.world.accounts[exchange.number].balance)
    held = _coins_of(_coin(network, exchange), seller)
    amount = 1 + int(held * network.choose.random() ** 3 / 50)
    call(network, seller, exchange, "sell(uint256,uint256)", amount, 0, gas=200_000)


def _provide(network: Network, exchange: Contract) -> None:
    provider = _trader(network, exchange)
    require(provider.balance >= 200 * HBAR)
    coins = 1 + _coins_of(_coin(network, exchange), provider) // 200
    money = network.choose.randrange(10, 100) * HBAR
    call(network, provider, exchange, "provide(uint256)", coins, gas=250_000, value=money)


def _withdraw(network: Network, exchange: Contract) -> None:
    """Withdraw shares of an exchange, which fails for an account without shares."""
    provider = _trader(network, exchange)
    require(network.world.accounts[exchange.number].balance)
    shares = network.choose.randrange(1, 5 * HBAR)
    call(network, provider, exchange, "withdraw(uint256)", shares, gas=200_000)


def _trader(network: Network, exchange: Contract) -> Account:
    """Return an account that holds coins, has approved the exchange, and may be paid unsigned.

    Errors: NotPossible.
    """
    coin = _coin(network, exchange)
    trader = required(_holder(network, coin))
    require(not trader.receiver_signature_required)
    if trader.number not in exchange.parties:
        required(call(network, trader, coin, _APPROVE, exchange.address, _EVERYTHING, gas=_GAS))
        exchange.parties.append(trader.number)
    return trader


def _coin(network: Network, exchange: Contract) -> Contract:
    assert exchange.trades is not None
    return network.world.contracts.deployed[exchange.trades]


# COLLECTIBLES
def _collect(network: Network, art: Contract) -> None:
    sender = network.person()
    result = call(network, sender, art, "mint(address)", sender, gas=120_000)
    if result and result.result == "SUCCESS":
        art.parties.append(sender.number)
    if len(art.parties) >= _MOST_COLLECTED:
        network.world.contracts.leave(art)


def _hand_over(network: Network, art: Contract) -> None:
    """Transfer a collectible, or approve an account that transfers it."""
    place, party = _party(network, art)
    holder, receiver = both(party, network.person())
    sender = holder
    if network.choose.random() < 0.3:
        call(network, holder, art, "approve(address,uint256)", receiver, place + 1, gas=80_000)
        sender = receiver
    moved = (holder, receiver, place + 1)
    signature = f"{network.choose.choice(('transferFrom', 'safeTransferFrom'))}(address,address,uint256)"
    result = call(network, sender, art, signature, *moved, gas=140_000)
    if result and result.result == "SUCCESS":
        art.parties[place] = receiver.number


def _party(network: Network, contract: Contract) -> tuple[int, Account | None]:
    """Return the place of one of the parties, and the account unless it is deleted. Errors: NotPossible."""
    require(contract.parties)
    place = network.choose.randrange(len(contract.parties))
    party = network.world.accounts.get(contract.parties[place])
    return place, None if party is None or party.deleted else party


def _steal(network: Network, art: Contract) -> None:
    """Approve a collectible of another account, or one that does not exist."""
    sender, number = network.person(), network.choose.randrange(1, len(art.parties) + 3)
    call(network, sender, art, "approve(address,uint256)", sender, number, gas=90_000)


def _appoint(network: Network, art: Contract) -> None:
    sender, operator = both(network.find_person(), network.find_person(at_least=0))
    appointed = (operator, network.choose.random() < 0.7)
    call(network, sender, art, "setApprovalForAll(address,bool)", *appointed, gas=80_000)


# COUNTERS
def _count(network: Network, counter: Contract) -> None:
    sender = network.person()
    if network.choose.random() < 0.5:
        call(network, sender, counter, "increment()", gas=90_000)
    else:
        amount = network.choose.choice((0, 1, 2, 3, 5, 8, 13, 21, 34))
        call(network, sender, counter, "add(uint256)", amount, gas=90_000)


def _reset(network: Network, counter: Contract) -> None:
    is_owner = network.choose.random() < 0.5
    sender = required(sending.owner_of(network, counter) if is_owner else network.find_person())
    call(network, sender, counter, "reset()", gas=60_000)


def _look_around(network: Network, counter: Contract) -> None:
    sender = network.person()
    call(network, sender, counter, network.choose.choice(("place()", "count()")), gas=30_000)


# LOCKERS
def _make_locker(network: Network, factory: Contract) -> None:
    """Make a locker, mostly with money in it, or two."""
    sender = network.person(at_least=500 * HBAR)
    money = network.choose.randrange(1, 40) * HBAR
    match network.choose.randrange(5):
        case 0:
            result = call(network, sender, factory, "makeMany(uint256)", 2, gas=1_200_000)
        case 1 | 2:
            salt = network.choose.getrandbits(256).to_bytes(32, "big")
            result = call(network, sender, factory, "makeAt(bytes32)", salt, gas=500_000, value=money)
        case _:
            result = call(network, sender, factory, "make()", gas=500_000, value=money)
    if result:
        factory.parties += [sender.number] * len(result.created)
    if len(factory.parties) >= _MOST_LOCKERS:
        network.world.contracts.leave(factory)


def _pay_from_locker(network: Network, factory: Contract) -> None:
    """Unlock a locker or pay from it, which fails while it is locked."""
    label, party = _party(network, factory)
    receiver = required(sending.find_payee(network))
    holder = required(party)
    if network.choose.random() < 0.3:
        call(network, holder, factory, "unlock(uint256)", label, gas=120_000)
        return
    paid = (label, receiver, network.choose.randrange(1, HBAR))
    signature = f"{network.choose.choice(('pay', 'pay', 'tryToPay'))}(uint256,address,uint256)"
    call(network, holder, factory, signature, *paid, gas=150_000)


# FAILURES
def _fault(network: Network, faults: Contract) -> None:
    """Call a function that fails on purpose."""
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
    call(network, sender, faults, signature, *arguments, gas=50_000)


def pay_by_ethereum(network: Network) -> None:
    sender, receiver = both(sending.find_ethereum_sender(network), sending.find_payee(network))
    value = 1 + int(sender.balance * network.choose.random() ** 4 / 40)
    gas = network.choose.choice((21_000, 30_000))
    sending.by_ethereum(network, sending.ContractCall(sender, receiver, b"", gas, value))


def come_out_of_order(network: Network) -> None:
    sender, coin = both(sending.find_ethereum_sender(network), sending.find_contract(network, "Coin"))
    data = call_data("transfer(address,uint256)", sender.address, COIN_UNIT)
    sending.out_of_order(network, sender, network.world.accounts[coin.number], data)


def overdraw_by_ethereum(network: Network) -> None:
    sending.beyond_means(network, *both(sending.find_ethereum_sender(network), sending.find_payee(network)))


# DELEGATIONS (HIP-1340): the code of a contract runs at the address of an account.
def delegate(network: Network) -> None:
    """Let an account delegate to a counter, or end its delegation."""
    delegating = [holder for holder in network.world.living() if holder.delegation]
    counters = network.world.contracts.of("Counter")
    if len(delegating) >= _MOST_DELEGATING or (delegating and network.choose.random() < _ENDING):
        holder = network.choose.choice(delegating)
        holder.delegation, delegated = None, NO_DELEGATION
    else:
        require(counters)
        holder = network.person()
        holder.delegation = delegated = network.choose.choice(counters).address
    body = {"accountIDToUpdate": holder.number, "delegation_address": delegated}
    network.submit("cryptoUpdateAccount", body, payer=holder.number)


def delegate_by_ethereum(network: Network) -> None:
    """Delegate to a counter with the Ethereum transaction that calls it.

    Record files have no state of accounts, so a child transaction has the delegation.
    """
    sender, counter = both(sending.find_ethereum_sender(network), sending.find_contract(network, "Counter"))
    called, gas = network.world.accounts[counter.number], 120_000
    require(sending.can_pay(sender, gas))
    data = call_data("increment()")
    sending.by_ethereum(network, sending.ContractCall(sender, called, data, gas, delegated=called.address))


ACTIONS = (
    uses(6, "Coin", {_pay_coins: 16, _take_allowed_coins: 3, _mint: 2, _burn: 1, _overspend: 1}),
    uses(2, "Exchange", {_buy: 5, _sell: 4, _provide: 2, _withdraw: 1}),
    uses(2, "Collectible", {_collect: 6, _hand_over: 5, _steal: 1, _appoint: 1}),
    uses(2, "Counter", {_count: 12, _reset: 2, _look_around: 1}),
    uses(1, "Factory", {_make_locker: 1, _pay_from_locker: 3}),
    uses(0, "Faults", {_fault: 1}),
    *weighted((2, pay_by_ethereum), (0, come_out_of_order, overdraw_by_ethereum)),
)
DELEGATIONS = weighted((0, delegate, delegate_by_ethereum))
