"""The keys of the network's people.

They follow from the account's number: anyone can compute them, so they are fit for a demo alone.
"""

from functools import cached_property, lru_cache
from hashlib import sha256

from coincurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mirror.values.alias import evm_address_of_key
from mirror.values.hapi import Key, SignatureMap
from mirror.values.hashes import keccak256

NO_KEY = b"\x32\x00"  # a Key with an empty list: it takes a key away


class Ed25519Wallet:
    """An Ed25519 key pair."""

    def __init__(self, *words: object) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(_secret(*words))

    @cached_property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    @property
    def key(self) -> bytes:
        """The serialized Key."""
        serialized: bytes = Key(ed25519=self.public).SerializeToString()
        return serialized

    def signatures(self, message: bytes) -> SignatureMap:
        """The SignatureMap of a signed message."""
        pair = {"pubKeyPrefix": self.public, "ed25519": self._private.sign(message)}
        return SignatureMap(sigPair=[pair])


class EcdsaWallet:
    """A secp256k1 key pair, which Ethereum transactions are signed with."""

    def __init__(self, *words: object) -> None:
        self._private = PrivateKey(_secret(*words))

    @cached_property
    def public(self) -> bytes:
        """The compressed public key, 33 bytes."""
        return self._private.public_key.format()

    @property
    def key(self) -> bytes:
        """The serialized Key; it is the alias of accounts that are created by it."""
        serialized: bytes = Key(ECDSA_secp256k1=self.public).SerializeToString()
        return serialized

    @cached_property
    def evm_address(self) -> bytes:
        address = evm_address_of_key(self.public)
        assert address is not None
        return address

    def signatures(self, message: bytes) -> SignatureMap:
        """The SignatureMap of a signed message."""
        signature = self._private.sign_recoverable(keccak256(message), hasher=None)[:64]
        return SignatureMap(sigPair=[{"pubKeyPrefix": self.public, "ECDSA_secp256k1": signature}])

    def sign(self, digest: bytes) -> tuple[int, int, int]:
        """The recovery id and the numbers r and s of a signature of 32 bytes."""
        signature = self._private.sign_recoverable(digest, hasher=None)
        return signature[64], int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")


@lru_cache(maxsize=1_024)
def wallet_of(number: int, key: bytes | None) -> "Ed25519Wallet | EcdsaWallet | None":
    """The wallet that holds an account's (serialized) key; None when that is a list, or empty."""
    wallets = (Ed25519Wallet(number), EcdsaWallet(number), Ed25519Wallet(number, "spare"))
    return next((wallet for wallet in wallets if wallet.key == key), None)


def _secret(*words: object) -> bytes:
    return sha256(" ".join(map(str, ("demo", *words))).encode()).digest()
