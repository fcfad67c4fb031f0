"""The ledger that the operator names, for a node that has not loaded what the network has published of it."""

from pathlib import Path

from ledger.proofs.threshold import identity
from ledger.proofs.threshold.identity import LedgerIdentity, NoPublication
from mirror.core import config
from mirror.core.config.errors import OperatorError

FIRST_LEDGER = "importer.block.initialLedgerIdPublication"


def named_ledger() -> LedgerIdentity | None:
    """Return the ledger in the file that the operator names. Errors: OperatorError."""
    path = config.value(FIRST_LEDGER)
    if not path:
        return None
    variable = config.described(FIRST_LEDGER).variable
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise OperatorError(f"{variable}: the file {path} can't be read: {error.strerror}.") from error
    try:
        return identity.read_publication(data)
    except NoPublication as error:
        raise OperatorError(f"{variable}: {path} {error}.") from error
