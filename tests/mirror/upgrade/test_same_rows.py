"""A database that an older release has filled has, after its upgrade, the rows that this release writes."""

from collections import defaultdict
from pathlib import Path

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper

from contracts.handlers.synthetic import TRANSFER
from ledger.ingest.verification import Verification
from ledger.stream.source.local import find_record_files
from mirror.core.db.schema.backfill import IndexBuild
from mirror.core.values import log_bloom
from mirror.core.values.hapi.messages import ContractFunctionResult
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from mirror.upgrade.runner import BACKFILLS
from tests.ledger.ingest.load import load
from tests.ledger.ingest.tables import contents
from tests.upgrading import upgrade

BLOCKS, TPS = 30, 12
# In this history units move among many parties, and by contracts before nodes log that. No contract spends
# the hbars of others, for which the older release differed by more than the rules below.
SEED = 3
SUBMIT_MESSAGE = 27

# What the older release's rules gave. Only logs that it wrote had an index.
_OLD_RULES = f"""
    delete from contract_log l where l.synthetic and l.topic0 = %(transfer)s and l.topic3 is null and (
        exists (select from contract_result r where r.consensus_timestamp = l.consensus_timestamp) or 2 < (
            select count(*) from token_transfer t
            where t.consensus_timestamp = l.consensus_timestamp and t.token_id = l.contract_id));
    update contract_log set bloom = '\\x00' where synthetic;
    update contract_log set data = '' where synthetic and data = '\\x00' and topic3 is null;
    update contract_log l set index = -older.number
    from (
        select l.consensus_timestamp, l.index,
            row_number() over (partition by b.consensus_end order by l.index) as number
        from contract_log l
        join record_file b on l.consensus_timestamp between b.consensus_start and b.consensus_end
    ) older
    where (l.consensus_timestamp, l.index) = (older.consensus_timestamp, older.index);
    update contract_log set index = -1 - index;
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
        cursor.execute(_OLD_RULES, {"transfer": TRANSFER})
        cursor.execute(f"select consensus_timestamp, {', '.join(_PRICES)} from ethereum_transaction")
        for at, *amounts in cursor.fetchall():
            tinybars = [amount and _tinybars(bytes(amount)) for amount in amounts]
            cursor.execute(
                f"update ethereum_transaction set ({', '.join(_PRICES)}) = (%s, %s, %s, %s) "
                "where consensus_timestamp = %s",
                [*tinybars, at],
            )
        make_old_blooms(cursor)


def make_old_blooms(cursor: CursorWrapper) -> None:
    """Give results and blocks the blooms of what nodes have logged."""
    cursor.execute(
        "select r.consensus_timestamp, r.function_result, b.consensus_end from contract_result r "
        "join record_file b on r.consensus_timestamp between b.consensus_start and b.consensus_end "
        "where function_result is not null"
    )
    blocks: dict[int, list[bytes]] = defaultdict(list)
    results = cursor.fetchall()
    cursor.execute("update record_file set logs_bloom = ''")
    for at, function_result, block in results:
        bloom = ContractFunctionResult.FromString(bytes(function_result)).bloom
        own = bloom if any(bloom) else b""
        blocks[block].append(own)
        cursor.execute("update contract_result set bloom = %s where consensus_timestamp = %s", [own, at])
    for block, blooms in blocks.items():
        cursor.execute(
            "update record_file set logs_bloom = %s where consensus_end = %s",
            [log_bloom.union(blooms), block],
        )


def _tinybars(weibars: bytes) -> bytes:
    number = int.from_bytes(weibars, "big") // 10**10
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def unmarked(rows: list[str]) -> list[str]:
    """Return the rows of logs without a difference between false and null marks."""
    return sorted(row.replace('"synthetic": false', '"synthetic": null') for row in rows)


@pytest.mark.usefixtures("ledger_tables")
def test_upgraded_database_has_the_rows_of_a_new_one(tmp_path: Path) -> None:
    for _, block in History(blocks=BLOCKS, tps=TPS, seed=SEED).play(nodes()):
        block.write(tmp_path)
        load(block)
    wanted = contents()
    make_old()
    old = contents()
    changed = {table for table in wanted if wanted[table] != old[table]}
    assert changed >= {"contract_log", "contract_result", "ethereum_transaction", "record_file"}
    assert len(old["contract_log"]) < len(wanted["contract_log"])

    states = upgrade(*(name for name in BACKFILLS if not isinstance(BACKFILLS[name], IndexBuild)))

    upgraded = contents()
    for rows in (wanted, upgraded):
        rows["contract_log"] = unmarked(rows["contract_log"])
    assert {table for table in wanted if wanted[table] != upgraded.get(table)} == set()
    assert set(upgraded) == set(wanted)
    counts = {state.name: state.rows for state in states}
    changing = ("ethereum_weibars", "block_positions", "synthetic_logs", "log_blooms")
    assert all(counts[name] for name in changing), counts
    # As `manage.py verify`.
    findings: list[str] = []
    verification = Verification(quorums=None, found=lambda finding: findings.append(str(finding)))
    checked = verification.run(find_record_files([tmp_path]))
    assert (checked.files, findings) == (BLOCKS, [])
