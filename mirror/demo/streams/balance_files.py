"""Writing balance files in all formats, signed, for tests and the demo network."""

import gzip
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.stream.balance import names
from ledger.stream.record import names as record_names
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages
from mirror.core.values.hashes import sha384
from mirror.demo.streams.record_files import account, timestamp
from mirror.demo.streams.signing import SigningNode, signature_file_v2

# Account, tinybars, and units by token; ids are encoded.
Holdings = Iterable[tuple[int, int, Mapping[int, int]]]

_COMPRESSION = 6


@dataclass(frozen=True)
class ComposedBalances:
    """A composed balance file: `content` is what is hashed, `data` what is stored."""

    name: str
    content: bytes
    nodes: Sequence[SigningNode]

    @property
    def data(self) -> bytes:
        return _stored(self.name, self.content)

    def signature(self, node: SigningNode) -> bytes:
        """Return the signature file of a node."""
        return _stored(self.name, signature_file_v2(node, sha384(self.content)))

    def write(self, folder: Path) -> None:
        """Write the files of every node below the bucket `folder`, or right into it if there are no nodes."""
        for node in self.nodes:
            of_node = folder / account_folder(node)
            self._write_data(of_node)
            (of_node / names.signature_name(self.name)).write_bytes(self.signature(node))
        if not self.nodes:
            self._write_data(folder)

    def _write_data(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / self.name).write_bytes(self.data)


def account_folder(node: SigningNode) -> str:
    """Return the folder of a node's balance files in a bucket that is laid out by account."""
    return f"accountBalances/balance0.0.{node.account_id}"


def compose_balances(
    at: int, holdings: Holdings, *, version: int = 3, nodes: Sequence[SigningNode] = ()
) -> ComposedBalances:
    """Return the balance file of a time (ns): text for the versions 1 and 2, protobuf for 3."""
    if version == 3:
        return ComposedBalances(names.balance_name(at), _message(at, holdings), nodes)
    return ComposedBalances(
        names.balance_name(at, names.CSV), "\n".join(_lines(at, holdings, version)).encode() + b"\n", nodes
    )


def _message(at: int, holdings: Holdings) -> bytes:
    accounts = [
        messages.SingleAccountBalances(
            accountID=account(number),
            hbarBalance=balance,
            tokenUnitBalances=[{"tokenId": _token(token), "balance": units} for token, units in held.items()],
        )
        for number, balance, held in holdings
    ]
    message = messages.AllAccountBalances(consensusTimestamp=timestamp(at), allAccounts=accounts)
    content: bytes = message.SerializeToString()
    return content


def _lines(at: int, holdings: Holdings, version: int) -> Iterable[str]:
    time = record_names.shortest_time(at).replace("_", ":")
    if version == 1:
        yield f"timeStamp:{time}"
        yield "shardNum,realmNum,accountNum,balance"
    else:
        yield "# version:2"
        yield f"# TimeStamp:{time}"
        yield "shardNum,realmNum,accountNum,balance,tokenBalances"
    for number, balance, tokens in holdings:
        line = ",".join(map(str, (*entity_id.decode(number), balance)))
        if version == 2:
            held = messages.TokenBalances(
                tokenBalances=[
                    messages.TokenBalance(tokenId=_token(t), balance=units) for t, units in tokens.items()
                ]
            )
            line += f",{b64encode(held.SerializeToString()).decode()}"
        yield line


def _stored(name: str, content: bytes) -> bytes:
    return gzip.compress(content, _COMPRESSION, mtime=0) if name.endswith(".gz") else content


def _token(encoded: int) -> Any:
    shard, realm, num = entity_id.decode(encoded)
    return messages.TokenID(shardNum=shard, realmNum=realm, tokenNum=num)
