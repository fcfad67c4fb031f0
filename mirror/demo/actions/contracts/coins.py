"""Coins (ERC-20), and the exchanges that trade them for hbars."""

from eth_abi.abi import encode

from mirror.core.values.hashes import keccak256
from mirror.demo.actions.contracts.deploying import COIN_UNIT
from mirror.demo.actions.contracts.sending import Function, call, use
from mirror.demo.network import Network, NotPossible, both, required, weighted
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import Contract, Result

_TRANSFER = Function("transfer(address,uint256)", 80_000)
_APPROVE = Function("approve(address,uint256)", 80_000)
_TRANSFER_FROM = Function("transferFrom(address,address,uint256)", 120_000)
_EVERYTHING = 2**256 - 1
_COIN_BALANCES = 4  # storage slot of the mapping


def use_coin(network: Network) -> None:
    """Transfer, mint or burn coins."""
    use(network, "Coin", (_pay_coins, _take_allowed_coins, _mint, _burn, _overspend), (16, 3, 2, 1, 1))


def use_exchange(network: Network) -> None:
    """Trade coins at an exchange, or provide it with them."""
    use(network, "Exchange", (_buy, _sell, _provide, _withdraw), (5, 4, 2, 1))


# COINS
def _pay_coins(network: Network, coin: Contract) -> None:
    sender, receiver = both(_holder(network, coin), network.find_person(at_least=0))
    amount = 1 + int(coins_of(coin, sender) * network.choose.random() ** 3 / 4)
    result = call(network, sender, coin, _TRANSFER, receiver.address, amount)
    _now_holds(coin, receiver, result)


def _take_allowed_coins(network: Network, coin: Contract) -> None:
    """Approve a spender, who then transfers some of the coins or too many."""
    owner, spender = both(_holder(network, coin), network.find_person())
    allowed = 1 + coins_of(coin, owner) // network.choose.randrange(10, 100)
    call(network, owner, coin, _APPROVE, spender.address, allowed)
    wanted = network.choose.choice((allowed // 2 + 1, allowed, allowed * 2))
    result = call(network, spender, coin, _TRANSFER_FROM, owner.address, spender.address, wanted)
    _now_holds(coin, spender, result)


def _mint(network: Network, coin: Contract) -> None:
    """Mint coins as the owner, or sometimes as another account."""
    owner = None if coin.owner is None else network.world.accounts[coin.owner]
    sender = network.find_person() if network.choose.random() < 0.2 else owner
    receiver = network.person(at_least=0)
    if sender is None or sender.deleted:
        raise NotPossible
    amount = network.choose.randrange(1, 1_000) * COIN_UNIT
    result = call(network, sender, coin, Function("mint(address,uint256)", 90_000), receiver.address, amount)
    _now_holds(coin, receiver, result)


def _burn(network: Network, coin: Contract) -> None:
    sender = required(_holder(network, coin))
    amount = 1 + coins_of(coin, sender) // 1_000
    call(network, sender, coin, Function("burn(uint256)", 60_000), amount)


def _overspend(network: Network, coin: Contract) -> None:
    sender, receiver = network.find_person(), network.find_person(at_least=0)
    if sender is None or receiver is None:
        raise NotPossible
    amount = coins_of(coin, sender) + COIN_UNIT
    call(network, sender, coin, _TRANSFER, receiver.address, amount)


def coins_of(coin: Contract, holder: Account) -> int:
    """Return the coins of an account, read from the storage of the contract."""
    slot = keccak256(encode(("address", "uint256"), (holder.address, _COIN_BALANCES)))
    stored = coin.slots.get(int.from_bytes(slot, "big"))
    return stored.value if stored else 0


def _holder(network: Network, coin: Contract) -> Account | None:
    """Return an account that holds some of a coin."""
    if not coin.parties:
        return None
    holder = network.world.accounts[network.choose.choice(coin.parties)]
    return None if holder.deleted or not coins_of(coin, holder) else holder


def _now_holds(coin: Contract, holder: Account, result: Result | None) -> None:
    if result and result.result == "SUCCESS" and holder.number not in coin.parties:
        coin.parties.append(holder.number)


# EXCHANGES
def _buy(network: Network, exchange: Contract) -> None:
    buyer = network.person()
    if not network.world.accounts[exchange.number].balance:
        raise NotPossible
    money = network.choose.randrange(HBAR // 10, 20 * HBAR)
    wanted = network.choose.choice((1, 1, 1, _EVERYTHING))
    result = call(network, buyer, exchange, Function("buy(uint256)", 150_000), wanted, value=money)
    _now_holds(_coin(network, exchange), buyer, result)


def _sell(network: Network, exchange: Contract) -> None:
    coin = _coin(network, exchange)
    seller = _trader(network, exchange)
    if not network.world.accounts[exchange.number].balance:
        raise NotPossible
    amount = 1 + int(coins_of(coin, seller) * network.choose.random() ** 3 / 50)
    call(network, seller, exchange, Function("sell(uint256,uint256)", 200_000), amount, 0)


def _provide(network: Network, exchange: Contract) -> None:
    """Provide an exchange with hbars and coins."""
    provider = _trader(network, exchange)
    if provider.balance < 200 * HBAR:
        raise NotPossible
    coins = 1 + coins_of(_coin(network, exchange), provider) // 200
    money = network.choose.randrange(10, 100) * HBAR
    call(network, provider, exchange, Function("provide(uint256)", 250_000), coins, value=money)


def _withdraw(network: Network, exchange: Contract) -> None:
    """Withdraw shares of an exchange, which fails for an account without shares."""
    provider = _trader(network, exchange)
    if not network.world.accounts[exchange.number].balance:
        raise NotPossible
    shares = network.choose.randrange(1, 5 * HBAR)
    call(network, provider, exchange, Function("withdraw(uint256)", 200_000), shares)


def _trader(network: Network, exchange: Contract) -> Account:
    """Return an account that holds coins, has approved the exchange, and may be paid unsigned.

    Errors: NotPossible.
    """
    coin = _coin(network, exchange)
    trader = _holder(network, coin)
    if trader is None or trader.receiver_signature_required:
        raise NotPossible
    if trader.number not in exchange.parties:
        required(call(network, trader, coin, _APPROVE, exchange.address, _EVERYTHING))
        exchange.parties.append(trader.number)
    return trader


def _coin(network: Network, exchange: Contract) -> Contract:
    assert exchange.trades is not None
    return network.world.contracts.deployed[exchange.trades]


ACTIONS = weighted((6, use_coin), (2, use_exchange))
