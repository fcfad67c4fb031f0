"""Accounts that are created by a payment: hollow ones have no key until their owner signs.

The transaction that creates or completes such an account precedes its cause in the file: it has the same id
with a nonce, and no parent.
"""

from typing import Any

from mirror.core.values.hapi.messages import AccountID, TransactionID
from mirror.demo.actions.accounts import people
from mirror.demo.keys.wallet import NO_KEY, EcdsaWallet, Ed25519Wallet
from mirror.demo.network import Network, require, weighted
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, HBAR, Account

_MOST = 10
_CREATION_FEE = 60_000_000


def pay_to_nobody(network: Network) -> None:
    """Pay to an unused EVM address, which opens an account without a key, or to a public key."""
    payer = network.person(at_least=1_000 * HBAR).number
    require(len(network.world.hollow) < _MOST and people.has_room(network))
    is_hollow, number = network.choose.random() < 0.7, network.new_number()
    opened = Account(number, network.now, balance_timestamp=network.now)
    opened.max_automatic_token_associations, opened.auto_renew_period = -1, AUTO_RENEW_PERIOD
    if is_hollow:
        opened.alias = opened.evm_address = EcdsaWallet(number).evm_address
        opened.key, opened.memo = NO_KEY, people.LAZY_CREATED
    else:
        opened.alias = opened.key = Ed25519Wallet(number).key
        opened.memo = people.AUTO_CREATED
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
        people.welcome(network, opened)


def complete(network: Network) -> None:
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
    people.welcome(network, owner)


def _before(transaction_id: Any) -> dict[str, Any]:
    """Return the fields of the TransactionBody that precedes its cause. No node received it."""
    own = TransactionID()
    own.CopyFrom(transaction_id)
    own.nonce = 1
    return {"transactionID": own, "nodeAccountID": {}}


ACTIONS = weighted((1, pay_to_nobody, complete))
