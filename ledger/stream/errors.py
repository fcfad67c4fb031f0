"""The one exception of this package."""

from mirror.core.metrics import ingest


class StreamFileError(Exception):
    """A stream file that cannot be used.

    `position` is the byte where reading stopped, of the decompressed content unless the decompression itself
    failed. `cause` is what is wrong there, `cure` what an operator can do, `kind` the label of its count
    (`mirror.core.metrics.ingest.REFUSED`).
    """

    kind = ingest.CONTENT
    #: Whether it is an incident of its source already.
    is_recorded = False

    def __init__(
        self, file: str, position: int, cause: str, cure: str = "", *, kind: str | None = None
    ) -> None:
        super().__init__(file, position, cause, cure)
        if kind is not None:
            self.kind = kind
        self.file = file
        self.position = position
        self.cause = cause
        self.cure = cure

    def __str__(self) -> str:
        message = f"{self.file}, byte {self.position}: {self.cause}"
        return f"{message}. {self.cure}" if self.cure else message


def damaged(file: str, cause: str, position: int = 0) -> StreamFileError:
    """Return the error of a file of which another copy may be intact."""
    return StreamFileError(file, position, cause, "Fetch it again, or from another node.")


class NoTrustedSigners(StreamFileError):
    """No trusted signers of a file are known: the operator has to name them, no other source helps."""

    kind = ingest.SIGNATURES
