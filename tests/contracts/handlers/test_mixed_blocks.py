"""Blocks of all that logs and positions depend on, mixed by chance, against a plain model of the rules."""

from dataclasses import dataclass, field
from functools import reduce
from random import Random
from typing import Any

import pytest
from eth_bloom.bloom import BloomFilter

from mirror.core.values.hapi.messages import CryptoCreateTransactionBody
from tests.contracts.compose import ContractStream, contract, ethereum_data, function_result, log
from tests.ledger.ingest.load import load, stored
from tests.tokens.compose import serials, units

pytestmark = pytest.mark.django_db(transaction=True)

TRANSFER = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
SUCCESS, REVERTED, WRONG_NONCE, FAIL_INVALID = 22, 33, 312, 23
CALL, CREATE, TRANSFERRED, MESSAGE, MINT, ETHEREUM = 7, 8, 14, 27, 37, 50
KINDS = {
    CALL: "contractCall",
    CREATE: "contractCreateInstance",
    TRANSFERRED: "cryptoTransfer",
    MESSAGE: "consensusSubmitMessage",
    MINT: "tokenMint",
    ETHEREUM: "ethereumTransaction",
}
HOOKS, TOKEN_SERVICE = 365, 359
PEOPLE = (1001, 1002, 1003, 1004, 1005)
ADDRESSES = {1002: b"\0\xab" + b"\1" * 18}


@dataclass
class Happened:
    """A transaction as a network tells it; `ran` is the contract of its function result."""

    kind: int
    ran: int | None = None
    parent: "Happened | None" = None
    result: int = SUCCESS
    root: int = 0
    node_logs: int = 0
    # By token: amounts by account, or a number of serials.
    moved: dict[int, dict[int, int] | int] = field(default_factory=dict)
    hash: bytes = b""
    at: int = 0

    @property
    def hook(self) -> bool:
        return self.parent is not None and self.ran == HOOKS

    @property
    def bloom(self) -> bytes:
        return bytes(self.node_logs) + b"\1" + bytes(255 - self.node_logs) if self.node_logs else bytes(256)


def by_chance(random: Random, count: int) -> list[Happened]:
    happened: list[Happened] = []

    def add(kind: int, **more: Any) -> Happened:
        happened.append(Happened(kind, **more))
        return happened[-1]

    def amounts() -> dict[int, int]:
        people = random.sample(PEOPLE, random.randint(1, 5))
        given = [random.randint(-9, 9) for _ in people]
        if random.random() < 0.7:
            given[-1] -= sum(given)
        return dict(zip(people, given, strict=True))

    def moved() -> dict[int, Any]:
        tokens = random.sample(range(5000, 5006), random.randint(0, 4))
        return {token: random.randint(1, 2) if random.random() < 0.3 else amounts() for token in tokens}

    def children(parent: Happened, hook: bool) -> None:
        if hook:
            add(CALL, ran=HOOKS, parent=parent, root=HOOKS, node_logs=random.randint(0, 2))
        for _ in range(random.randint(0, 3)):
            kind = random.choice((CALL, CREATE, TRANSFERRED, TRANSFERRED))
            result = random.choice((SUCCESS, SUCCESS, REVERTED))
            native = random.random() < 0.2
            if kind == TRANSFERRED:
                add(kind, ran=None if native else TOKEN_SERVICE, parent=parent, result=result, moved=moved())
            else:
                add(kind, ran=None if native else 2000 + kind, parent=parent, result=result)

    for _ in range(count):
        kind = random.choice(list(KINDS))
        if kind in (CALL, CREATE, ETHEREUM):
            result = random.choice((SUCCESS, SUCCESS, REVERTED, WRONG_NONCE if kind == ETHEREUM else SUCCESS))
            ran = 2000 + random.randint(1, 9) if random.random() < 0.8 else None
            logs = random.randint(0, 2) if ran else 0
            own = moved() if ran and random.random() < 0.2 else {}
            children(add(kind, ran=ran, root=ran or 0, result=result, node_logs=logs, moved=own), hook=False)
        elif kind == TRANSFERRED and random.random() < 0.5:
            parent = add(kind, moved=moved())
            for _ in range(random.randint(1, 2)):
                children(parent, hook=True)
        else:
            add(kind, moved=moved(), result=random.choice((SUCCESS, SUCCESS, FAIL_INVALID, REVERTED)))
    return happened


def compose(stream: ContractStream, happened: list[Happened]) -> None:
    children: dict[int, int] = {}
    for number, each in enumerate(happened):
        each.hash = bytes((number,)) * 48
        record: dict[str, Any] = {
            "transactionHash": each.hash,
            "tokenTransferLists": [
                serials(token, *((serial + 1, 1001, 1002) for serial in range(moved)))
                if isinstance(moved, int)
                else units(token, moved)
                for token, moved in each.moved.items()
            ],
        }
        if each.ran is not None:
            name = "contractCreateResult" if each.kind == CREATE else "contractCallResult"
            node_logs = [log(each.ran, b"\1") for _ in range(each.node_logs)]
            record[name] = function_result(each.ran, bloom=each.bloom, logInfo=node_logs, gasUsed=number)
        body = {}
        if each.kind == ETHEREUM:
            body = {"ethereum_data": ethereum_data()}
            record["ethereum_hash"] = each.hash[:32]
        parent = each.parent.at if each.parent else None
        nonce = 0
        if parent is not None:
            nonce = children[parent] = children.get(parent, 0) + 1
        each.at = stream.happen(
            KINDS[each.kind],
            body,
            record=record,
            receipt={"contractID": contract(each.root)} if each.root else {},
            parent=parent,
            nonce=nonce,
            result=each.result,
        )


# THE MODEL


def cause(each: Happened, before: list[Happened]) -> Happened | None:
    if each.parent is None or each.hook:
        return None
    siblings = [other for other in before if other.parent is each.parent and other.hook]
    if each.ran is not None and siblings:
        return siblings[-1]
    return each.parent if each.parent.ran is not None else None


def succeeded(each: Happened) -> bool:
    return each.result == SUCCESS and (each.parent is None or succeeded(each.parent))


def pairs(amounts: dict[int, int]) -> list[tuple[int, int, int]]:
    ordered = sorted(amounts.items(), key=lambda one: (-abs(one[1]), one[0]))
    givers = [[account, -amount] for account, amount in ordered if amount <= 0]
    takers = [[account, amount] for account, amount in ordered if amount > 0]
    found = []
    while givers and takers:
        amount = min(givers[0][1], takers[0][1])
        found.append((givers[0][0], takers[0][0], amount))
        givers[0][1] -= amount
        takers[0][1] -= amount
        givers, takers = givers[not givers[0][1] :], takers[not takers[0][1] :]
    return found


def short(number: int) -> bytes:
    return number.to_bytes(8, "big").lstrip(b"\0")


def topic(account: int) -> bytes:
    return ADDRESSES.get(account, short(account)).lstrip(b"\0")


def moves(each: Happened) -> list[tuple[int, tuple[bytes, bytes, bytes | None], bytes]]:
    """Token, topics after the first, and data of each log of an item's transfers."""
    found: list[Any] = []
    for token, moved in each.moved.items():
        if isinstance(moved, int):
            if each.ran is None:
                found += [
                    (token, (short(1001), short(1002), short(serial + 1)), b"\0") for serial in range(moved)
                ]
        elif each.kind == MINT:
            for account, amount in moved.items():
                sides = (topic(account), b"") if amount < 0 else (b"", topic(account) if amount else b"")
                found.append((token, (*sides, None), short(abs(amount))))
        else:
            for giver, taker, amount in pairs(moved):
                found.append((token, (topic(giver), topic(taker), None), short(amount)))
    return found


def bloom_of(contract_id: int, *topics: bytes) -> int:
    address = contract_id.to_bytes(20, "big")
    return int(BloomFilter.from_iterable([address, *(one.rjust(32, b"\0") for one in topics)]))


class Model:
    """The rows of a block: logs, places of results, blooms by time, and messages found by hash."""

    def __init__(self, happened: list[Happened], node_logs_transfers: bool) -> None:
        self.logs: list[Any] = []
        self.place: dict[int, int] = {}
        self.blooms: dict[int, int] = {}
        self.messages: list[int] = []
        self.block_bloom = reduce(int.__or__, (self._own(each) for each in happened), 0)
        self._next = 0
        for number, each in enumerate(happened):
            self._add(each, cause(each, happened[:number]), node_logs_transfers)

    def _own(self, each: Happened) -> int:
        return int.from_bytes(each.bloom, "big") if each.ran is not None else 0

    def _add(self, each: Happened, caused_by: Happened | None, node_logs_transfers: bool) -> None:
        is_call = each.kind in (CALL, CREATE, ETHEREUM)
        if (is_call or each.ran is not None) and each.result != WRONG_NONCE:
            has_result = each.ran is not None or each.kind != ETHEREUM or not succeeded(each)
            if not self._share(each, caused_by) and is_call and has_result:
                self._take(each.at)
        if each.ran is not None:
            self.blooms[each.at] = self._own(each)
        logged = succeeded(each) or each.result == FAIL_INVALID
        if logged and (each.ran is None or not node_logs_transfers):
            for token, topics, data in moves(each):
                self._add_transfer(each, caused_by, token, topics, data)
        for _ in range(each.node_logs):
            place = self.place.get(each.at)
            ran = each.ran
            self._log(each.at, ran, ran, each.hash[:32], place, False, (b"\1", None, None, None), b"data")

    def _add_transfer(
        self,
        each: Happened,
        caused_by: Happened | None,
        token: int,
        topics: tuple[bytes, bytes, bytes | None],
        data: bytes,
    ) -> None:
        at, contract_id, root, hash = each.at, token, token, each.hash[:32]
        if caused_by is not None:
            assert caused_by.ran is not None
            at, contract_id, root = caused_by.at, caused_by.ran, caused_by.root
            hash = caused_by.hash[:32]
        elif at not in self.place and each.result != WRONG_NONCE and not self._share(each, None):
            self._take(at)
        if each.kind == MESSAGE:
            self.messages = sorted({*self.messages, each.at})
        bloom = bloom_of(contract_id, TRANSFER, *(one for one in topics if one is not None))
        if at in self.blooms:
            self.blooms[at] |= bloom
        self.block_bloom |= bloom
        place = self.place.get(at)
        self._log(at, contract_id, root or None, hash, place, True, (TRANSFER, *topics), data or b"\0")

    def _share(self, each: Happened, caused_by: Happened | None) -> bool:
        for other in (caused_by, each.parent):
            if other is not None and other.at in self.place:
                self.place[each.at] = self.place[other.at]
                return True
        return False

    def _take(self, at: int) -> None:
        self.place[at] = self._next
        self._next += 1

    def _log(self, *columns: Any) -> None:
        *start, topics, data = columns
        self.logs.append((len(self.logs), *start, *topics, data))


@pytest.mark.checklist("SYN-01", "SYN-03", "SYN-07", "CON-19", "CON-29", "FILE-10")
@pytest.mark.parametrize("version", [(0, 70, 0), (0, 71, 0)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_any_mixture_gives_the_rows_of_the_model(seed: int, version: Any) -> None:
    stream = ContractStream(hapi_version=version)
    for account, address in ADDRESSES.items():
        stream.crypto_create(account, create=CryptoCreateTransactionBody(alias=address))
    blocks = [stream.block()]
    happened = by_chance(Random(seed), 40)
    compose(stream, happened)
    load(*blocks, stream.block())
    model = Model(happened, version >= (0, 71, 0))

    logs = stored(
        "contract_log",
        "index, consensus_timestamp, contract_id, root_contract_id, transaction_hash, transaction_index,"
        "synthetic, topic0, topic1, topic2, topic3, data",
    )
    assert sorted(logs) == sorted(model.logs)
    results = stored("contract_result", "consensus_timestamp, transaction_index")
    assert results == [(at, model.place.get(at)) for at, _ in results]
    assert {each.at for each in happened if each.ran is not None} <= {at for at, _ in results}
    blooms = {
        at: int.from_bytes(bloom or b"", "big")
        for at, bloom in stored(
            "contract_result", "consensus_timestamp, bloom", "function_result is not null"
        )
    }
    assert blooms == model.blooms
    gas, bloom = stored("record_file", "gas_used, logs_bloom", f"consensus_end >= {happened[0].at}")[0]
    assert int.from_bytes(bloom, "big") == model.block_bloom
    assert gas == sum(
        number for number, each in enumerate(happened) if each.parent is None and each.ran is not None
    )
    assert stored(
        "transaction_hash",
        "consensus_timestamp",
        "consensus_timestamp in (select consensus_timestamp from transaction where type = 27)",
    ) == [(at,) for at in model.messages]
