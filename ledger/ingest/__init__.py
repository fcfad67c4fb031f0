"""Loading: stream files to rows, and the errors that stop the stream."""

from mirror.core.metrics import ingest


class IngestError(Exception):
    """A file that cannot be loaded: name, position, cause, cure, and the kind by which it is counted."""

    def __init__(
        self, file: str, position: str, cause: str, cure: str, *, kind: str = ingest.CONTENT
    ) -> None:
        place = f"{file}: {position}" if position else file
        super().__init__(f"{place}: {cause}. {cure}")
        self.file, self.position, self.cause, self.cure = file, position, cause, cure
        self.kind = kind


class RecoverableError(Exception):
    """A problem of one transaction that is logged and skipped, unless the operator wants it to stop."""
