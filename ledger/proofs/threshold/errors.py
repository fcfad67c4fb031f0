"""The error of proofs that prove nothing."""


class WrongSignature(Exception):
    """A signature, its key or its proof proves nothing; the message says why."""
