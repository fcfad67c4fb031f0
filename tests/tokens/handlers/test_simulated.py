"""Random token economies: what is stored is what happened, after every block and in batches of any size."""

from random import Random

import pytest
from django.db import connection

from tests.ledger.ingest.load import load, stored
from tests.ledger.ingest.tables import contents, empty_tables, versions_meet
from tests.tokens.simulation import Simulation

pytestmark = pytest.mark.django_db(transaction=True)

BLOCKS, TRANSACTIONS = 6, 40

KEYS = {
    "custom_fee": "entity_id",
    "entity": "id",
    "nft": "token_id, serial_number",
    "nft_allowance": "owner, spender, token_id",
    "token": "token_id",
    "token_account": "account_id, token_id",
    "token_airdrop": "sender_account_id, receiver_account_id, token_id, serial_number",
    "token_allowance": "owner, spender, token_id",
}


def matches(economy: Simulation) -> None:
    """The tables say what the economy knows."""
    columns = "token_id, total_supply, treasury_account_id, name"
    assert {row[0]: row[1:] for row in stored("token", columns)} == {
        t.number: (t.supply, t.treasury, t.name) for t in economy.tokens.values()
    }
    columns = "account_id, token_id, associated, automatic_association, balance, freeze_status, kyc_status"
    assert {row[:2]: row[2:] for row in stored("token_account", columns)} == {
        key: (r.associated, r.automatic, r.balance, r.freeze, r.kyc)
        for key, r in economy.relationships.items()
    }
    columns = "token_id, serial_number, account_id, deleted, spender, metadata"
    assert {row[:2]: row[2:] for row in stored("nft", columns)} == {
        (t.number, number): (serial.owner, serial.owner is None, serial.spender, serial.metadata)
        for t in economy.tokens.values()
        for number, serial in t.serials.items()
    }
    assert {row[:3]: row[3] for row in stored("token_allowance", "owner, spender, token_id, amount")} == (
        economy.allowances
    )
    columns = "sender_account_id, receiver_account_id, token_id, serial_number, amount, state"
    assert {row[:4]: row[4:] for row in stored("token_airdrop", columns)} == economy.airdrops


def query(statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def adds_up() -> None:
    """Balances are the supply, and the serials owned are the balances."""
    assert not query(
        """
        select token_id from token t
        where total_supply <> (
                select coalesce(sum(balance), 0) from token_account a where a.token_id = t.token_id)
            or type = 'NON_FUNGIBLE_UNIQUE' and total_supply <> (
                select count(*) from nft n where n.token_id = t.token_id and account_id is not null)"""
    )
    assert not query(
        """
        select * from token_account a join token t using (token_id)
        where t.type = 'NON_FUNGIBLE_UNIQUE' and balance <> (
            select count(*) from nft n where n.account_id = a.account_id and n.token_id = a.token_id)"""
    )


@pytest.mark.checklist("MRG-03", "MRG-04", "MRG-05", "MRG-11", "PERF-01")
@pytest.mark.parametrize("seed", range(3))
def test_a_random_economy_is_stored_as_simulated(seed: int) -> None:
    economy = Simulation(seed)
    blocks = []
    for _ in range(BLOCKS):
        blocks.append(economy.block(TRANSACTIONS))
        load(blocks[-1])
        matches(economy)
        adds_up()
        versions_meet(KEYS)
    one_by_one = contents()

    split = Random(seed).randint(1, BLOCKS - 1)
    for batches in ([blocks], [blocks[:split], blocks[split:]]):
        empty_tables()
        for batch in batches:
            load(*batch)
        assert contents() == one_by_one
