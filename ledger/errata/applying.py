"""Applying errata: in one database transaction, as often as wanted."""

from collections.abc import Callable
from pathlib import Path

from django.db import transaction

from ledger.errata import (
    EXPECTED,
    NETWORK,
    Applied,
    Part,
    balance_repair,
    folder,
    missing_transactions,
    states,
)
from ledger.ingest import stored_network
from ledger.ingest.loader_lock import loader_lock
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements

# Where the ranges are not known, everything between the first and the last block counts as loaded.
_RANGES = """
    select consensus_start, consensus_end from loaded_range
    union all
    select min(consensus_start), max(consensus_end) from record_file
    where not exists (select from loaded_range) having count(*) > 0"""
_LOADED = "select part, applied from loaded_errata"
_STORE_APPLIED = """
    insert into loaded_errata (part, known, applied, changed) values (%s, %s, %s, now())
    on conflict (part) do update set known = excluded.known, applied = excluded.applied, changed = now()"""


def apply(path: Path, report: Callable[[str], None]) -> list[Applied]:
    """Apply the errata of a folder to what is loaded; return what there is of each part.

    Errors: OperatorError, StreamFileError, IngestError. Then nothing is changed.
    """
    if config.value("network") != NETWORK:
        raise OperatorError(
            f"Errata are those of {NETWORK}, and {config.lookup('network').variable} is "
            f"{config.value('network')}: there is nothing to apply."
        )
    stored_network.check()
    folder.check(path)
    with loader_lock(), transaction.atomic():
        return _apply(path, report)


def _apply(path: Path, report: Callable[[str], None]) -> list[Applied]:
    ranges = statements.rows(_RANGES)
    if not ranges:
        raise OperatorError("Nothing is loaded yet: errata are applied to what is loaded.")
    missing = folder.missing_transactions(path)
    in_range = [
        each
        for each in missing
        if any(start <= each.item.consensus_timestamp <= end for start, end in ranges)
    ]
    transfers, batch = missing_transactions.add(in_range)
    if batch and batch.skipped:
        changes = ", ".join(f"{table} {count}" for table, count in sorted(batch.skipped.items()))
        report(f"What is stored is newer than these changes, which are left out: {changes}.")
    contracts = folder.contracts(path)
    accounts = states.fill(folder.accounts(path), contracts)
    states.mark_contracts(contracts)
    refunds = balance_repair.mark_spurious()
    balance_repair.repair_balances([*transfers, *refunds], batch.created_ids if batch else set())
    offsets = balance_repair.set_offsets(folder.late_balance_files(path))
    return _store_applied(
        {
            Part.TRANSACTIONS: {each.item.consensus_timestamp for each in in_range},
            Part.ACCOUNTS: accounts,
            Part.CONTRACTS: contracts,
            Part.BALANCE_FILES: set(offsets),
            Part.SPURIOUS: {timestamp for _, timestamp, _ in refunds},
        },
        outside=len(missing) - len(in_range),
    )


def _store_applied(applied: dict[Part, set[int]], *, outside: int) -> list[Applied]:
    before = {part: set(numbers) for part, numbers in statements.rows(_LOADED)}
    results = []
    for part, numbers in applied.items():
        earlier = before.get(part.value, set())
        all_numbers = earlier | numbers
        statements.execute(_STORE_APPLIED, [part.value, EXPECTED.get(part), sorted(all_numbers)])
        not_loaded = outside if part is Part.TRANSACTIONS else 0
        results.append(Applied(part, len(all_numbers), len(all_numbers - earlier), not_loaded))
    return results
