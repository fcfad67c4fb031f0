"""Random streams of accounts, allowances, topics, files, schedules, nodes and stakes, over several days: the
same tables in batches of any size, nothing lost, every version followed by the next.
"""

import random
from typing import Any

import pytest
from django.db import connection

from mirror.core.values.hapi.messages import NodeAddressBook
from mirror.demo.streams.record_files import Block
from tests.ledger.compose import (
    DAY,
    INSUFFICIENT_PAYER_BALANCE,
    KEY,
    OTHER_KEY,
    Stream,
    num,
    receipt,
    seconds,
)
from tests.ledger.ingest.load import load
from tests.ledger.ingest.tables import contents, empty_tables, versions_meet

pytestmark = pytest.mark.usefixtures("ledger_tables")

BLOCKS, TRANSACTIONS = 12, 12
TREASURY, REWARD_ACCOUNT = 2, 800
SUPPLY = 1_000_000
# Of some entities the stream does not tell the creation.
NEVER_CREATED = 1099

KEYS = {
    "crypto_allowance": "owner, spender",
    "custom_fee": "entity_id",
    "entity": "id",
    "entity_stake": "id",
    "node": "node_id",
    "topic": "id",
}


class RandomStream(Stream):
    """Transactions as they come, by a seeded choice."""

    def __init__(self, seed: int) -> None:
        super().__init__(start=20_000 * DAY + 3600 * 10**9)
        self.choose = random.Random(seed)
        self.accounts = [TREASURY, REWARD_ACCOUNT, 98]
        self.messages = 0
        self.schedules = [7000]  # never created
        self.happen("cryptoCreateAccount", {}, receipt(accountID=num(TREASURY)))
        self.send({TREASURY: SUPPLY}, payer=TREASURY)
        for account in (98, REWARD_ACCOUNT):
            self.create(account)

    def any_block(self) -> Block:
        self.happen("uncheckedSubmit")
        for _ in range(self.choose.randint(1, TRANSACTIONS)):
            self.choose.choice(
                [
                    *(
                        self.any_account,
                        self.any_transfer,
                        self.any_transfer,
                        self.any_update,
                        self.any_reward,
                    ),
                    *(self.any_deletion, self.any_grant, self.any_topic, self.any_message, self.any_file),
                    *(self.any_schedule, self.any_node, self.any_address_book, self.any_batch),
                ]
            )()
        block = self.block()
        self.consensus_timestamp += self.choose.choice([0, 60, 900, 3600, 20_000]) * 10**9
        if self.consensus_timestamp // DAY > block.transactions[0].consensus_timestamp // DAY:
            self.any_stake()
        return block

    @property
    def anyone(self) -> int:
        return self.choose.choice([*self.accounts, NEVER_CREATED])

    @property
    def result(self) -> int:
        return self.choose.choice([22, 22, 22, INSUFFICIENT_PAYER_BALANCE])

    def any_account(self) -> None:
        self.accounts.append(1001 + len(self.accounts))
        staking: dict[str, Any] = self.choose.choice(
            [{}, {"staked_node_id": 0}, {"staked_account_id": num(self.anyone)}]
        )
        self.happen("cryptoCreateAccount", {"key": KEY, **staking}, receipt(accountID=num(self.accounts[-1])))
        self.send({TREASURY: -1000, self.accounts[-1]: 1000})

    def any_transfer(self) -> None:
        sender, receiver = self.anyone, self.anyone
        amount = self.choose.randint(1, 50)
        moved = {sender: -amount, receiver: amount} if sender != receiver else {sender: 0}
        asked = [
            {"accountID": num(account), "amount": part, "is_approval": part < 0}
            for account, part in moved.items()
        ]
        self.happen(
            "cryptoTransfer",
            {"transfers": {"accountAmounts": asked}},
            transfers=moved,
            payer=self.anyone,
            result=self.result,
        )

    def any_update(self) -> None:
        change: dict[str, Any] = self.choose.choice(
            [
                {"memo": {"value": str(self.choose.random())}},
                {"key": OTHER_KEY},
                {"staked_node_id": self.choose.randint(0, 1)},
                {"staked_account_id": num(self.anyone)},
                {"decline_reward": {"value": True}},
            ]
        )
        self.happen(
            "cryptoUpdateAccount", {"accountIDToUpdate": num(self.anyone), **change}, result=self.result
        )

    def any_reward(self) -> None:
        self.happen(
            "cryptoTransfer", record={"paid_staking_rewards": [{"accountID": num(self.anyone), "amount": 5}]}
        )

    def any_deletion(self) -> None:
        if len(self.accounts) > 6:
            self.happen(
                "cryptoDelete",
                {"deleteAccountID": num(self.accounts.pop(4)), "transferAccountID": num(TREASURY)},
            )

    def any_grant(self) -> None:
        allowances = [
            {"owner": num(self.anyone), "spender": num(self.anyone), "amount": self.choose.randint(0, 99)}
            for _ in range(self.choose.randint(1, 3))
        ]
        self.happen("cryptoApproveAllowance", {"cryptoAllowances": allowances}, result=self.result)

    def any_topic(self) -> None:
        topic = {"topicNum": self.choose.randint(5001, 5003)}
        fees = [{"fixed_fee": {"amount": 5}, "fee_collector_account_id": num(self.anyone)}]
        kind = self.choose.choice(["consensusCreateTopic", "consensusUpdateTopic", "consensusDeleteTopic"])
        body: dict[str, Any] = {"adminKey": KEY, "custom_fees": fees}
        if kind == "consensusUpdateTopic":
            body = {"topicID": topic, "submitKey": OTHER_KEY} | self.choose.choice(
                [{}, {"custom_fees": {"fees": fees}}, {"custom_fees": {}}]
            )
        elif kind == "consensusDeleteTopic":
            body = {"topicID": topic}
        self.happen(kind, body, receipt(topicID=topic), result=self.result)

    def any_message(self) -> None:
        self.messages += 1
        said = receipt(topicSequenceNumber=self.messages, topicRunningHash=b"hash")
        self.happen("consensusSubmitMessage", {"topicID": {"topicNum": 5001}, "message": b"m"}, said)

    def any_file(self) -> None:
        file = {"fileNum": self.choose.choice([111, 6001, 6002])}
        kind = self.choose.choice(["fileCreate", "fileUpdate", "fileAppend", "fileDelete"])
        body: dict[str, Any] = {} if kind == "fileCreate" else {"fileID": file}
        if kind != "fileDelete":
            body["contents"] = self.choose.choice([b"", b"content"])
        self.happen(kind, body, receipt(fileID=file), result=self.result)

    def any_schedule(self) -> None:
        if self.choose.random() < 0.5:
            self.schedules.append(7001 + len(self.schedules))
            created = receipt(scheduleID={"scheduleNum": self.schedules[-1]})
            self.happen("scheduleCreate", {"memo": "s"}, created, payer=self.anyone)
        else:
            executed = self.choose.choice(self.schedules)
            self.happen(
                "cryptoTransfer", record={"scheduleRef": {"scheduleNum": executed}}, result=self.result
            )

    def any_node(self) -> None:
        node = self.choose.randint(0, 2)
        kind = self.choose.choice(["nodeCreate", "nodeUpdate", "nodeUpdate", "nodeDelete"])
        body: dict[str, Any] = {} if kind == "nodeCreate" else {"node_id": node}
        if kind != "nodeDelete":
            body |= self.choose.choice(
                [
                    {"account_id": num(self.anyone)},
                    {"grpc_proxy_endpoint": {"port": 5}},
                    {"grpc_proxy_endpoint": {}},
                ]
            )
        self.happen(kind, body, receipt(node_id=node), result=self.result)

    def any_address_book(self) -> None:
        book = NodeAddressBook(
            nodeAddress=[{"nodeId": n, "nodeAccountId": num(n + 3)} for n in range(self.choose.randint(1, 3))]
        ).SerializeToString()
        half = self.choose.randint(1, len(book))
        file = {"fileNum": self.choose.choice([101, 102])}
        self.happen("fileUpdate", {"fileID": file, "contents": book[:half]})
        if book[half:]:
            self.happen("fileAppend", {"fileID": file, "contents": book[half:]})

    def any_batch(self) -> None:
        batch = self.happen("atomic_batch", result=self.result)
        self.happen(
            "cryptoUpdateAccount",
            {"accountIDToUpdate": num(self.anyone), "memo": {"value": "batch"}},
            {"parent_consensus_timestamp": seconds(batch)},
            whole={"batch_key": KEY},
        )

    def any_stake(self) -> None:
        rates = [{"node_id": node, "reward_rate": self.choose.randint(0, 9)} for node in range(2)]
        self.happen("node_stake_update", {"node_stake": rates})


def query(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def balances_are_what_was_moved() -> None:
    """Each account has the sum of its transfers, from when it is known; all created ones the whole supply."""
    assert not query(
        """
        select id, balance, sum(amount) from entity join crypto_transfer on entity_id = id
        where created_timestamp is not null and consensus_timestamp >= created_timestamp
        group by id having balance <> sum(amount)"""
    )
    ((total,),) = query("select sum(amount) from crypto_transfer")
    assert total == SUPPLY


@pytest.mark.checklist("MRG-04", "MRG-11", "XFER-04")
@pytest.mark.parametrize("seed", range(4))
def test_a_random_stream_gives_the_same_tables_in_any_batches(seed: int) -> None:
    stream = RandomStream(seed)
    blocks = [stream.any_block() for _ in range(BLOCKS)]
    for block in blocks:
        load(block)
        balances_are_what_was_moved()
        versions_meet(KEYS)
    one_by_one = contents()

    choose = random.Random(seed)
    for batches in ([1] * 0, sorted(choose.sample(range(1, BLOCKS), 3))):
        empty_tables()
        for start, end in zip([0, *batches], [*batches, BLOCKS], strict=True):
            load(*blocks[start:end])
        again = contents()
        for table in one_by_one | again:
            assert again.get(table) == one_by_one.get(table), table
