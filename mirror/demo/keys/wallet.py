"""The keys of people. They are computed from account numbers, so they are only fit for a demo."""

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from hashlib import sha256

from bitcurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mirror.core.values.alias import evm_address_of_key
from mirror.core.values.hapi.messages import Key, SignatureMap
from mirror.core.values.hashes import keccak256
from mirror.demo.streams.plain import serialized

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
