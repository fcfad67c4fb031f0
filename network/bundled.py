"""The address books that come with the program: each network's first one, and some later ones.

Source: address_books/<network>.bin and <network>-<first consensus time in ns>.bin, serialized
NodeAddressBook; or the file of importer.initialAddressBook.
"""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import BUNDLED, read_address_book
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.values import timestamp

FOLDER = Path(__file__).parent / "address_books"
DEMO = "demo"
# The network of `manage.py demo`; the bundled book is that of its nodes.
SIMULATED = "simulated"
BUNDLED[:] = sorted(FOLDER.glob("*.bin"))


def address_book() -> bytes | None:
    """Return the network's bundled book at importer.startDate, or its first one. Errors: OperatorError."""
    path = config.value("importer.initialAddressBook")
    if path:
        return _initial(path)
    network = config.value("network")
    if network == DEMO:
        return None
    books = {0: FOLDER / f"{network}.bin"}
    for later in FOLDER.glob(f"{network}-*.bin"):
        books[int(later.stem.rpartition("-")[2])] = later
    start = config.value("importer.startDate")
    newest = max(time for time in books if time <= (timestamp.parse_iso(start) if start else 0))
    return books[newest].read_bytes() if books[newest].is_file() else None


def _initial(path: str) -> bytes:
    """Return the book of importer.initialAddressBook. Errors: OperatorError when it is not a book."""
    variable = config.lookup("importer.initialAddressBook").variable
    try:
        book = Path(path).read_bytes()
        if not read_address_book(path, book):
            raise OperatorError(f"{variable} names {path}, which is no address book: it has no nodes.")
    except OSError as error:
        raise OperatorError(f"{variable} names {path}, which cannot be read: {error.strerror}.") from error
    except StreamFileError as error:
        raise OperatorError(f"{variable} names {path}, which is no address book: {error.cause}.") from error
    return book


def public_demo_address_book() -> bytes | None:
    """Return the book of the streams published for demonstrations; None for another network."""
    if config.value("network") != DEMO:
        return None
    return (FOLDER / f"{DEMO}.bin").read_bytes()


def demo_address_book(files: Iterable[StreamFile]) -> bytes | None:
    """Return a demo network's first book: the simulated one if the first file is signed by it."""
    public = public_demo_address_book()
    first = next((file for file in files if file.published), None)
    if public and first:
        simulated = (FOLDER / f"{SIMULATED}.bin").read_bytes()
        if _is_signed(first, simulated):
            return simulated
    return public


def _is_signed(file: StreamFile, book: bytes) -> bool:
    nodes = read_address_book(file.name, book)
    quorum = Quorum.from_address_book(nodes, {}, ConsensusMode.EQUAL, Fraction(1, 3))
    try:
        file.verify(lambda at: quorum, sidecars=False)
    except StreamFileError:
        return False
    return True
