"""Writing balance files (version 3), signed, for tests and the demo network."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.stream import balance_names
from mirror.core.values import entity_id
from mirror.core.values.hapi import messages
from mirror.core.values.hashes import sha384
from mirror.demo.streams.record_files import account, compressed, timestamp, write_files
from mirror.demo.streams.signing import SigningNode, signature_file_v2

# Account, tinybars, and units by token; ids are encoded.
Holdings = Iterable[tuple[int, int, Mapping[int, int]]]


@dataclass(frozen=True)
class ComposedBalances:
    """A composed balance file: `content` is what is hashed, `data` what is stored."""

    name: str
    content: bytes
    nodes: Sequence[SigningNode]

    @property
    def data(self) -> bytes:
        return compressed(self.content)

    def signature(self, node: SigningNode) -> bytes:
        return compressed(signature_file_v2(node, sha384(self.content)))

    def write(self, folder: Path) -> None:
        """Write the files of every node below the bucket `folder`, or right into it if there are no nodes."""
        for node in self.nodes:
            files = {self.name: self.data, balance_names.signature_name(self.name): self.signature(node)}
            write_files(folder / f"accountBalances/balance{node.account_text}", files)
        if not self.nodes:
            write_files(folder, {self.name: self.data})


def compose_balances(at: int, holdings: Holdings, *, nodes: Sequence[SigningNode] = ()) -> ComposedBalances:
    """Return the balance file of a time (ns), of version 3."""
    accounts = [
        messages.SingleAccountBalances(
            accountID=account(number),
            hbarBalance=balance,
            tokenUnitBalances=[{"tokenId": _token(token), "balance": units} for token, units in held.items()],
        )
        for number, balance, held in holdings
    ]
    message = messages.AllAccountBalances(consensusTimestamp=timestamp(at), allAccounts=accounts)
    return ComposedBalances(balance_names.balance_name(at), message.SerializeToString(), nodes)


def _token(encoded: int) -> Any:
    shard, realm, num = entity_id.decode(encoded)
    return messages.TokenID(shardNum=shard, realmNum=realm, tokenNum=num)
