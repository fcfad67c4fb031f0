"""Refusals: operations that the ledger rejects with a response code."""

from enum import Enum
from typing import Any, TypeVar

from mirror.core.values.hapi.result_codes import NAMES

Value = TypeVar("Value")

_NUMBERS = {name: number for number, name in NAMES.items()}


class Refusal(Enum):
    """What becomes of a call of a system contract whose operation is rejected."""

    CODE = "code"
    COSTLY_CODE = "code, for all gas"
    WORD = "reverts with the code"
    TEXT = "reverts with its name"
    FREE_TEXT = "reverts with its name, for no gas"
    COSTLY_TEXT = "reverts with its name, for all gas"
    HALT = "halts"


class Refused(Exception):
    """A rejected operation, by the name of a response code.

    Without `refusal` that of the function counts; `results` are what it answers with its code.
    """

    def __init__(
        self, code: str, refusal: Refusal | None = None, results: tuple[Any, ...] | None = None
    ) -> None:
        self.code, self.refusal, self.results = code, refusal, results
        super().__init__(code)

    @property
    def number(self) -> int:
        return _NUMBERS[self.code]


def refuse_if(condition: object, code: str, refusal: Refusal | None = None) -> None:
    """Errors: Refused, if the condition holds."""
    if condition:
        raise Refused(code, refusal)


def required(value: Value | None, code: str) -> Value:
    """Return a value that must exist. Errors: Refused, if it is None."""
    if value is None:
        raise Refused(code)
    return value
