"""Balance files: what every account of a network holds at one time, in hbars and tokens.

Nodes write and sign them every 15 minutes. There are three formats: text without tokens (version 1), text
with tokens in a column of base64 (version 2), and a protobuf message. A file may have millions of accounts,
so they are read one after another and never all at once.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ledger.stream import balance_names
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError, damaged
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import (
    AllAccountBalances,
    DecodeError,
    SingleAccountBalances,
    TokenBalances,
)
from mirror.core.values.hashes import sha384

# Of what a network holds in hbars, all accounts together (tinybars).
TOTAL_TINYBARS = 50_000_000_000 * 100_000_000

# The head of a text in version 1 is not longer.
_HEAD_LINES = 10
_VERSION_2 = re.compile(rb"# version:2", re.IGNORECASE)
_TIME = re.compile(rb"(?:#\s*)?timestamp:\s*(\S+)\s*", re.IGNORECASE)
_COLUMNS = re.compile(rb"shard", re.IGNORECASE)
_NUMBER = re.compile(rb"[0-9]{1,19}")
_MAX_FIELDS = 5
_MAX_VALUE = (1 << 63) - 1

_TIME_FIELD = AllAccountBalances.CONSENSUSTIMESTAMP_FIELD_NUMBER
_ACCOUNT_FIELD = AllAccountBalances.ALLACCOUNTS_FIELD_NUMBER


class Holding(NamedTuple):
    """What an account holds: tinybars, and pairs of a token and its units. Ids are encoded."""

    account_id: int
    balance: int
    tokens: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class BalanceFile:
    """A balance file; `consensus_timestamp` (ns) is the time that it states inside.

    `file_hash` is the SHA-384 of its content in lower-case hex, which nodes sign; `version` is 1 or 2 for
    text and 3 for protobuf. `start` is where the accounts begin.
    """

    name: str
    consensus_timestamp: int
    file_hash: str
    version: int
    content: bytes
    start: int = 0

    metadata_hash = None

    def holdings(self) -> Iterator[Holding]:
        """Yield the accounts in the order of the file. Errors: StreamFileError."""
        return self._messages() if self.version == 3 else self._lines()

    def _lines(self) -> Iterator[Holding]:
        content, position = self.content, self.start
        while position < len(content):
            end = content.find(b"\n", position)
            end = len(content) if end < 0 else end
            values = [value for field in content[position:end].split(b",") if (value := field.strip())]
            if values:
                yield self._parse_line(values, position)
            position = end + 1

    def _parse_line(self, values: list[bytes], position: int) -> Holding:
        if not 4 <= len(values) <= (_MAX_FIELDS if self.version == 2 else 4):
            raise self._failure(
                position, f"the line has {len(values)} values, not shard, realm, number, balance"
            )
        if not all(_NUMBER.fullmatch(value) for value in values[:4]):
            raise self._failure(position, "the line has something else than whole numbers from 0 on")
        shard, realm, num, balance = map(int, values[:4])
        tokens = self._tokens(values[4], position) if len(values) == _MAX_FIELDS else ()
        return self._holding(position, (shard, realm, num), balance, tokens)

    def _tokens(self, text: bytes, position: int) -> Sequence[Any]:
        try:
            balances: Sequence[Any] = messages.parse(
                TokenBalances, b64decode(text, validate=True)
            ).tokenBalances
            return balances
        except (binascii.Error, DecodeError) as error:
            raise self._failure(position, f"the balances of tokens can't be read ({error})") from error

    def _messages(self) -> Iterator[Holding]:
        content = self.content
        try:
            for field in wire.fields(content):
                if field.number != _ACCOUNT_FIELD or field.wire_type != wire.LENGTH_DELIMITED:
                    continue
                message = messages.parse(SingleAccountBalances, content[field.value : field.end])
                account = message.accountID
                yield self._holding(
                    field.start,
                    (account.shardNum, account.realmNum, account.accountNum),
                    message.hbarBalance,
                    message.tokenUnitBalances,
                )
        except DecodeError as error:
            raise self._failure(0, f"its content can't be parsed ({error})") from error

    def _holding(
        self, position: int, account: tuple[int, int, int], balance: int, tokens: Sequence[Any]
    ) -> Holding:
        try:
            account_id = entity_id.encode(*account)
            held = tuple(
                (
                    entity_id.encode(token.tokenId.shardNum, token.tokenId.realmNum, token.tokenId.tokenNum),
                    amount,
                )
                for token in tokens
                if (amount := token.balance) <= _MAX_VALUE
            )
        except entity_id.InvalidEntityId as error:
            raise self._failure(position, f"an impossible id: {error}") from error
        if balance > _MAX_VALUE or len(held) < len(tokens):
            raise self._failure(position, "a balance of more than 63 bits")
        return Holding(account_id, balance, held)

    def _failure(self, position: int, cause: str) -> StreamFileError:
        return damaged(self.name, cause, position)


def read_balance_file(name: str, data: bytes) -> BalanceFile:
    """Read the head of a balance file. Errors: StreamFileError if it is corrupt or of an unknown format."""
    parsed = balance_names.parse(name)
    content = content_of(parsed, data)
    if parsed.format == balance_names.PROTOBUF:
        return _protobuf(parsed.name, content)
    return _text(parsed.name, content)


def _protobuf(name: str, content: bytes) -> BalanceFile:
    at = None
    try:
        for field in wire.fields(content):
            if field.number == _TIME_FIELD:
                at = timestamp.to_ns(messages.parse(messages.Timestamp, content[field.value : field.end]))
    except DecodeError as error:
        raise damaged(name, f"its content can't be parsed ({error})") from error
    if at is None:
        raise damaged(name, "it does not state its time")
    return BalanceFile(name, at, sha384(content).hex(), 3, content)


def _text(name: str, content: bytes) -> BalanceFile:
    """Read the lines before the accounts: the version, the time and the names of the columns."""
    version = 2 if _VERSION_2.match(content) else 1
    consensus_timestamp: int | None = None
    position = 0
    for _ in range(_HEAD_LINES):
        end = content.find(b"\n", position)
        if end < 0:
            break
        line = content[position:end]
        if time := _TIME.fullmatch(line):
            try:
                consensus_timestamp = timestamp.parse_iso(time[1].decode("ascii", "replace"))
            except timestamp.InvalidTimestamp as error:
                raise damaged(name, str(error), position) from error
        position = end + 1
        if _COLUMNS.match(line) and consensus_timestamp is not None:
            return BalanceFile(name, consensus_timestamp, sha384(content).hex(), version, content, position)
    raise damaged(name, "it does not begin with a time and the names of its columns", position)
