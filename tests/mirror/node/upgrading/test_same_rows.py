"""A database that an older release has filled has, after its upgrade, the rows that this release writes."""

import pytest
from django.db import connection

from mirror.db.backfill import IndexBuild
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.history import History
from mirror.node.upgrading.backfills import BACKFILLS
from tests.ledger.ingest.load import load
from tests.ledger.ingest.tables import contents
from tests.upgrading import upgrade

BLOCKS, TPS = 30, 12
# Where contracts move units before nodes log it, or spend hbars of others, the older release differed by more
# than the rules below. In this history they don't.
SEED = 4
SUBMIT_MESSAGE = 27

# What the older release's rules gave. The node has always logged what contracts move, so no log is missing.
_OLD_RULES = f"""
    update contract_result r set transaction_index = t.index
    from transaction t where t.consensus_timestamp = r.consensus_timestamp;
    update contract_log l set transaction_index = t.index, synthetic = null
    from transaction t where t.consensus_timestamp = l.consensus_timestamp;
    delete from transaction_hash h using transaction t
    where t.consensus_timestamp = h.consensus_timestamp and t.type = {SUBMIT_MESSAGE};
    update ethereum_transaction set in_weibars = false, access_list = null, authorization_list = null"""
_PRICES = ("gas_price", "max_fee_per_gas", "max_priority_fee_per_gas", "value")


def make_old() -> None:
    """Change the rows to those of the older release."""
    with connection.cursor() as cursor:
        cursor.execute(_OLD_RULES)
        cursor.execute(f"select consensus_timestamp, {', '.join(_PRICES)} from ethereum_transaction")
        for at, *amounts in cursor.fetchall():
            tinybars = [amount and _tinybars(bytes(amount)) for amount in amounts]
            cursor.execute(
                f"update ethereum_transaction set ({', '.join(_PRICES)}) = (%s, %s, %s, %s) "
                "where consensus_timestamp = %s",
                [*tinybars, at],
            )


def _tinybars(weibars: bytes) -> bytes:
    number = int.from_bytes(weibars, "big") // 10**10
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def unmarked(rows: list[str]) -> list[str]:
    """Return the rows of logs without a difference between false and null marks."""
    return sorted(row.replace('"synthetic": false', '"synthetic": null') for row in rows)


@pytest.mark.usefixtures("ledger_tables")
def test_an_upgraded_database_has_the_rows_of_a_new_one() -> None:
    for _, block in History(blocks=BLOCKS, tps=TPS, seed=SEED).play(nodes()):
        load(block)
    wanted = contents()
    make_old()
    old = contents()
    changed = {table for table in wanted if wanted[table] != old[table]}
    assert changed >= {"contract_log", "contract_result", "ethereum_transaction"}

    states = upgrade(*(name for name in BACKFILLS if not isinstance(BACKFILLS[name], IndexBuild)))

    upgraded = contents()
    for rows in (wanted, upgraded):
        rows["contract_log"] = unmarked(rows["contract_log"])
    assert {table for table in wanted if wanted[table] != upgraded.get(table)} == set()
    assert set(upgraded) == set(wanted)
    counts = {state.name: state.rows for state in states}
    assert all(counts[name] for name in ("ethereum_weibars", "root_transaction_index", "synthetic_logs")), (
        counts
    )
