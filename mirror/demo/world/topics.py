"""Topics, their messages, and the running hash that chains the messages."""

from dataclasses import dataclass, field
from struct import Struct

from mirror.core import config
from mirror.core.values.hashes import SHA_384_LENGTH, sha384
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.streams.keys import NO_KEY

RUNNING_HASH_VERSION = 3

# The network hashes the values in Java's object serialization: the header of the stream, a byte array with
# its class descriptor, a block of plain values, and a byte array that refers to that descriptor.
_HEADER = bytes.fromhex("aced0005")
_FIRST_ARRAY = bytes.fromhex("757200025b42acf317f8060854e0020000787000000030")
_NEXT_ARRAY = bytes.fromhex("7571007e000000000030")
_VALUES = Struct(">BB8qiq")
_BLOCK = 0x77


@dataclass(frozen=True, slots=True)
class Message:
    """A message, or a chunk (number, total) of one with the serialized TransactionID of the first."""

    consensus_timestamp: int
    sequence_number: int
    contents: bytes
    payer: int
    running_hash: bytes
    chunk: tuple[int, int] | None = None
    initial_transaction_id: bytes | None = None


@dataclass(slots=True)
class Topic:
    """A topic. Keys are serialized; without a submit key any account may write to it.

    A message costs `fee` tinybars, or units of `fee_token`, which `owner` gets, unless its payer has one of
    `fee_exempt_keys`.
    `subject` is a place in the list of subjects, `sequence_number` that of the last message. `changed` and
    `fee_changed` are the times of the last changes, None if there was none.
    """

    number: int
    created: int
    owner: int
    subject: int
    memo: str
    admin_key: bytes | None = None
    submit_key: bytes | None = None
    fee_schedule_key: bytes | None = None
    fee_exempt_keys: list[bytes] = field(default_factory=list)
    fee: int | None = None
    fee_token: int | None = None
    auto_renew_account: int | None = None
    auto_renew_period: int | None = None  # seconds
    expiration: int | None = None
    deleted: bool = False
    changed: int | None = None
    fee_changed: int | None = None
    sequence_number: int = 0
    running_hash: bytes = bytes(SHA_384_LENGTH)
    messages: list[Message] = field(default_factory=list)

    @property
    def is_public(self) -> bool:
        return self.submit_key in (None, NO_KEY)

    @property
    def is_free(self) -> bool:
        """Return whether any account may write to it now without a fee."""
        return self.is_public and not self.deleted and not self.fee

    def add(
        self,
        contents: bytes,
        payer: int,
        at: int,
        chunk: tuple[int, int] | None = None,
        initial_transaction_id: bytes | None = None,
    ) -> Message:
        """Add a message. Return it with its number and the running hash after it."""
        self.sequence_number = number = self.sequence_number + 1
        self.running_hash = running_hash(self.running_hash, contents, payer, self.number, at, number)
        message = Message(at, number, contents, payer, self.running_hash, chunk, initial_transaction_id)
        self.messages.append(message)
        return message


def running_hash(previous: bytes, contents: bytes, payer: int, topic: int, at: int, number: int) -> bytes:
    """Return the running hash (version 3) of a topic after its message `number`, 48 bytes.

    Source: the hash before, the payer, the topic, the consensus timestamp `at` and the hash of the message.
    """
    own = config.shard_and_realm()
    seconds, nanos = divmod(at, NANOS_PER_SECOND)
    values = _VALUES.pack(
        _BLOCK, _VALUES.size - 2, RUNNING_HASH_VERSION, *own, payer, *own, topic, seconds, nanos, number
    )
    return sha384(_HEADER + _FIRST_ARRAY + previous + values + _NEXT_ARRAY + sha384(contents))
