"""The keys of people. They are computed from account numbers, so they are only fit for a demo."""

from functools import cached_property, lru_cache
from hashlib import sha256

from coincurve import PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mirror.core.values.alias import evm_address_of_key
from mirror.core.values.hapi.messages import Key, SignatureMap
from mirror.core.values.hashes import keccak256

NO_KEY = b"\x32\x00"  # a Key with an empty list, which removes a key


class Ed25519Wallet:
    """An Ed25519 key pair, which follows from `words`."""

    def __init__(self, *words: object) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(_secret(*words))

    @cached_property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    @property
    def key(self) -> bytes:
        """Return the serialized Key."""
        serialized: bytes = Key(ed25519=self.public).SerializeToString()
        return serialized

    def signatures(self, message: bytes) -> SignatureMap:
        """Sign a message and return the SignatureMap."""
        pair = {"pubKeyPrefix": self.public, "ed25519": self._private.sign(message)}
        return SignatureMap(sigPair=[pair])


class EcdsaWallet:
    """A secp256k1 key pair, which can sign Ethereum transactions."""

    def __init__(self, *words: object) -> None:
        self._private = PrivateKey(_secret(*words))

    @cached_property
    def public(self) -> bytes:
        """Return the compressed public key, 33 bytes."""
        return self._private.public_key.format()

    @property
    def key(self) -> bytes:
        """Return the serialized Key."""
        serialized: bytes = Key(ECDSA_secp256k1=self.public).SerializeToString()
        return serialized

    @cached_property
    def evm_address(self) -> bytes:
        address = evm_address_of_key(self.public)
        assert address is not None
        return address

    def signatures(self, message: bytes) -> SignatureMap:
        """Sign a message and return the SignatureMap."""
        signature = self._private.sign_recoverable(keccak256(message), hasher=None)[:64]
        return SignatureMap(sigPair=[{"pubKeyPrefix": self.public, "ECDSA_secp256k1": signature}])

    def sign(self, digest: bytes) -> tuple[int, int, int]:
        """Sign a 32-byte digest. Return the recovery id, r and s."""
        signature = self._private.sign_recoverable(digest, hasher=None)
        return signature[64], int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")


@lru_cache(maxsize=1_024)
def wallet_of(number: int, key: bytes | None) -> "Ed25519Wallet | EcdsaWallet | None":
    """Return the wallet of an account with a (serialized) key; None if that is a list or empty."""
    wallets = (Ed25519Wallet(number), EcdsaWallet(number), Ed25519Wallet(number, "spare"))
    return next((wallet for wallet in wallets if wallet.key == key), None)


def _secret(*words: object) -> bytes:
    return sha256(" ".join(map(str, ("demo", *words))).encode()).digest()
