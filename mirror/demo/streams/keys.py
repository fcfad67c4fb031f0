"""The keys of nodes and people, and those with which the nodes sign blocks together.

The keys of the nodes (node_keys.pem) are published with the program, so that the same seed gives the same
signature files; those of people are computed from account numbers. They are only fit for a demo.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mirror.core import config
from mirror.demo.streams.signing import SigningNode, address_book

if TYPE_CHECKING:
    from mirror.demo.streams.threshold_signer import ThresholdSigner

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from hashlib import sha256

from bitcurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mirror.core.values.alias import evm_address_of_key
from mirror.core.values.hapi.messages import Key, SignatureMap
from mirror.core.values.hashes import keccak256
from mirror.demo.streams.plain import serialized

_WEIGHT = 1_000
_KEYS = Path(__file__).parent / "node_keys.pem"
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n", re.DOTALL)


def nodes() -> tuple[SigningNode, ...]:
    """Return the nodes that sign the stream: 0 to 3, with the accounts 3 to 6 of the network's own realm."""
    return _nodes(*config.shard_and_realm())


def first_book() -> bytes:
    """Return the serialized NodeAddressBook that the network begins with."""
    return address_book(node.address_book_node for node in nodes())


@cache
def _nodes(shard: int, realm: int) -> tuple[SigningNode, ...]:
    keys = enumerate(_KEY.findall(_KEYS.read_bytes()))
    return tuple(SigningNode(index, key, shard, realm) for index, key in keys)


@cache
def block_signer() -> "ThresholdSigner":
    """Return the signer of blocks: all nodes, with the same weight. Its keys come from a word, for a demo."""
    # Imported here, as threshold signatures take memory that networks of record files don't need.
    from mirror.demo.streams.threshold_signer import ThresholdSigner

    return ThresholdSigner({node.node_id: _WEIGHT for node in nodes()}, "demo")


NO_KEY = b"\x32\x00"  # a Key with an empty list, which removes a key


class Wallet(ABC):
    """A key pair, which follows from words. `kind` is its field in Key and in SignaturePair."""

    kind: str
    public: bytes

    @property
    def key(self) -> bytes:
        return serialized(Key, {self.kind: self.public})

    @abstractmethod
    def signature(self, message: bytes) -> bytes:
        """Sign a message."""

    def signatures(self, message: bytes) -> SignatureMap:
        return SignatureMap(sigPair=[{"pubKeyPrefix": self.public, self.kind: self.signature(message)}])


class Ed25519Wallet(Wallet):
    kind = "ed25519"

    def __init__(self, *words: object) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(secret(*words))
        self.public = self._private.public_key().public_bytes_raw()

    def signature(self, message: bytes) -> bytes:
        return self._private.sign(message)


class EcdsaWallet(Wallet):
    """A secp256k1 key pair, which can sign Ethereum transactions. `public` is compressed, 33 bytes."""

    kind = "ECDSA_secp256k1"

    def __init__(self, *words: object) -> None:
        self._private = PrivateKey(secret(*words))
        self.public = self._private.public_key.format()

    @cached_property
    def evm_address(self) -> bytes:
        address = evm_address_of_key(self.public)
        assert address is not None
        return address

    def signature(self, message: bytes) -> bytes:
        return self._private.sign_recoverable(keccak256(message), hasher=None)[:64]

    def sign(self, digest: bytes) -> tuple[int, int, int]:
        """Sign a 32-byte digest. Return the recovery id, r and s."""
        signature = self._private.sign_recoverable(digest, hasher=None)
        return signature[64], int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")


@lru_cache(maxsize=1_024)
def wallet_of(number: int, key: bytes | None) -> Wallet | None:
    """Return the wallet of an account with a (serialized) key; None if that is a list or empty."""
    wallets = (Ed25519Wallet(number), EcdsaWallet(number), Ed25519Wallet(number, "spare"))
    return next((wallet for wallet in wallets if wallet.key == key), None)


def threshold_key(*keys: bytes) -> bytes:
    """Return the serialized threshold key of these keys, of which any two sign."""
    return serialized(Key, {"thresholdKey": {"threshold": 2, "keys": {"keys": keys}}})


def secret(*words: object) -> bytes:
    """Return 32 bytes that follow from words."""
    return sha256(" ".join(map(str, ("demo", *words))).encode()).digest()
