"""The demo network: a small signed record stream that gives a new node something to show.

Its transactions are the same each time. The keys of its two nodes are not, and so neither are the signature
files and the address book.
"""

import hashlib
import shutil
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger.stream.compose import FEE_COLLECTOR, TREASURY, Composer, account
from ledger.stream.node_key import SigningNode, signing_nodes
from mirror import demo_services
from mirror.values.hapi import (
    CryptoCreateTransactionBody,
    CryptoUpdateTransactionBody,
    Key,
    TransactionBody,
    TransactionReceipt,
    TransactionRecord,
)
from network.models import AddressBook, AddressBookEntry

NETWORK = "demo"

_HBAR = 100_000_000
_SUPPLY = 50_000_000_000 * _HBAR
_SYSTEM_ACCOUNTS = (3, 4, FEE_COLLECTOR, 800, 801)
_PEOPLE = range(1001, 1011)
_ROUNDS = 16
_INSUFFICIENT_ACCOUNT_BALANCE = 28
_ADDRESS_BOOK_FILE = 102
# The first address book of a network is valid before its first transaction.
_FIRST_ADDRESS_BOOK = 1

_SERVICES = (
    (demo_services.issue_a_coin, demo_services.ISSUER),
    (demo_services.show_art, demo_services.ARTIST),
    (demo_services.talk, demo_services.SPEAKER),
    (demo_services.plan_ahead, demo_services.SPEAKER),
)


def write(folder: Path) -> tuple[SigningNode, ...]:
    """Write the stream into `folder`, laid out as a bucket, in place of what it held; gives the nodes."""
    if folder.exists():
        shutil.rmtree(folder)
    nodes = signing_nodes(2)
    network = Composer(nodes=nodes)
    for happen in (_genesis, _open_accounts, *[_trade] * _ROUNDS, _close_an_account):
        happen(network)
        network.block().write(folder, network=NETWORK)
    for serve, owner in _SERVICES:
        serve(network, _key(owner))
        network.block().write(folder, network=NETWORK)
    return nodes


def store_address_book(nodes: tuple[SigningNode, ...]) -> None:
    """Store the network's first address book, which no transaction of the stream carries."""
    AddressBook.objects.filter(start_consensus_timestamp=_FIRST_ADDRESS_BOOK).delete()
    AddressBookEntry.objects.filter(consensus_timestamp=_FIRST_ADDRESS_BOOK).delete()
    AddressBook.objects.create(
        start_consensus_timestamp=_FIRST_ADDRESS_BOOK,
        file_id=_ADDRESS_BOOK_FILE,
        node_count=len(nodes),
        file_data=Composer(nodes=nodes).address_book(),
    )
    AddressBookEntry.objects.bulk_create(
        AddressBookEntry(
            consensus_timestamp=_FIRST_ADDRESS_BOOK,
            node_id=node.node_id,
            node_account_id=node.account_id,
            public_key=node.address_book_node.public_key,
            memo=f"0.0.{node.account_id}",
            description="",
        )
        for node in nodes
    )


def _genesis(network: Composer) -> None:
    """The treasury with all hbars, and the accounts that take part in every fee."""
    for number in (TREASURY, *_SYSTEM_ACCOUNTS):
        network.transaction(
            TransactionBody(
                cryptoCreateAccount=CryptoCreateTransactionBody(key=_key(number)), memo="Synthetic genesis"
            ),
            TransactionRecord(receipt=TransactionReceipt(accountID=account(number))),
            fee=0,
            transfers={TREASURY: _SUPPLY} if number == TREASURY else None,
        )


def _open_accounts(network: Composer) -> None:
    for number in _PEOPLE:
        network.crypto_create(
            number,
            initial_balance=1_000 * _HBAR,
            create=CryptoCreateTransactionBody(key=_key(number), memo=f"Demo account {number}"),
        )


def _trade(network: Composer) -> None:
    """Everybody pays the next one; one change of a memo, and one payment of more than there is."""
    turn = network.block_number
    for step, payer in enumerate(_PEOPLE):
        receiver = _PEOPLE[(step + turn) % len(_PEOPLE)]
        if receiver != payer:
            amount = (step + 1) * turn * _HBAR // 4
            network.crypto_transfer({payer: -amount, receiver: amount}, payer=payer)
    changed = _PEOPLE[turn % len(_PEOPLE)]
    update = CryptoUpdateTransactionBody()
    update.memo.value = f"Changed in block {turn}"
    network.crypto_update(changed, update, payer=changed)
    network.crypto_transfer(
        {changed: -_SUPPLY, TREASURY: _SUPPLY}, payer=changed, result=_INSUFFICIENT_ACCOUNT_BALANCE
    )


def _close_an_account(network: Composer) -> None:
    network.crypto_create(1011, initial_balance=5 * _HBAR, payer=_PEOPLE[0])
    network.crypto_delete(1011, transfer_to=_PEOPLE[0], balance=5 * _HBAR, payer=_PEOPLE[0])


def _key(number: int) -> Key:
    """The public key of an account; anyone can compute its private key, so it is fit for a demo alone."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"demo {number}".encode()).digest())
    return Key(ed25519=private.public_key().public_bytes_raw())
