"""Rows for reader tests: each method inserts one thing, with sensible values for what a test does not name.

Times are int nanoseconds, ids encoded; what a row is known by is returned.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from django.db import connection
from psycopg.types.json import Jsonb

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND

FEE_COLLECTOR, NODE = 98, 3


def insert(table: str, **columns: Any) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    places = ", ".join(["%s"] * len(columns))
    with connection.cursor() as cursor:
        cursor.execute(f"insert into {table} ({names}) values ({places})", list(columns.values()))


class Build:
    """Inserts rows; times move on by a second, block numbers by one, unless a test names them."""

    def __init__(self) -> None:
        self._time = START
        self._block = 0

    def _next_time(self) -> int:
        self._time += SECOND
        return self._time

    def block(self, number: int | None = None, *, end: int | None = None, **columns: Any) -> int:
        """A record file; returns its number."""
        number = self._block if number is None else number
        self._block = number + 1
        end = self._next_time() if end is None else end
        insert(
            "record_file",
            **{
                "name": f"{number}.rcd.gz",
                "load_start": 0,
                "load_end": 0,
                "hash": hashlib.sha384(b"%d" % number).hexdigest(),
                "prev_hash": hashlib.sha384(b"%d" % (number - 1)).hexdigest(),
                "consensus_start": end - SECOND + 1,
                "consensus_end": end,
                "count": 1,
                "digest_algorithm": 0,
                "version": 6,
                "file_hash": "ab" * 48,
                "index": number,
                "node_id": 0,
                "size": 5,
            }
            | columns,
        )
        return number

    def transaction(
        self,
        at: int | None = None,
        *,
        payer: int = 1001,
        transfers: Iterable[tuple[int, int]] | None = None,
        tokens: Iterable[tuple[int, int, int]] = (),
        **columns: Any,
    ) -> int:
        """A successful crypto transfer; returns its consensus timestamp.

        `transfers` are (account, amount), `tokens` (token, account, amount).
        """
        at = self._next_time() if at is None else at
        digest = hashlib.sha384(b"%d" % at).digest()
        row = {
            "consensus_timestamp": at,
            "type": 14,
            "result": 22,
            "payer_account_id": payer,
            "valid_start_ns": at - SECOND,
            "valid_duration_seconds": 120,
            "node_account_id": NODE,
            "max_fee": 33,
            "charged_tx_fee": 7,
            "memo": b"",
            "transaction_hash": digest,
            "scheduled": False,
            "nonce": 0,
        } | columns
        if isinstance(row.get("nft_transfer"), list):
            row["nft_transfer"] = Jsonb(row["nft_transfer"])
        insert("transaction", **row)
        for account, amount in [(payer, -7), (FEE_COLLECTOR, 7)] if transfers is None else transfers:
            self.crypto_transfer(at, account, amount, payer=payer)
        for token, account, amount in tokens:
            insert(
                "token_transfer",
                token_id=token,
                account_id=account,
                amount=amount,
                consensus_timestamp=at,
                payer_account_id=payer,
            )
        return at

    def crypto_transfer(
        self, at: int, account: int, amount: int, *, payer: int = 1001, **columns: Any
    ) -> None:
        insert(
            "crypto_transfer",
            entity_id=account,
            amount=amount,
            consensus_timestamp=at,
            payer_account_id=payer,
            **columns,
        )

    def transaction_hash(self, at: int, digest: bytes | None = None, *, payer: int | None = 1001) -> str:
        """The lookup row of a hash, of the transaction at this time by default; returns the hash in hex."""
        digest = hashlib.sha384(b"%d" % at).digest() if digest is None else digest
        insert(
            "transaction_hash",
            consensus_timestamp=at,
            hash=digest[:32],
            hash_suffix=digest[32:],
            payer_account_id=payer,
        )
        return digest.hex()

    def staking_reward(self, at: int, account: int, amount: int, *, payer: int = 1001) -> None:
        insert(
            "staking_reward_transfer",
            account_id=account,
            amount=amount,
            consensus_timestamp=at,
            payer_account_id=payer,
        )

    def assessed_custom_fee(self, at: int, collector: int, amount: int, **columns: Any) -> None:
        insert(
            "assessed_custom_fee",
            **{
                "collector_account_id": collector,
                "amount": amount,
                "consensus_timestamp": at,
                "payer_account_id": 1001,
                "effective_payer_account_ids": [],
            }
            | columns,
        )
