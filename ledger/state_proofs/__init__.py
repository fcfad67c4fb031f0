"""State proofs, and the reasons why there is none of a transaction."""


class NoProof(Exception):
    """There is no proof; the message says why."""


class NotStored(NoProof):
    """This node does not have what would be proved."""


class NotFetched(NoProof):
    """The files that prove it are not available, or prove nothing; only operators may see `details`."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class Busy(NoProof):
    """Too many others want a proof at the same time."""
