"""The people of the network: their names and memos, and opening their accounts.

Also by a payment: hollow accounts have no key until their owner signs. The transaction that creates or
completes such an account precedes its cause in the file: it has the same id with a nonce, and no parent.
"""

from collections.abc import Callable
from typing import Any

from mirror.core.values.hapi.messages import AccountID, TransactionID
from mirror.demo.network import Network, require, weighted
from mirror.demo.streams.keys import NO_KEY, EcdsaWallet, Ed25519Wallet
from mirror.demo.streams.record_files import TREASURY
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, HBAR, Account

# Memos that the network gives to accounts that are created by a payment.
LAZY_CREATED, AUTO_CREATED = "lazy-created account", "auto-created account"
_MOST, _MAX_SETTLED = 120, 100
_PASSING = 5  # one in this many is passing
_NAMES = (
    "Ada", "Bruno", "Chidi", "Daria", "Emeka", "Freya", "Goran", "Hana", "Imani", "Jonas",
    "Keiko", "Lena", "Mateo", "Nadia", "Oskar", "Priya", "Quentin", "Rosa", "Samir", "Tove",
    "Umar", "Vera", "Wanda", "Xiang", "Yusuf", "Zelda",
)  # fmt: skip
_PURPOSES = ("cold wallet", "daily wallet", "joint account", "main account", "savings", "travel money")
_BUSINESS_PURPOSES = ("deposits", "main account", "payroll", "reserve", "suppliers", "till")
_TRADES = (
    *("Bakery", "Bookshop", "Cafe", "Cinema", "Florist"),
    *("Garage", "Market", "Press", "Studio", "Theatre"),
)
_MAX_HOLLOW = 10
_CREATION_FEE = 60_000_000


def next_name(network: Network) -> str:
    """Return the next name: of a person, or of a business when all persons have an account."""
    index = network.world.named
    network.world.named += 1
    if index < len(_NAMES):
        return _NAMES[index]
    times, owner = divmod(index - len(_NAMES), len(_NAMES))
    trade = _TRADES[(owner + times) % len(_TRADES)]
    return numbered(f"{_NAMES[owner]}'s {trade}", times // len(_TRADES))


def numbered(name: str, times: int) -> str:
    """Return a name that was given `times` times before, with a number."""
    return f"{name} {times + 1}" if times else name


def memo_of(network: Network, holder: Account) -> str:
    """Return a new memo for an account: its owner's name, mostly with a purpose."""
    name, _, _ = holder.memo.partition(", ")
    if name in (LAZY_CREATED, AUTO_CREATED):
        return next_name(network)
    if network.choose.random() < 0.25:
        return name
    purposes = _BUSINESS_PURPOSES if "'s " in name else _PURPOSES
    return f"{name}, {network.choose.choice(purposes)}"


def has_room(network: Network) -> bool:
    return len(network.world.people) + len(network.world.hollow) < _MOST


def activate(network: Network, opened: Account) -> None:
    """Let a person act from now on. The first people stay, as most others do while there is room."""
    world = network.world
    settled = sum(not account.passing for account in world.living())
    world.people.append(opened.number)
    later = world.named > len(_NAMES)
    opened.passing = settled >= _MAX_SETTLED or (later and len(world.people) % _PASSING == 0)


def open_account(
    network: Network,
    *,
    name: str,
    ecdsa: bool,
    payer: int = TREASURY,
    staked_node: int | None = None,
    hooks: Callable[[Account], list[Any]] | None = None,
) -> Account:
    """Create an account with a plausible number of hbars; with `ecdsa`, Ethereum tools can use it.

    `hooks` returns the HookCreationDetails of the hooks that it has from the start.
    """
    number = network.new_number()
    endowment = network.choose.randrange(2_000, 90_000) * HBAR + network.choose.randrange(HBAR)
    if payer != TREASURY:
        endowment //= 200
    opened = Account(number, network.now, memo=name, max_automatic_token_associations=-1 if ecdsa else 0)
    opened.auto_renew_period = AUTO_RENEW_PERIOD
    body: dict[str, Any] = {
        "initialBalance": endowment,
        "memo": name,
        "max_automatic_token_associations": opened.max_automatic_token_associations,
        "autoRenewPeriod": AUTO_RENEW_PERIOD,
    }
    record: dict[str, Any] = {}
    if staked_node is not None:
        body["staked_node_id"] = opened.staked_node_id = staked_node
        network.world.staking.restart(opened, network.now)
    if ecdsa:
        wallet = EcdsaWallet(number)
        opened.key = wallet.key
        opened.alias = opened.evm_address = body["alias"] = record["evm_address"] = wallet.evm_address
    else:
        opened.key = Ed25519Wallet(number).key
    body["key"] = opened.key
    network.world.accounts[number] = opened
    activate(network, opened)
    if hooks is not None:
        body["hook_creation_details"] = hooks(opened)
    transfers = {payer: -endowment, number: endowment}
    receipt = {"accountID": number}
    network.submit(
        "cryptoCreateAccount", body, payer=payer, receipt=receipt, record=record, transfers=transfers
    )
    return opened


# ACCOUNTS OPENED BY A PAYMENT
def pay_to_new_alias(network: Network) -> None:
    """Pay to an unused EVM address, which opens an account without a key, or to a public key."""
    payer = network.person(at_least=1_000 * HBAR).number
    require(len(network.world.hollow) < _MAX_HOLLOW and has_room(network))
    is_hollow, number = network.choose.random() < 0.7, network.new_number()
    opened = Account(number, network.now, balance_timestamp=network.now)
    opened.max_automatic_token_associations, opened.auto_renew_period = -1, AUTO_RENEW_PERIOD
    if is_hollow:
        opened.alias = opened.evm_address = EcdsaWallet(number).evm_address
        opened.key, opened.memo = NO_KEY, LAZY_CREATED
    else:
        opened.alias = opened.key = Ed25519Wallet(number).key
        opened.memo = AUTO_CREATED
    network.world.accounts[number] = opened
    transaction_id = network.transaction_id(payer)
    body = {
        "key": opened.key,
        "memo": opened.memo,
        "alias": opened.alias,
        "autoRenewPeriod": AUTO_RENEW_PERIOD,
        "max_automatic_token_associations": -1,
    }
    network.submit(
        "cryptoCreateAccount",
        body,
        payer=payer,
        receipt={"accountID": number},
        record={"alias": opened.alias, "evm_address": opened.evm_address or b""},
        envelope=_before(transaction_id),
        fee=0,
    )
    amount = network.choose.randrange(20, 400) * HBAR
    credit = {"accountID": AccountID(alias=opened.alias), "amount": amount}
    network.submit(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": [{"accountID": payer, "amount": -amount}, credit]}},
        payer=payer,
        envelope={"transactionID": transaction_id},
        transfers={payer: -amount, number: amount},
        fee=network.fee("cryptoTransfer") + _CREATION_FEE,
    )
    if is_hollow:
        network.world.hollow.append(number)
    else:
        activate(network, opened)


def complete_hollow(network: Network) -> None:
    """Let the owner of a hollow account sign a payment, which gives the account its key."""
    number = network.pick(network.world.hollow)
    owner, receiver = network.world.accounts[number], network.person()
    require(owner.balance >= 10 * HBAR)
    owner.key = EcdsaWallet(number).key
    amount = network.choose.randrange(1, owner.balance // 4)
    body, transaction_id = {"accountIDToUpdate": number, "key": owner.key}, network.transaction_id(number)
    network.submit("cryptoUpdateAccount", body, payer=number, envelope=_before(transaction_id), fee=0)
    transfers = {number: -amount, receiver.number: amount}
    network.pay(transfers, number, envelope={"transactionID": transaction_id})
    network.world.hollow.remove(number)
    activate(network, owner)


def _before(transaction_id: Any) -> dict[str, Any]:
    """Return the fields of the TransactionBody that precedes its cause. No node received it."""
    own = TransactionID()
    own.CopyFrom(transaction_id)
    own.nonce = 1
    return {"transactionID": own, "nodeAccountID": {}}


ACTIONS = weighted((1, pay_to_new_alias, complete_hollow))
