"""What stops the stream."""


class IngestError(Exception):
    """A file cannot follow what is loaded; names the file, the position in it, the cause and the cure."""

    def __init__(self, file: str, position: str, cause: str, cure: str) -> None:
        super().__init__(f"{file}: {position}: {cause}. {cure}")
        self.file, self.position, self.cause, self.cure = file, position, cause, cure


class RecoverableError(Exception):
    """A problem of one transaction that normally is logged and passed over."""
