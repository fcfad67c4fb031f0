"""Streams for tests, composed from the plain values of bodies and records."""

from collections.abc import Mapping
from typing import Any

from mirror.core.values.hapi.messages import TransactionBody, TransactionRecord
from tests.composing import Composer

KEY = {"ed25519": bytes(range(32))}
OTHER_KEY = {"ed25519": bytes(range(1, 33))}
DAY = 86_400 * 10**9

INSUFFICIENT_PAYER_BALANCE, FAIL_INVALID = 10, 23


class Stream(Composer):
    """A stream of any transactions. They are free, so that tests alone move balances."""

    def happen(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        record: Mapping[str, Any] | None = None,
        *,
        whole: Mapping[str, Any] | None = None,
        fee: int = 0,
        **options: Any,
    ) -> int:
        """Add a transaction and return its consensus timestamp.

        `kind` is a field of TransactionBody, `body` are its values and `whole` the other fields.
        """
        message = TransactionBody(**(whole or {}))
        data = getattr(message, kind)
        data.SetInParent()
        data.MergeFrom(type(data)(**(body or {})))
        composed = self.transaction(message, TransactionRecord(**(record or {})), fee=fee, **options)
        return composed.consensus_timestamp

    def create(self, number: int, balance: int = 0, **options: Any) -> int:
        """Create an account."""
        composed = self.crypto_create(number, initial_balance=balance, fee=0, **options)
        return composed.consensus_timestamp

    def send(self, transfers: Mapping[int, int], **options: Any) -> int:
        """Transfer without a fee."""
        return self.crypto_transfer(transfers, fee=0, **options).consensus_timestamp


def num(account: int) -> dict[str, int]:
    """An AccountID."""
    return {"accountNum": account}


def receipt(**fields: Any) -> dict[str, Any]:
    """A record with this in its receipt: `receipt(accountID=num(1001))`."""
    return {"receipt": fields}


def seconds(nanoseconds: int) -> dict[str, int]:
    """A Timestamp or TimestampSeconds."""
    whole, nanos = divmod(nanoseconds, 10**9)
    return {"seconds": whole, "nanos": nanos}
