"""Loading: stream files to rows, and the errors that stop the stream."""

from mirror.core.metrics import ingest


class IngestError(Exception):
    """A file that cannot be loaded: its name, the position in it, the cause and the cure.

    `kind` says as what it is counted (`mirror.core.metrics.ingest.REFUSED`).
    """

    def __init__(
        self, file: str, position: str, cause: str, cure: str, *, kind: str = ingest.CONTENT
    ) -> None:
        place = f"{file}: {position}" if position else file
        super().__init__(f"{place}: {cause}. {cure}")
        self.file, self.position, self.cause, self.cure = file, position, cause, cure
        self.kind = kind


class RecoverableError(Exception):
    """A problem of one transaction that is logged and skipped, unless the operator wants it to stop."""
