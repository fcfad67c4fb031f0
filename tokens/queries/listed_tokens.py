"""Rows of a list of tokens, and what selects them: shared by both forms of its statements."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.reading.sql import Comparison, Where, compare

# A pattern without this part is no help to the index of names.
TRIGRAM = re.compile(r"\w{3}")


class Selection(NamedTuple):
    """The choice of a page's tokens.

    `names` are patterns for ILIKE, which must all match. `account_id` is an account associated with them.
    """

    tokens: Sequence[Comparison] = ()
    type: str | None = None
    names: Sequence[str] = ()
    public_keys: Sequence[Comparison] = ()
    account_id: int | None = None

    def of_type(self, column: str) -> Where:
        """Return the condition of the type, if one is selected.

        `any`, as for `type = ...` PostgreSQL may walk the primary key past tokens of the other type.
        """
        return Where((f"{column} = any('{{{self.type}}}'::token_type[])",)) if self.type else Where()

    def named(self, column: str) -> Where:
        return Where((f"{column} ilike %s",) * len(self.names), tuple(self.names))

    def having_key(self, column: str) -> Where:
        return compare(column, self.public_keys, any_equal=False)


class ListedToken(NamedTuple):
    token_id: int
    decimals: int
    admin_key: bytes | None
    metadata: bytes | None
    name: str
    symbol: str
    type: str
