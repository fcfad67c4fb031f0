"""Refusals: operations that the ledger rejects with a response code."""

from typing import TypeVar

from mirror.core.values.hapi.result_codes import NAMES

Value = TypeVar("Value")

_NUMBERS = {name: number for number, name in NAMES.items()}


class Refused(Exception):
    """A rejected operation, by the name of a response code.

    A function whose output has no code reverts: `as_word` with the number as a word, else with the name. By
    default, None, views revert with the name, operations with the number. With `reverts` functions whose
    output has a code revert too.
    """

    def __init__(self, code: str, *, as_word: bool | None = None, reverts: bool = False) -> None:
        # Contracts get another code than people for a missing signature.
        self.code = _OTHER_NAMES.get(code, code)
        self.as_word, self.reverts = as_word, reverts
        super().__init__(self.code)

    @property
    def number(self) -> int:
        return _NUMBERS[self.code]


def refuse_if(condition: object, code: str) -> None:
    """Errors: Refused, if the condition holds."""
    if condition:
        raise Refused(code)


def required(value: Value | None, code: str) -> Value:
    """Return a value that must exist. Errors: Refused, if it is None."""
    if value is None:
        raise Refused(code)
    return value


_OTHER_NAMES = {"INVALID_SIGNATURE": "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"}
