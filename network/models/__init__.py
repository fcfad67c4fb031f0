from network.models.address_book import AddressBook, AddressBookEntry, AddressBookServiceEndpoint
from network.models.ledger import Ledger
from network.models.node import Node, NodeHistory
from network.models.registered_node import RegisteredNode, RegisteredNodeHistory
from network.models.stake import NetworkStake, NodeStake
