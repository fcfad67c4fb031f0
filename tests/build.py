"""Rows for reader tests: each method inserts one thing, with sensible values where a test gives none.

Times are int nanoseconds, ids are encoded; most methods return the id of the row.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from django.db import connection
from psycopg.types.json import Jsonb

from mirror.core.values import entity_id as entity_ids

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND

FEE_COLLECTOR, NODE = 98, 3


def insert(table: str, **columns: Any) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    places = ", ".join(["%s"] * len(columns))
    with connection.cursor() as cursor:
        cursor.execute(f"insert into {table} ({names}) values ({places})", list(columns.values()))


def time_range(since: int, until: int | None = None) -> str:
    """Return a timestamp_range from `since` to just before `until`."""
    return f"[{since},{'' if until is None else until})"


class Build:
    """A builder of rows; times advance by a second and block numbers by one, unless a test gives them."""

    def __init__(self) -> None:
        self._time = START
        self._block = 0

    def _next_time(self) -> int:
        self._time += SECOND
        return self._time

    def block(self, number: int | None = None, *, end: int | None = None, **columns: Any) -> int:
        """Insert a record file and return its number."""
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
        """Insert a successful crypto transfer and return its consensus timestamp.

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
        """Insert a transaction_hash row and return the hash in hex; `digest` may be left out."""
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

    def entity(
        self,
        entity_id: int,
        *,
        type: str = "ACCOUNT",
        since: int = START,
        until: int | None = None,
        table: str = "entity",
        **columns: Any,
    ) -> int:
        """Insert an entity, valid from `since` on, and return its id."""
        shard, realm, num = entity_ids.decode(entity_id)
        insert(
            table,
            **{
                "id": entity_id,
                "shard": shard,
                "realm": realm,
                "num": num,
                "type": type,
                "deleted": False,
                "created_timestamp": since,
                "timestamp_range": time_range(since, until),
            }
            | columns,
        )
        return entity_id

    def schedule(self, schedule_id: int, *, creator: int = 1001, payer: int = 1001, **columns: Any) -> int:
        """Insert a schedule that waits for signatures and return its id."""
        insert(
            "schedule",
            **{
                "schedule_id": schedule_id,
                "consensus_timestamp": self._next_time(),
                "creator_account_id": creator,
                "payer_account_id": payer,
                "transaction_body": b"body",
            }
            | columns,
        )
        return schedule_id

    def signature(self, schedule_id: int, at: int, prefix: bytes, *, type: int | None = 3) -> None:
        """Insert a signature of 64 bytes that a schedule collected."""
        insert(
            "transaction_signature",
            consensus_timestamp=at,
            entity_id=schedule_id,
            public_key_prefix=prefix,
            signature=prefix[:1] * 64,
            type=type,
        )

    def topic(self, topic_id: int, *, since: int = START, **columns: Any) -> int:
        """Insert the keys of a topic, without its entity, and return its id."""
        insert(
            "topic",
            **{"id": topic_id, "created_timestamp": since, "timestamp_range": time_range(since)} | columns,
        )
        return topic_id

    def custom_fee(
        self,
        entity_id: int,
        *,
        since: int = START,
        until: int | None = None,
        table: str = "custom_fee",
        **columns: Any,
    ) -> None:
        """Insert the fee schedule of a token or topic."""
        fees = {name: Jsonb(fees) for name, fees in columns.items() if name.endswith("_fees")}
        insert(
            table, **{"entity_id": entity_id, "timestamp_range": time_range(since, until)} | columns | fees
        )

    def message(self, topic_id: int, number: int, *, at: int | None = None, **columns: Any) -> int:
        """Insert a message of a topic and return its consensus timestamp."""
        at = self._next_time() if at is None else at
        insert(
            "topic_message",
            **{
                "topic_id": topic_id,
                "sequence_number": number,
                "consensus_timestamp": at,
                "message": b"message",
                "payer_account_id": 1001,
                "running_hash": b"hash",
                "running_hash_version": 3,
            }
            | columns,
        )
        return at

    def token(
        self,
        token_id: int,
        *,
        since: int = START,
        until: int | None = None,
        table: str = "token",
        **columns: Any,
    ) -> int:
        """Insert a fungible token without keys and without its entity, and return its id."""
        insert(
            table,
            **{
                "token_id": token_id,
                "created_timestamp": since,
                "decimals": 2,
                "initial_supply": 0,
                "name": f"Token {token_id}",
                "symbol": f"T{token_id}",
                "treasury_account_id": 1001,
                "freeze_status": 0,
                "kyc_status": 0,
                "timestamp_range": time_range(since, until),
            }
            | columns,
        )
        return token_id

    def holding(
        self, token_id: int, *, account: int, balance: int = 0, since: int = START, **columns: Any
    ) -> None:
        """Insert an account's association with a token."""
        insert(
            "token_account",
            **{
                "account_id": account,
                "token_id": token_id,
                "associated": True,
                "automatic_association": False,
                "balance": balance,
                "created_timestamp": since,
                "timestamp_range": time_range(since),
            }
            | columns,
        )

    def nft(
        self,
        token_id: int,
        serial_number: int,
        *,
        account: int | None,
        since: int = START,
        until: int | None = None,
        table: str = "nft",
        **columns: Any,
    ) -> None:
        """Insert one serial of a token."""
        insert(
            table,
            **{
                "token_id": token_id,
                "serial_number": serial_number,
                "account_id": account,
                "created_timestamp": since,
                "deleted": False,
                "metadata": b"metadata",
                "timestamp_range": time_range(since, until),
            }
            | columns,
        )

    def allowance(self, kind: str, *, owner: int, spender: int, since: int = START, **columns: Any) -> None:
        """Insert an allowance of a `kind`: crypto, token or nft."""
        insert(
            f"{kind}_allowance",
            **{
                "owner": owner,
                "spender": spender,
                "payer_account_id": owner,
                "timestamp_range": time_range(since),
            }
            | ({"approved_for_all": True} if kind == "nft" else {"amount": 5, "amount_granted": 7})
            | columns,
        )
