"""Accounts that are created by a payment: hollow ones have no key until their owner signs.

The transaction that creates or completes such an account precedes its cause in the file: it has the same id
with a nonce, and no parent.
"""

from typing import Any

from mirror.core.values.hapi.messages import AccountAmount, AccountID, Key, TransactionID
from mirror.demo.actions.accounts import people
from mirror.demo.keys.wallet import NO_KEY, EcdsaWallet, Ed25519Wallet
from mirror.demo.network import Network, NotPossible, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, HBAR, Account

_MOST = 10
_CREATION_FEE = 60_000_000


def pay_to_nobody(network: Network) -> None:
    """Pay to an unused EVM address, which opens an account without a key, or to a public key."""
    payer = network.person(at_least=1_000 * HBAR)
    if len(network.world.hollow) >= _MOST or not people.has_room(network):
        raise NotPossible
    is_hollow, number = network.choose.random() < 0.7, network.world.next_number
    opened = Account(network.new_number(), network.now, balance_timestamp=network.now)
    if is_hollow:
        opened.alias = opened.evm_address = EcdsaWallet(number).evm_address
        opened.key, opened.memo = NO_KEY, people.LAZY_CREATED
    else:
        opened.alias = opened.key = Ed25519Wallet(number).key
        opened.memo = people.AUTO_CREATED
    _pay(network, payer, opened)
    if is_hollow:
        network.world.hollow.append(number)
    else:
        people.welcome(network, opened)


def complete(network: Network) -> None:
    """Let the owner of a hollow account sign a payment, which gives the account its key."""
    if not network.world.hollow:
        raise NotPossible
    number = network.choose.choice(network.world.hollow)
    owner, receiver = network.world.accounts[number], network.person()
    if owner.balance < 10 * HBAR:
        raise NotPossible
    owner.key = EcdsaWallet(number).key
    amount = network.choose.randrange(1, owner.balance // 4)
    body = {"accountIDToUpdate": account(number), "key": Key.FromString(owner.key)}
    transaction_id = network.transaction_id(number)
    network.submit("cryptoUpdateAccount", body, payer=number, envelope=_before(transaction_id), fee=0)
    network.submit(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": _amounts(number, account(receiver.number), amount)}},
        payer=number,
        envelope={"transactionID": transaction_id},
        transfers={number: -amount, receiver.number: amount},
    )
    network.world.hollow.remove(number)
    people.welcome(network, owner)


def _pay(network: Network, payer: Account, opened: Account) -> None:
    """Pay to the alias of an account, which opens the account."""
    opened.max_automatic_token_associations, opened.auto_renew_period = -1, AUTO_RENEW_PERIOD
    network.world.accounts[opened.number] = opened
    transaction_id = network.transaction_id(payer.number)
    assert opened.key is not None
    body: dict[str, Any] = {
        "key": Key.FromString(opened.key),
        "memo": opened.memo,
        "alias": opened.alias,
        "autoRenewPeriod": {"seconds": AUTO_RENEW_PERIOD},
        "max_automatic_token_associations": opened.max_automatic_token_associations,
    }
    network.submit(
        "cryptoCreateAccount",
        body,
        payer=payer.number,
        receipt={"accountID": account(opened.number)},
        record={"alias": opened.alias, "evm_address": opened.evm_address or b""},
        envelope=_before(transaction_id),
        fee=0,
    )
    amount = network.choose.randrange(20, 400) * HBAR
    network.submit(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": _amounts(payer.number, AccountID(alias=opened.alias), amount)}},
        payer=payer.number,
        envelope={"transactionID": transaction_id},
        transfers={payer.number: -amount, opened.number: amount},
        fee=network.fee("cryptoTransfer") + _CREATION_FEE,
    )


def _amounts(payer: int, receiver: Any, amount: int) -> list[Any]:
    return [
        AccountAmount(accountID=account(payer), amount=-amount),
        AccountAmount(accountID=receiver, amount=amount),
    ]


def _before(transaction_id: Any) -> dict[str, Any]:
    """Return the fields of the TransactionBody that precedes its cause. No node received it."""
    own = TransactionID()
    own.CopyFrom(transaction_id)
    own.nonce = 1
    return {"transactionID": own, "nodeAccountID": {}}


ACTIONS = weighted((1, pay_to_nobody, complete))
