from network.models.address_book import AddressBook, AddressBookEntry, AddressBookServiceEndpoint
from network.models.node import Node, NodeHistory
from network.models.stake import NetworkStake, NodeStake

__all__ = [
    "AddressBook",
    "AddressBookEntry",
    "AddressBookServiceEndpoint",
    "NetworkStake",
    "Node",
    "NodeHistory",
    "NodeStake",
]
