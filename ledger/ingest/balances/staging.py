"""The content of a balance file in a temporary table, for SQL over millions of balances; its time offset."""

from collections.abc import Iterator

from django.db.backends.utils import CursorWrapper

from ledger.stream.balance.balance_file import BalanceFile
from mirror.core import config
from mirror.core.db.writing.copy import Column, copy_rows

# For these consensus timestamps (ns) the nodes of mainnet wrote files whose time is 53 ns early.
_LATE_FIRST, _LATE_LAST, _LATE = 1_658_420_100_626_004_000, 1_666_368_000_880_378_770, 53

# A row without a token holds the tinybars of an account.
_TABLE = """
    create temporary table file_balance (account_id bigint, token_id bigint, balance bigint)
    on commit drop"""
_COLUMNS = (
    Column("account_id", "int8", None),
    Column("token_id", "int8", None),
    Column("balance", "int8", None),
)


def offset_of(consensus_timestamp: int) -> int:
    """Return the offset of a balance file (ns): it includes all transactions up to its timestamp plus this.

    0 except for some files of mainnet.
    """
    if config.value("network") == "mainnet" and _LATE_FIRST <= consensus_timestamp <= _LATE_LAST:
        return _LATE
    return 0


def stage(cursor: CursorWrapper, file: BalanceFile) -> None:
    """Copy a file into the table `file_balance`, which is gone at the end of the transaction.

    Errors: StreamFileError.
    """
    cursor.execute(_TABLE)
    copy_rows(cursor, "file_balance", _COLUMNS, _rows(file))
    cursor.execute("analyze file_balance")


def _rows(file: BalanceFile) -> Iterator[tuple[int, int | None, int]]:
    for account, balance, tokens in file.holdings():
        yield account, None, balance
        for token, units in tokens:
            yield account, token, units
