"""The address books that come with the program: with whose keys a network began.

Source: address_books/<network>.bin, serialized NodeAddressBook; or the file of importer.initialAddressBook.
"""

from pathlib import Path

from mirror import config
from mirror.errors import OperatorError

FOLDER = Path(__file__).parent / "address_books"


def address_book() -> bytes | None:
    """The first book of the configured network; None when it has none. Errors: OperatorError."""
    given = config.value("importer.initialAddressBook")
    if given:
        try:
            return Path(given).read_bytes()
        except OSError as error:
            variable = config.described("importer.initialAddressBook").variable
            raise OperatorError(f"{variable}: {given} cannot be read: {error.strerror}.") from error
    path = FOLDER / f"{config.value('network')}.bin"
    return path.read_bytes() if path.is_file() else None
