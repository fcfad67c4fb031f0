"""The nodes of a composed network with their private keys, its address books and its signature files."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from ledger.stream.signature.address_book import FIRST_NODE_ACCOUNT, AddressBookNode
from ledger.stream.signature.signature_file import (
    CHECKSUM_BASE,
    SHA_384,
    SHA_384_WITH_RSA,
    V6,
    signature_content_v2,
)
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import HashObject, NodeAddressBook, SignatureObject
from mirror.core.values.hashes import SHA_384_LENGTH


@dataclass(frozen=True)
class SigningNode:
    """A node of a composed network with its private key (PEM); its signatures are reproducible."""

    node_id: int
    private_key: bytes
    shard: int = 0
    realm: int = 0

    @property
    def account_id(self) -> int:
        """The number of its account."""
        return self.node_id + FIRST_NODE_ACCOUNT

    @property
    def account_text(self) -> str:
        return f"{self.shard}.{self.realm}.{self.account_id}"

    @property
    def address_book_node(self) -> AddressBookNode:
        der = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        account = entity_id.encode(self.shard, self.realm, self.account_id)
        return AddressBookNode(self.node_id, account, der.hex())

    def sign(self, hash_to_sign: bytes) -> bytes:
        return self._key.sign(hash_to_sign, padding.PKCS1v15(), SHA384())

    @cached_property
    def _key(self) -> rsa.RSAPrivateKey:
        # Validating a key takes long; signatures by a wrong key would fail.
        key = load_pem_private_key(self.private_key, password=None, unsafe_skip_rsa_key_validation=True)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise ValueError(f"the private key of node {self.node_id} is not an RSA key")
        return key


def address_book(nodes: Iterable[AddressBookNode]) -> bytes:
    book = NodeAddressBook()
    for node in nodes:
        shard, realm, num = entity_id.decode(node.account_id)
        book.nodeAddress.add(
            nodeId=node.node_id,
            RSA_PubKey=node.public_key,
            memo=f"{shard}.{realm}.{num}".encode(),
            description=f"Node {node.node_id}",
            nodeAccountId={"shardNum": shard, "realmNum": realm, "accountNum": num},
        )
    serialized: bytes = book.SerializeToString()
    return serialized


def signature_file(node: SigningNode, file_hash: bytes, metadata_hash: bytes) -> bytes:
    """Return the content of a signature file of format 6."""
    message = messages.SignatureFile(
        file_signature=_signature_object(node, file_hash),
        metadata_signature=_signature_object(node, metadata_hash),
    )
    serialized: bytes = message.SerializeToString()
    return bytes([V6]) + serialized


def signature_file_v2(node: SigningNode, file_hash: bytes) -> bytes:
    """Return the content of a signature file of format 2, which balance files have."""
    return signature_content_v2(file_hash, node.sign(file_hash))


def _signature_object(node: SigningNode, digest: bytes) -> Any:
    signature = node.sign(digest)
    return SignatureObject(
        type=SHA_384_WITH_RSA,
        length=len(signature),
        checksum=CHECKSUM_BASE - len(signature),
        signature=signature,
        hash_object=HashObject(algorithm=SHA_384, length=SHA_384_LENGTH, hash=digest),
    )
