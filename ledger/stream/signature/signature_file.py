"""Signature files of formats 2, 5 and 6: one node's signatures of one stream file.

Nodes sign 48-byte hashes (RSA with PKCS#1 v1.5 over SHA-384): of the file, and from format 5 on also of its
metadata. Signatures cover the hashes alone, so the fields around them have to be exactly what every node
writes; else damage would go unnoticed.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_der_public_key

from ledger.stream import balance_names, record_names
from ledger.stream.binary_format import Reader
from ledger.stream.content import content_of
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError
from mirror.core.values.hashes import SHA_384_LENGTH

MAX_SIGNATURE = 384
SIGNATURE_CLASS_ID = 0x13DC4B399B245C69
V2_FIRST_BYTE, V5, V6 = 4, 5, 6
SHA_384, SHA_384_WITH_RSA = 1, 1  # enum HashAlgorithm, enum SignatureType
CHECKSUM_BASE = 101

_V2_SIGNATURE_MARKER = 3
_OBJECT_VERSION = 1


def verify(public_key: str, signed_hash: bytes, signature: bytes) -> bool:
    """Return whether a signature of 48 bytes is by a public key in hex of DER; False if it is no RSA key."""
    key = _rsa_key(public_key)
    if key is None:
        return False
    try:
        key.verify(signature, signed_hash, padding.PKCS1v15(), SHA384())
    except InvalidSignature:
        return False
    return True


@cache
def _rsa_key(text: str) -> rsa.RSAPublicKey | None:
    try:
        key = load_der_public_key(bytes.fromhex(text))
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, rsa.RSAPublicKey) else None


@dataclass(frozen=True, slots=True)
class SignatureFile:
    """A signature file: 48-byte hashes and the signatures over them. Format 2 has no metadata hash."""

    name: str
    version: int
    file_hash: bytes
    file_signature: bytes
    metadata_hash: bytes | None = None
    metadata_signature: bytes | None = None

    @property
    def data_name(self) -> str:
        if balance_names.is_balance(self.name):
            return balance_names.data_name(self.name)
        return record_names.data_name(self.name, self.version)

    def is_signed_by(self, public_key: str) -> bool:
        """Return whether all of its signatures are by a node's key (the text in an address book)."""
        if not verify(public_key, self.file_hash, self.file_signature):
            return False
        if self.metadata_hash is None or self.metadata_signature is None:
            return True
        return verify(public_key, self.metadata_hash, self.metadata_signature)


def read_signature_file(name: str, data: bytes) -> SignatureFile:
    """Read a signature file. Errors: StreamFileError if it is corrupt or of an unknown format."""
    parsed = balance_names.parse(name) if balance_names.is_balance(name) else record_names.parse(name)
    if not parsed.is_signature:
        raise record_names.invalid(name, record_names.SIGNATURE)
    reader = Reader(parsed.name, content_of(parsed, data))
    version = reader.byte("format version")
    read = {V2_FIRST_BYTE: _read_v2, V5: _read_v5, V6: _read_v6}.get(version)
    if read is None:
        raise reader.failure(
            f"signature file format {version} is unknown; known are 4 (version 2), 5 and 6", 0
        )
    return read(reader)


def signature_content_v2(file_hash: bytes, signature: bytes) -> bytes:
    """Return the content of a signature file of format 2 from a signature of a file of any format."""
    length = len(signature).to_bytes(4, "big")
    return bytes([V2_FIRST_BYTE]) + file_hash + bytes([_V2_SIGNATURE_MARKER]) + length + signature


def _read_v2(reader: Reader) -> SignatureFile:
    file_hash = reader.take(SHA_384_LENGTH, "file hash")
    reader.expect(reader.byte, _V2_SIGNATURE_MARKER, "signature marker")
    signature = reader.blob("signature", MAX_SIGNATURE)
    reader.finish()
    return SignatureFile(reader.file, 2, file_hash, signature)


def _read_v5(reader: Reader) -> SignatureFile:
    reader.expect(reader.int32, _OBJECT_VERSION, "object stream signature version", "format")
    file_hash = reader.hash_object("file hash").hash
    file_signature = _v5_signature(reader, "file signature")
    metadata_hash = reader.hash_object("metadata hash").hash
    metadata_signature = _v5_signature(reader, "metadata signature")
    reader.finish()
    return SignatureFile(reader.file, V5, file_hash, file_signature, metadata_hash, metadata_signature)


def _v5_signature(reader: Reader, name: str) -> bytes:
    reader.expect(reader.uint64, SIGNATURE_CLASS_ID, f"class id of the {name}", name)
    reader.expect(reader.int32, _OBJECT_VERSION, f"class version of the {name}", name)
    reader.expect(reader.int32, SHA_384_WITH_RSA, f"type of the {name}", name)
    start = reader.position
    length = reader.int32(name)
    if not 1 <= length <= MAX_SIGNATURE:
        raise reader.failure(f"the {name} is {length} bytes long, not 1 to {MAX_SIGNATURE}", start)
    start = reader.position
    checksum = reader.int32(name)
    if checksum != CHECKSUM_BASE - length:
        raise reader.failure(f"the checksum of the {name} is {checksum}, not {CHECKSUM_BASE - length}", start)
    return reader.take(length, name)


def _read_v6(reader: Reader) -> SignatureFile:
    content = reader.content[reader.position :]
    try:
        message = messages.parse(messages.SignatureFile, content)
    except DecodeError as error:
        raise reader.failure(f"the content cannot be parsed ({error})") from error
    if message.SerializeToString() != content:
        raise reader.failure("the content is written otherwise than by any node")
    file_hash, file_signature = _v6_signature(reader, message, "file_signature")
    metadata_hash, metadata_signature = _v6_signature(reader, message, "metadata_signature")
    return SignatureFile(reader.file, V6, file_hash, file_signature, metadata_hash, metadata_signature)


def _v6_signature(reader: Reader, message: Any, field: str) -> tuple[bytes, bytes]:
    name = field.replace("_", " ")
    if not message.HasField(field):
        raise reader.failure(f"it has no {name}")
    signed = getattr(message, field)
    if signed.type != SHA_384_WITH_RSA:
        raise reader.failure(
            f"the {name} is of type {signed.type}, not {SHA_384_WITH_RSA} (SHA-384 with RSA)"
        )
    digest: bytes = signed.hash_object.hash
    if len(digest) != SHA_384_LENGTH:
        raise reader.failure(f"the {name} is over a hash of {len(digest)} bytes, not {SHA_384_LENGTH}")
    signature: bytes = signed.signature
    if not signature:
        raise reader.failure(f"the {name} is empty")
    stated = signed.length, signed.checksum, signed.hash_object.algorithm, signed.hash_object.length
    if stated != (len(signature), CHECKSUM_BASE - len(signature), SHA_384, SHA_384_LENGTH):
        raise reader.failure(f"the {name} is not what its length, checksum and hash algorithm say")
    return digest, signature
