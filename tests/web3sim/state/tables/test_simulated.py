"""The state at the end of a block is what was current when it was the last: of a simulated network's blocks.

`MIRROR_TEST_SEEDS=20` compares so many networks.
"""

import os
from dataclasses import replace
from typing import Any

import pytest

from tests.e2e.life import Life
from tests.ledger.ingest.load import load, stored
from web3sim.state.blocks import block_hashes, find_block, parse_block
from web3sim.state.database import Reading
from web3sim.state.tables.current import CurrentTables
from web3sim.state.tables.historical import HistoricalTables

SEEDS = int(os.environ.get("MIRROR_TEST_SEEDS", "1"))
TRANSACTIONS = 250
# Of its balance only the snapshots are read.
FEE_ACCOUNT = 98

pytestmark = pytest.mark.usefixtures("ledger_tables")

Answers = dict[tuple[Any, ...], Any]


def keys(table: str, columns: str) -> list[tuple[Any, ...]]:
    """The keys that a table has now, or had."""
    return sorted({*stored(table, columns), *stored(f"{table}_history", columns)})


def everything(tables: CurrentTables) -> Answers:
    """What the tables answer to every question there is at this time."""
    entities = stored("entity", "id, evm_address, alias")
    addresses = {address for _, *addresses in entities for address in addresses if address is not None}
    found = tables.entities(sorted(addresses), [entity_id for entity_id, *_ in entities])
    answers: Answers = {}
    for asked, entity in (*found.by_id.items(), *found.by_address.items()):
        # Nonces go up without a new version of the entity.
        balance = 0 if entity.id == FEE_ACCOUNT else entity.balance
        answers["entity", asked] = replace(entity, nonce=0, balance=balance)
    slots = [
        (contract, int.from_bytes(slot, "big"))
        for contract, slot in stored("contract_state", "contract_id, slot")
    ]
    answers |= {("slot", *key): value for key, value in tables.slots(slots).items()}
    for (token_id,) in keys("token", "token_id"):
        token = tables.token(token_id)
        if token is None:
            continue
        # The supply in the row of a past version is that of its end.
        answers["token", token_id] = replace(token, total_supply=0)
        answers["supply", token_id] = tables.total_supply(token)
        for account, _ in keys("token_account", "account_id, token_id"):
            answers["relationship", token_id, account] = tables.relationship(token, account)
    for owner, spender, token_id in keys("token_allowance", "owner, spender, token_id"):
        answers["allowance", owner, spender, token_id] = tables.token_allowance(token_id, owner, spender)
    for owner, spender, token_id in keys("nft_allowance", "owner, spender, token_id"):
        answers["for all", owner, spender, token_id] = tables.approved_for_all(token_id, owner, spender)
    for token_id, serial_number in keys("nft", "token_id, serial_number"):
        answers["nft", token_id, serial_number] = tables.nft(token_id, serial_number)
    for (account,) in {(row[0],) for row in keys("token_account", "account_id, token_id")}:
        answers["tying", account] = tables.tying_tokens(account)
    return {key: answer for key, answer in answers.items() if answer}


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_the_state_at_a_block_is_what_was_current_then(seed: int) -> None:
    life = Life(seed)
    while life.transactions < TRANSACTIONS:
        life.go_on(30)
    reading = Reading()
    then: dict[int, Answers] = {}
    for block in life.blocks:
        load(block)
        latest = find_block(parse_block(f"{block.number}"), reading)
        assert latest.state_time is not None
        then[latest.state_time] = everything(CurrentTables(reading))
        hashes = block_hashes(block.number, block.number, reading)
        assert hashes == {block.number: latest.block.hash[:32]}
    for time, expected in then.items():
        check(everything(HistoricalTables(time, reading)), expected, time)


def check(answers: Answers, expected: Answers, time: int | None) -> None:
    wrong = {
        key: (answers.get(key), expected.get(key))
        for key in answers.keys() | expected.keys()
        if answers.get(key) != expected.get(key)
    }
    assert not wrong, (time, wrong)
