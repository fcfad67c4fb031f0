"""RSA keys of nodes, which sign stream files: PKCS#1 v1.5 over SHA-384 of the 48-byte hash."""

from dataclasses import dataclass
from functools import cache, cached_property

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_pem_private_key,
)

from ledger.stream.signature.address_book import FIRST_NODE_ACCOUNT, AddressBookNode

_KEY_BITS = 3072
_PUBLIC_EXPONENT = 65537


def verify(public_key: str, signed_hash: bytes, signature: bytes) -> bool:
    """Return whether `signature` is a node's over the 48 bytes `signed_hash`.

    `public_key` is the text in an address book: hex of the DER SubjectPublicKeyInfo. If it is no RSA key,
    nothing verifies.
    """
    key = _public_key(public_key)
    if key is None:
        return False
    try:
        key.verify(signature, signed_hash, padding.PKCS1v15(), SHA384())
    except InvalidSignature:
        return False
    return True


@cache
def _public_key(text: str) -> rsa.RSAPublicKey | None:
    try:
        key = load_der_public_key(bytes.fromhex(text))
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, rsa.RSAPublicKey) else None


@dataclass(frozen=True)
class SigningNode:
    """A node of a composed network with its private key (PEM); its signatures are reproducible."""

    node_id: int
    private_key: bytes

    @classmethod
    def generate(cls, node_id: int) -> "SigningNode":
        """Return a node with a new key, which takes up to a second to make."""
        key = rsa.generate_private_key(_PUBLIC_EXPONENT, _KEY_BITS)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return cls(node_id, pem)

    @property
    def account_id(self) -> int:
        return self.node_id + FIRST_NODE_ACCOUNT

    @property
    def address_book_node(self) -> AddressBookNode:
        der = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return AddressBookNode(self.node_id, self.account_id, der.hex())

    def __reduce__(self) -> tuple[type["SigningNode"], tuple[int, bytes]]:
        # The library's key object can't be pickled.
        return SigningNode, (self.node_id, self.private_key)

    def sign(self, hash_to_sign: bytes) -> bytes:
        return self._key.sign(hash_to_sign, padding.PKCS1v15(), SHA384())

    @cached_property
    def _key(self) -> rsa.RSAPrivateKey:
        key = load_pem_private_key(
            self.private_key,
            password=None,
            # Validating a key takes long; signatures by a wrong key would fail.
            unsafe_skip_rsa_key_validation=True,
        )
        if not isinstance(key, rsa.RSAPrivateKey):
            raise ValueError(f"the private key of node {self.node_id} is not an RSA key")
        return key


@cache
def signing_nodes(count: int) -> tuple[SigningNode, ...]:
    """Return nodes 0 to `count` - 1, with keys made once per process."""
    return tuple(SigningNode.generate(node_id) for node_id in range(count))
