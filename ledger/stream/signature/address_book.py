"""Address books: the nodes and the keys they sign with (content of files 0.0.101 and 0.0.102)."""

from pathlib import Path
from typing import Any, NamedTuple

from ledger.stream.errors import StreamFileError
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError, NodeAddressBook

# The account of node 0 when the network began; node ids and accounts ran in step from there.
FIRST_NODE_ACCOUNT = 3
# Books of the first years give every node the id 0; up to this account number the account tells the id.
_LAST_EARLY_ACCOUNT = 20

#: The files of the address books that come with the program; the app that has them adds them.
BUNDLED: list[Path] = []


class AddressBookNode(NamedTuple):
    """A node: its id, its account (encoded) and its RSA key (hex of the DER SubjectPublicKeyInfo)."""

    node_id: int
    account_id: int
    public_key: str


def read_address_book(name: str, data: bytes) -> list[AddressBookNode]:
    """Return the nodes of a NodeAddressBook, the first entry of each. Errors: StreamFileError."""
    try:
        message = messages.parse(NodeAddressBook, data)
    except DecodeError as error:
        raise StreamFileError(name, 0, f"its content is not that of one ({error})") from error
    nodes: dict[int, AddressBookNode] = {}
    for entry in message.nodeAddress:
        account = account_of(name, entry)
        node = AddressBookNode(node_id_of(entry.nodeId, account), account, entry.RSA_PubKey)
        nodes.setdefault(node.node_id, node)
    return list(nodes.values())


def account_of(name: str, entry: Any) -> int:
    """Return the account of a NodeAddress; old books have it only in the memo. Errors: StreamFileError."""
    try:
        if not entry.HasField("nodeAccountId"):
            return entity_id.parse(entry.memo.decode("ascii", "replace"))
        account = entity_id.from_account(entry.nodeAccountId)
        if isinstance(account, entity_id.OutOfRangeEntityId):
            raise entity_id.InvalidEntityId(account.problem)
    except entity_id.InvalidEntityId as error:
        raise StreamFileError(name, 0, f"a node of the address book has no account: {error}") from error
    return account


def node_id_of(node_id: int, account_id: int) -> int:
    """Return the id of a node, corrected for the first years; `account_id` is encoded."""
    num = entity_id.decode(account_id)[2]
    if node_id == 0 and num < _LAST_EARLY_ACCOUNT and num != FIRST_NODE_ACCOUNT:
        return num - FIRST_NODE_ACCOUNT
    return node_id
