"""Calls of contracts: coins (ERC-20), exchanges, collectibles, counters, lockers; failures; delegations."""

from eth_abi.abi import encode

from mirror.core.values.hashes import keccak256
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.deploying import COIN_UNIT
from mirror.demo.actions.contracts.sending import call, owner_of, uses
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Network, pair, require, required, weighted
from mirror.demo.world.accounts import HBAR, NO_DELEGATION, Account
from mirror.demo.world.contracts import Contract, Result

_TRANSFER, _APPROVE = "transfer(address,uint256)", "approve(address,uint256)"
_TRANSFER_FROM = "transferFrom(address,address,uint256)"
_GAS = 80_000
_EVERYTHING = 2**256 - 1
_COIN_BALANCES = 4  # storage slot of the mapping
# A contract that holds this many is no longer called, and another one is deployed.
_MAX_COLLECTED, _MAX_LOCKERS = 150, 100
_REASONS = ("Out of stock", "Closed on Sundays", "Table is taken", "Sold out")
_MAX_DELEGATING, _ENDING = 8, 0.3


# COINS
def _use_coin(network: Network, coin: Contract, way: str) -> None:
    choose = network.choose
    match way:
        case "pay":
            sender, receiver = pair(_holder(network, coin), network.find_person(at_least=0))
            amount = 1 + int(_coins_of(coin, sender) * choose.random() ** 3 / 4)
            result = call(network, sender, coin, _TRANSFER, receiver, amount, gas=_GAS)
            _add_holder(coin, receiver, result)
        case "take":
            # Approve a spender, who then transfers some of the coins or too many.
            owner, spender = pair(_holder(network, coin), network.find_person())
            allowed = 1 + _coins_of(coin, owner) // choose.randrange(10, 100)
            call(network, owner, coin, _APPROVE, spender, allowed, gas=_GAS)
            taken = (owner, spender, choose.choice((allowed // 2 + 1, allowed, allowed * 2)))
            result = call(network, spender, coin, _TRANSFER_FROM, *taken, gas=120_000)
            _add_holder(coin, spender, result)
        case "mint":
            # As the owner, or sometimes as another account.
            minter = network.find_person() if choose.random() < 0.2 else owner_of(network, coin)
            receiver = network.person(at_least=0)
            sender, amount = required(minter), choose.randrange(1, 1_000) * COIN_UNIT
            result = call(network, sender, coin, "mint(address,uint256)", receiver, amount, gas=90_000)
            _add_holder(coin, receiver, result)
        case "burn":
            sender = required(_holder(network, coin))
            call(network, sender, coin, "burn(uint256)", 1 + _coins_of(coin, sender) // 1_000, gas=60_000)
        case _:
            # More than the sender has.
            payer, payee = network.find_person(), network.find_person(at_least=0)
            sender, receiver = required(payer), required(payee)
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


def _add_holder(coin: Contract, holder: Account, result: Result | None) -> None:
    if result and result.result == "SUCCESS" and holder.number not in coin.parties:
        coin.parties.append(holder.number)


# EXCHANGES
def _use_exchange(network: Network, exchange: Contract, way: str) -> None:
    choose, coin = network.choose, _coin(network, exchange)
    trader = network.person() if way == "buy" else _trader(network, exchange)
    if way == "provide":
        require(trader.balance >= 200 * HBAR)
        coins, money = 1 + _coins_of(coin, trader) // 200, choose.randrange(10, 100) * HBAR
        call(network, trader, exchange, "provide(uint256)", coins, gas=250_000, value=money)
        return
    require(network.world.accounts[exchange.number].balance)
    match way:
        case "buy":
            money, wanted = choose.randrange(HBAR // 10, 20 * HBAR), choose.choice((1, 1, 1, _EVERYTHING))
            result = call(network, trader, exchange, "buy(uint256)", wanted, gas=150_000, value=money)
            _add_holder(coin, trader, result)
        case "sell":
            amount = 1 + int(_coins_of(coin, trader) * choose.random() ** 3 / 50)
            call(network, trader, exchange, "sell(uint256,uint256)", amount, 0, gas=200_000)
        case _:
            # Fails for an account without shares.
            shares = choose.randrange(1, 5 * HBAR)
            call(network, trader, exchange, "withdraw(uint256)", shares, gas=200_000)


def _trader(network: Network, exchange: Contract) -> Account:
    """Return an account with coins that has approved the exchange and may be paid unsigned."""
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
def _use_collectible(network: Network, art: Contract, way: str) -> None:
    choose = network.choose
    match way:
        case "collect":
            sender = network.person()
            result = call(network, sender, art, "mint(address)", sender, gas=120_000)
            if result and result.result == "SUCCESS":
                art.parties.append(sender.number)
            if len(art.parties) >= _MAX_COLLECTED:
                network.world.contracts.retire(art)
        case "hand over":
            # By the holder, or by an account that is approved for it.
            index, party = _party(network, art)
            holder, receiver = pair(party, network.person())
            sender = holder
            if choose.random() < 0.3:
                call(network, holder, art, _APPROVE, receiver, index + 1, gas=_GAS)
                sender = receiver
            moved = (holder, receiver, index + 1)
            signature = choose.choice((_TRANSFER_FROM, "safeTransferFrom(address,address,uint256)"))
            result = call(network, sender, art, signature, *moved, gas=140_000)
            if result and result.result == "SUCCESS":
                art.parties[index] = receiver.number
        case "steal":
            # Approve a collectible of another account, or one that does not exist.
            sender, number = network.person(), choose.randrange(1, len(art.parties) + 3)
            call(network, sender, art, _APPROVE, sender, number, gas=90_000)
        case _:
            sender, operator = pair(network.find_person(), network.find_person(at_least=0))
            appointed = (operator, choose.random() < 0.7)
            call(network, sender, art, "setApprovalForAll(address,bool)", *appointed, gas=_GAS)


def _party(network: Network, contract: Contract) -> tuple[int, Account | None]:
    """Return the place of one of the parties, and the account unless it is deleted. Errors: NotPossible."""
    require(contract.parties)
    index = network.choose.randrange(len(contract.parties))
    party = network.world.accounts.get(contract.parties[index])
    return index, None if party is None or party.deleted else party


# COUNTERS
def _use_counter(network: Network, counter: Contract, way: str) -> None:
    choose = network.choose
    if way == "reset":
        found = owner_of(network, counter) if choose.random() < 0.5 else network.find_person()
        call(network, required(found), counter, "reset()", gas=60_000)
        return
    sender = network.person()
    if way == "look":
        call(network, sender, counter, choose.choice(("place()", "count()")), gas=30_000)
    elif choose.random() < 0.5:
        call(network, sender, counter, "increment()", gas=90_000)
    else:
        amount = choose.choice((0, 1, 2, 3, 5, 8, 13, 21, 34))
        call(network, sender, counter, "add(uint256)", amount, gas=90_000)


# LOCKERS
def _use_factory(network: Network, factory: Contract, way: str) -> None:
    """Make a locker, mostly with money in it, or two; unlock one or pay from it, which fails while locked."""
    choose = network.choose
    if way == "pay":
        label, party = _party(network, factory)
        receiver, holder = required(sending.find_payee(network)), required(party)
        if choose.random() < 0.3:
            call(network, holder, factory, "unlock(uint256)", label, gas=120_000)
            return
        paid = (label, receiver, choose.randrange(1, HBAR))
        signature = f"{choose.choice(('pay', 'pay', 'tryToPay'))}(uint256,address,uint256)"
        call(network, holder, factory, signature, *paid, gas=150_000)
        return
    sender, money = network.person(at_least=500 * HBAR), choose.randrange(1, 40) * HBAR
    match choose.randrange(5):
        case 0:
            result = call(network, sender, factory, "makeMany(uint256)", 2, gas=1_200_000)
        case 1 | 2:
            salt = choose.getrandbits(256).to_bytes(32, "big")
            result = call(network, sender, factory, "makeAt(bytes32)", salt, gas=500_000, value=money)
        case _:
            result = call(network, sender, factory, "make()", gas=500_000, value=money)
    if result:
        factory.parties += [sender.number] * len(result.created)
    if len(factory.parties) >= _MAX_LOCKERS:
        network.world.contracts.retire(factory)


# FAILURES
def _fail(network: Network, faults: Contract, way: str) -> None:
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
    sender, receiver = pair(sending.find_ethereum_sender(network), sending.find_payee(network))
    value = 1 + int(sender.balance * network.choose.random() ** 4 / 40)
    gas = network.choose.choice((21_000, 30_000))
    sending.by_ethereum(network, sending.ContractCall(sender, receiver, b"", gas, value))


def send_wrong_nonce(network: Network) -> None:
    found = network.world.contracts.all("Coin")
    sender, coin = pair(sending.find_ethereum_sender(network), network.find(found))
    data = call_data("transfer(address,uint256)", sender.address, COIN_UNIT)
    sending.submit_wrong_nonce(network, sender, network.world.accounts[coin.number], data)


def overdraw_by_ethereum(network: Network) -> None:
    sending.submit_unfunded(
        network, *pair(sending.find_ethereum_sender(network), sending.find_payee(network))
    )


# DELEGATIONS (HIP-1340): the code of a contract runs at the address of an account.
def delegate(network: Network) -> None:
    """Let an account delegate to a counter, or end its delegation."""
    delegating = [holder for holder in network.world.living() if holder.delegation]
    counters = network.world.contracts.all("Counter")
    if len(delegating) >= _MAX_DELEGATING or (delegating and network.choose.random() < _ENDING):
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
    found = network.world.contracts.all("Counter")
    sender, counter = pair(sending.find_ethereum_sender(network), network.find(found))
    called, gas = network.world.accounts[counter.number], 120_000
    require(sending.can_pay(sender, gas))
    data = call_data("increment()")
    sending.by_ethereum(network, sending.ContractCall(sender, called, data, gas, delegated=called.address))


ACTIONS = (
    uses(6, "Coin", _use_coin, {"pay": 16, "take": 3, "mint": 2, "burn": 1, "overspend": 1}),
    uses(2, "Exchange", _use_exchange, {"buy": 5, "sell": 4, "provide": 2, "withdraw": 1}),
    uses(2, "Collectible", _use_collectible, {"collect": 6, "hand over": 5, "steal": 1, "appoint": 1}),
    uses(2, "Counter", _use_counter, {"count": 12, "reset": 2, "look": 1}),
    uses(1, "Factory", _use_factory, {"make": 1, "pay": 3}),
    uses(0, "Faults", _fail, {"fail": 1}),
    *weighted((2, pay_by_ethereum), (0, send_wrong_nonce, overdraw_by_ethereum)),
)
DELEGATIONS = weighted((0, delegate, delegate_by_ethereum))
