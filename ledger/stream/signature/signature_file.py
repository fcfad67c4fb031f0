"""Signature files of formats 2, 5 and 6: one node's signatures of one stream file.

Nodes sign 48-byte hashes: of the file, and from format 5 on also of its metadata. Signatures cover the hashes
alone, so the fields around them have to be exactly what every node writes; else damage would go unnoticed.
"""

from dataclasses import dataclass
from typing import Any

from ledger.stream.balance import names as balance_names
from ledger.stream.content import content_of
from ledger.stream.record import names
from ledger.stream.record.reader import Reader
from ledger.stream.signature.node_key import SigningNode, verify
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError, HashObject, SignatureObject
from mirror.core.values.hashes import SHA_384_LENGTH

MAX_SIGNATURE = 384
SIGNATURE_CLASS_ID = 0x13DC4B399B245C69

_V2_FIRST_BYTE, _V2_SIGNATURE_MARKER = 4, 3
_V5, _V6 = 5, 6
_OBJECT_VERSION = 1
_SHA_384_WITH_RSA = 1
_CHECKSUM_BASE = 101
_SHA_384 = 1  # enum HashAlgorithm


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
        """The name of the file that is signed."""
        if balance_names.is_balance(self.name):
            return balance_names.data_name(self.name)
        return names.data_name(self.name, self.version)

    def is_signed_by(self, public_key: str) -> bool:
        """Return whether all of its signatures are by a node's key (the text in an address book)."""
        if not verify(public_key, self.file_hash, self.file_signature):
            return False
        if self.metadata_hash is None or self.metadata_signature is None:
            return True
        return verify(public_key, self.metadata_hash, self.metadata_signature)


def read_signature_file(name: str, data: bytes) -> SignatureFile:
    """Read the signature file stored as `data` under `name`.

    Errors: StreamFileError when it is corrupt or of an unknown format.
    """
    parsed = balance_names.parse(name) if balance_names.is_balance(name) else names.parse(name)
    if not parsed.is_signature:
        raise names.invalid(name, names.SIGNATURE)
    reader = Reader(parsed.name, content_of(parsed, data))
    version = reader.byte("format version")
    if version == _V6:
        return _read_v6(reader)
    if version == _V5:
        return _read_v5(reader)
    if version == _V2_FIRST_BYTE:
        return _read_v2(reader)
    raise reader.failure(f"signature file format {version} is unknown; known are 4 (version 2), 5 and 6", 0)


def signature_file(node: SigningNode, file_hash: bytes, metadata_hash: bytes) -> bytes:
    """Return the content of a signature file of format 6."""
    message = messages.SignatureFile(
        file_signature=_signature_object(node, file_hash),
        metadata_signature=_signature_object(node, metadata_hash),
    )
    serialized: bytes = message.SerializeToString()
    return bytes([_V6]) + serialized


def signature_file_v2(node: SigningNode, file_hash: bytes) -> bytes:
    """Return the content of a signature file of format 2, which balance files have."""
    return signature_content_v2(file_hash, node.sign(file_hash))


def signature_content_v2(file_hash: bytes, signature: bytes) -> bytes:
    """Return the content of a signature file of format 2 from a signature of a file of any format."""
    return b"".join(
        (
            bytes([_V2_FIRST_BYTE]),
            file_hash,
            bytes([_V2_SIGNATURE_MARKER]),
            len(signature).to_bytes(4, "big"),
            signature,
        )
    )


def _read_v2(reader: Reader) -> SignatureFile:
    file_hash = reader.take(SHA_384_LENGTH, "file hash")
    start = reader.position
    reader.expect(reader.byte("signature marker"), _V2_SIGNATURE_MARKER, "signature marker", start)
    signature = reader.blob("signature", MAX_SIGNATURE)
    reader.finish()
    return SignatureFile(reader.file, 2, file_hash, signature)


def _read_v5(reader: Reader) -> SignatureFile:
    start = reader.position
    reader.expect(reader.int32("format"), _OBJECT_VERSION, "object stream signature version", start)
    file_hash = reader.hash_object("file hash").hash
    file_signature = _v5_signature(reader, "file signature")
    metadata_hash = reader.hash_object("metadata hash").hash
    metadata_signature = _v5_signature(reader, "metadata signature")
    reader.finish()
    return SignatureFile(reader.file, _V5, file_hash, file_signature, metadata_hash, metadata_signature)


def _v5_signature(reader: Reader, what: str) -> bytes:
    start = reader.position
    reader.expect(reader.uint64(what), SIGNATURE_CLASS_ID, f"class id of the {what}", start)
    start = reader.position
    reader.expect(reader.int32(what), _OBJECT_VERSION, f"class version of the {what}", start)
    start = reader.position
    reader.expect(reader.int32(what), _SHA_384_WITH_RSA, f"type of the {what}", start)
    start = reader.position
    length = reader.int32(what)
    if not 1 <= length <= MAX_SIGNATURE:
        raise reader.failure(f"the {what} is {length} bytes long, not 1 to {MAX_SIGNATURE}", start)
    start = reader.position
    checksum = reader.int32(what)
    if checksum != _CHECKSUM_BASE - length:
        raise reader.failure(
            f"the checksum of the {what} is {checksum}, not {_CHECKSUM_BASE - length}", start
        )
    return reader.take(length, what)


def _read_v6(reader: Reader) -> SignatureFile:
    try:
        message = messages.parse(messages.SignatureFile, reader.content[reader.position :])
    except DecodeError as error:
        raise reader.failure(f"the content cannot be parsed ({error})") from error
    if message.SerializeToString() != reader.content[reader.position :]:
        raise reader.failure("the content is written otherwise than by any node")
    file_hash, file_signature = _v6_signature(reader, message, "file_signature")
    metadata_hash, metadata_signature = _v6_signature(reader, message, "metadata_signature")
    return SignatureFile(reader.file, _V6, file_hash, file_signature, metadata_hash, metadata_signature)


def _v6_signature(reader: Reader, message: Any, field: str) -> tuple[bytes, bytes]:
    what = field.replace("_", " ")
    if not message.HasField(field):
        raise reader.failure(f"it has no {what}")
    signed = getattr(message, field)
    if signed.type != _SHA_384_WITH_RSA:
        raise reader.failure(
            f"the {what} is of type {signed.type}, not {_SHA_384_WITH_RSA} (SHA-384 with RSA)"
        )
    digest: bytes = signed.hash_object.hash
    if len(digest) != SHA_384_LENGTH:
        raise reader.failure(f"the {what} is over a hash of {len(digest)} bytes, not {SHA_384_LENGTH}")
    signature: bytes = signed.signature
    if not signature:
        raise reader.failure(f"the {what} is empty")
    stated = signed.length, signed.checksum, signed.hash_object.algorithm, signed.hash_object.length
    if stated != (len(signature), _CHECKSUM_BASE - len(signature), _SHA_384, SHA_384_LENGTH):
        raise reader.failure(f"the {what} is not what its length, checksum and hash algorithm say")
    return digest, signature


def _signature_object(node: SigningNode, digest: bytes) -> Any:
    signature = node.sign(digest)
    return SignatureObject(
        type=_SHA_384_WITH_RSA,
        length=len(signature),
        checksum=_CHECKSUM_BASE - len(signature),
        signature=signature,
        hash_object=HashObject(algorithm=_SHA_384, length=SHA_384_LENGTH, hash=digest),
    )
