"""Refusals: operations that the ledger rejects with a response code."""

from enum import Enum
from typing import Any, TypeVar

from mirror.core.values.hapi.result_codes import NAMES

Value = TypeVar("Value")

_NUMBERS = {name: number for number, name in NAMES.items()}


class Rejection(Enum):
    """What becomes of a call of a system contract whose operation is rejected."""

    CODE = "code"
    COSTLY_CODE = "code, for all gas"
    WORD = "reverts with the code"
    TEXT = "reverts with its name"
    FREE_TEXT = "reverts with its name, for no gas"
    COSTLY_TEXT = "reverts with its name, for all gas"
    HALT = "halts"


class Rejected(Exception):
    """A rejected operation, by the name of a response code.

    Without `rejection` that of the function counts; `results` are what it answers with its code.
    """

    def __init__(
        self, code: str, rejection: Rejection | None = None, results: tuple[Any, ...] | None = None
    ) -> None:
        self.code, self.rejection, self.results = code, rejection, results
        super().__init__(code)

    @property
    def number(self) -> int:
        return _NUMBERS[self.code]


def reject_if(condition: object, code: str, rejection: Rejection | None = None) -> None:
    """Errors: Rejected, if the condition holds."""
    if condition:
        raise Rejected(code, rejection)


def required(value: Value | None, code: str) -> Value:
    """Return a value that must exist. Errors: Rejected, if it is None."""
    if value is None:
        raise Rejected(code)
    return value
