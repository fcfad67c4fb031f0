"""The values that keys and proofs consist of, read one after another."""

from typing import ClassVar, Final

SCALAR_LENGTH: Final = 32


class WrongSignature(Exception):
    """A signature, its key or its proof proves nothing; the message says why."""


class Values:
    """Reads the values of one curve; a subclass says of which, and reads its points."""

    ORDER: ClassVar[int]

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, length: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        part = self._data[self._at : self._at + length]
        self._at += length
        return part

    def scalar(self) -> int:
        """Return the next little-endian number. Errors: WrongSignature."""
        number = int.from_bytes(self.take(SCALAR_LENGTH), "little")
        if number >= self.ORDER:
            raise WrongSignature("a number in it is greater than the order of the curve")
        return number
