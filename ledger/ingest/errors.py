"""What stops the stream."""


class IngestError(Exception):
    """A file cannot follow what is loaded; names the file, the position in it, the cause and the cure."""

    def __init__(self, file: str, position: str, cause: str, cure: str) -> None:
        place = f"{file}: {position}" if position else file
        super().__init__(f"{place}: {cause}. {cure}")
        self.file, self.position, self.cause, self.cure = file, position, cause, cure


class RecoverableError(Exception):
    """A problem of one transaction that normally is logged and passed over."""
