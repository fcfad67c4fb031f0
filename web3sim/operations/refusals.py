"""How the ledger says no."""

from mirror.core.values.hapi.result_codes import NAMES

_NUMBERS = {name: number for number, name in NAMES.items()}


class Refused(Exception):
    """The ledger refuses, by the name of a response code.

    Where a function has no room for the code it reverts: `as_word` with the number as a word, else with the
    name. None is as usual: views with the name, operations with the number. With `reverts` it does so also
    where there is room.
    """

    def __init__(self, code: str, *, as_word: bool | None = None, reverts: bool = False) -> None:
        # A contract can't know what is meant by the code for signatures of people.
        self.code = _OTHER_NAMES.get(code, code)
        self.as_word, self.reverts = as_word, reverts
        super().__init__(self.code)

    @property
    def number(self) -> int:
        return _NUMBERS[self.code]


_OTHER_NAMES = {"INVALID_SIGNATURE": "INVALID_FULL_PREFIX_SIGNATURE_FOR_PRECOMPILE"}
