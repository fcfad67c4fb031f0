"""Blocks and transactions in the API."""

from collections import Counter
from random import Random
from typing import Any

from mirror.core.values import timestamp as timestamps
from mirror.core.values.hapi import result_codes, transaction_types
from mirror.demo.streams.record_files import Block, ComposedTransaction
from tests.e2e.forms import at, base_64, entity, hexed
from tests.e2e.life import Life
from tests.e2e.rest import Rest, same


def check(rest: Rest, block: Block, choose: Random) -> None:
    first, last = (block.transactions[place].consensus_timestamp for place in (0, -1))
    named = choose.choice((str(block.number), block.hash.hex(), hexed(block.hash[:32])))
    found = rest.get(f"blocks/{named}")
    expected = {
        "count": len(block.transactions),
        "hash": hexed(block.hash),
        "name": block.name,
        "number": block.number,
        "previous_hash": hexed(block.previous_hash),
        "size": len(block.data),
        "timestamp": {"from": at(first), "to": at(last)},
    }
    same({name: found[name] for name in expected}, expected, "/blocks", named)

    times = f"gte:{at(first)}"
    shown = rest.all("transactions", "transactions", timestamp=times, order="asc")
    expected_rows = [transaction(one) for one in block.transactions]
    same([_without_approvals(row, expected_rows[0]) for row in shown], expected_rows, "/transactions", times)


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    """Check the transactions and rewards of some accounts, and transactions by their ids."""
    happened = [one for block in life.blocks[:blocks] for one in block.transactions]
    for account in choose.sample(list(life.ends[blocks - 1].world.accounts), 3):
        path = f"accounts/0.0.{account}/rewards"
        expected = [
            {"account_id": entity(account), "amount": paid.amount, "timestamp": at(one.consensus_timestamp)}
            for one in happened
            for paid in one.record.paid_staking_rewards
            if paid.accountID.accountNum == account
        ]
        same(rest.all(path, "rewards", order="asc"), expected, path)
        found = rest.all("transactions", "transactions", account__id=account, order="asc")
        times = [at(one.consensus_timestamp) for one in happened if concerns(one, account)]
        same([row["consensus_timestamp"] for row in found], times, "/transactions of", account)
    for one in choose.sample(happened, 3):
        expected_one = transaction(one)
        named = expected_one["transaction_id"]
        # Those of messages can't be looked up by their hash.
        if expected_one["name"] != "CONSENSUSSUBMITMESSAGE":
            named = choose.choice((named, one.record.transactionHash.hex()))
        found = rest.get(f"transactions/{named}", nonce=expected_one["nonce"])["transactions"]
        found = [row for row in found if row["consensus_timestamp"] == expected_one["consensus_timestamp"]]
        same([_without_approvals(row, expected_one) for row in found], [expected_one], "/transactions", named)


def concerns(one: ComposedTransaction, account: int) -> bool:
    """Tell whether a transaction is among those of an account, which paid for it or sent or received."""
    body, record = one.body, one.record
    is_own = (
        body.transactionID.nonce == 0
        or record.HasField("parent_consensus_timestamp")
        or transaction_types.name(type_number(one)) in ("CRYPTOCREATEACCOUNT", "CRYPTOUPDATEACCOUNT")
    )
    if is_own and body.transactionID.accountID.accountNum == account:
        return True
    moved = [*record.transferList.accountAmounts]
    if type_number(one) != transaction_types.NUMBERS["TOKENDISSOCIATE"]:
        moved += [sent for of_token in record.tokenTransferLists for sent in of_token.transfers]
    return any(sent.accountID.accountNum == account for sent in moved)


def _without_approvals(row: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    plain = {name: row[name] for name in members}
    for name in ("transfers", "token_transfers", "staking_reward_transfers"):
        plain[name] = [{n: v for n, v in moved.items() if n != "is_approval"} for moved in row[name]]
    if row["name"] == "TOKENDISSOCIATE":
        # Who leaves a deleted token gives up serials, which the record tells as so many units.
        given_up = Counter((each["token_id"], each["sender_account_id"]) for each in row["nft_transfers"])
        plain["token_transfers"] += [
            {"token_id": token_id, "account": account_id, "amount": -count}
            for (token_id, account_id), count in given_up.items()
        ]
    return plain | {"staking_reward_transfers": sorted(plain["staking_reward_transfers"], key=str)}


# JSON
def transaction(one: ComposedTransaction) -> dict[str, Any]:
    body, record = one.body, one.record
    moved = [(sent.accountID.accountNum, sent.amount) for sent in record.transferList.accountAmounts]
    rewards = [(paid.accountID.accountNum, paid.amount) for paid in record.paid_staking_rewards]
    start, payer = body.transactionID.transactionValidStart, body.transactionID.accountID.accountNum
    parent = record.parent_consensus_timestamp if record.HasField("parent_consensus_timestamp") else None
    return {
        "charged_tx_fee": record.transactionFee,
        "consensus_timestamp": at(one.consensus_timestamp),
        "memo_base64": base_64(body.memo.encode()),
        "name": transaction_types.name(type_number(one)),
        "node": entity(body.nodeAccountID.accountNum),
        "nonce": body.transactionID.nonce,
        "parent_consensus_timestamp": at(parent and timestamps.to_ns(parent)),
        "result": result_codes.name(record.receipt.status),
        "scheduled": record.HasField("scheduleRef"),
        "transaction_hash": base_64(record.transactionHash),
        "transaction_id": f"0.0.{payer}-{start.seconds}-{start.nanos:09}",
        "token_transfers": token_transfers(record),
        "staking_reward_transfers": sorted(
            ({"account": entity(account), "amount": amount} for account, amount in rewards), key=str
        ),
        "transfers": [{"account": entity(account), "amount": amount} for account, amount in sorted(moved)],
    }


def token_transfers(record: Any) -> list[dict[str, Any]]:
    moved = [
        (of_token.token.tokenNum, sent.accountID.accountNum, sent.amount)
        for of_token in record.tokenTransferLists
        for sent in of_token.transfers
    ]
    return [
        {"token_id": entity(token), "account": entity(account), "amount": amount}
        for token, account, amount in sorted(moved)
    ]


def type_number(one: ComposedTransaction) -> int:
    number: int = one.body.DESCRIPTOR.fields_by_name[one.body.WhichOneof("data")].number
    return number
