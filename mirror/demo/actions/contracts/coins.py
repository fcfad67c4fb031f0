"""Coins (ERC-20), and the exchanges that trade them for hbars."""

from eth_abi.abi import encode

from mirror.core.values.hashes import keccak256
from mirror.demo.actions.contracts.deploying import COIN_UNIT
from mirror.demo.actions.contracts.sending import call, owner_of, uses
from mirror.demo.network import Network, both, require, required
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import Contract, Result

_TRANSFER, _APPROVE = "transfer(address,uint256)", "approve(address,uint256)"
_GAS = 80_000
_EVERYTHING = 2**256 - 1
_COIN_BALANCES = 4  # storage slot of the mapping


# COINS
def _pay_coins(network: Network, coin: Contract) -> None:
    sender, receiver = both(_holder(network, coin), network.find_person(at_least=0))
    amount = 1 + int(coins_of(coin, sender) * network.choose.random() ** 3 / 4)
    result = call(network, sender, coin, _TRANSFER, receiver, amount, gas=_GAS)
    _now_holds(coin, receiver, result)


def _take_allowed_coins(network: Network, coin: Contract) -> None:
    """Approve a spender, who then transfers some of the coins or too many."""
    owner, spender = both(_holder(network, coin), network.find_person())
    allowed = 1 + coins_of(coin, owner) // network.choose.randrange(10, 100)
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
    call(network, sender, coin, "burn(uint256)", 1 + coins_of(coin, sender) // 1_000, gas=60_000)


def _overspend(network: Network, coin: Contract) -> None:
    sender, receiver = network.find_person(), network.find_person(at_least=0)
    sender, receiver = required(sender), required(receiver)
    call(network, sender, coin, _TRANSFER, receiver, coins_of(coin, sender) + COIN_UNIT, gas=_GAS)


def coins_of(coin: Contract, holder: Account) -> int:
    """Return the coins of an account, read from the storage of the contract."""
    slot = keccak256(encode(("address", "uint256"), (holder.address, _COIN_BALANCES)))
    stored = coin.slots.get(int.from_bytes(slot, "big"))
    return stored.value if stored else 0


def _holder(network: Network, coin: Contract) -> Account | None:
    number = network.find(coin.parties)
    holder = None if number is None else network.world.accounts[number]
    return holder if holder and not holder.deleted and coins_of(coin, holder) else None


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
    held = coins_of(_coin(network, exchange), seller)
    amount = 1 + int(held * network.choose.random() ** 3 / 50)
    call(network, seller, exchange, "sell(uint256,uint256)", amount, 0, gas=200_000)


def _provide(network: Network, exchange: Contract) -> None:
    provider = _trader(network, exchange)
    require(provider.balance >= 200 * HBAR)
    coins = 1 + coins_of(_coin(network, exchange), provider) // 200
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


ACTIONS = (
    uses(6, "Coin", {_pay_coins: 16, _take_allowed_coins: 3, _mint: 2, _burn: 1, _overspend: 1}),
    uses(2, "Exchange", {_buy: 5, _sell: 4, _provide: 2, _withdraw: 1}),
)
