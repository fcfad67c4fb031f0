"""The content of a balance file in a temporary table: balances may be millions, and are worked on by SQL."""

from collections.abc import Iterator

from django.db.backends.utils import CursorWrapper

from ledger.stream.balance.balance_file import BalanceFile
from mirror.core.db.writing.copy import Column, copy_rows

# A row without a token holds the tinybars of an account.
_TABLE = """
    create temporary table file_balance (account_id bigint, token_id bigint, balance bigint)
    on commit drop"""
_COLUMNS = (
    Column("account_id", "int8", None),
    Column("token_id", "int8", None),
    Column("balance", "int8", None),
)


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
