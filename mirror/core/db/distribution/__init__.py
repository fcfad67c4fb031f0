"""A database that is distributed over several machines by Citus (PostgreSQL with distributed tables).

Statements that join tables by other columns than those of their distribution, or correlate rows of different
machines, have a second form for it. A single PostgreSQL always gets the first form.
"""

from mirror.core import config
from mirror.core.config.errors import OperatorError

SETTING = "db.distributed"


def is_distributed() -> bool:
    return bool(config.value(SETTING))


def check_single(command: str, instead: str) -> None:
    """Raise OperatorError, with what to do instead, if the tables of the command are distributed."""
    if is_distributed():
        raise OperatorError(
            f"`manage.py {command}` works on a single PostgreSQL, and the tables are distributed: {instead}."
        )
