"""Values to ask for, from what is in a database: of each kind a busy one and a quiet one, or a rare one.

So the same cases fit every database, whoever filled it, and mean the same in a small one and a large one.
"""

from collections.abc import Callable
from typing import Any, LiteralString

import psycopg

SECOND = 10**9
#: A type that only operators of the network use, which is missing in most data.
RARE_TYPE = "freeze"
_NOBODY = 999_999_999
# What is looked at for the busiest and the quietest.
_LATEST, _CANDIDATES, _MOST = 20_000, 200, 60


def values(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """By name what stands in a URL. A name whose kind the data does not have is left out."""
    found: dict[str, str] = {}
    # Where a few rows of many are looked for, PostgreSQL would rather read the table than an index.
    connection.execute("set enable_seqscan = off")
    for part in (_times, _accounts, _transactions, _contracts, _topics, _tokens, _others):
        part(found, _Reading(connection))
    return found


class _Reading:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def one(self, statement: LiteralString, *parameters: Any) -> Any:
        """The first row: its value, or a tuple of its values; None if there is none."""
        row = self._connection.execute(statement, parameters).fetchone()
        return row[0] if row and len(row) == 1 else row

    def busiest(self, table: LiteralString, column: LiteralString, where: LiteralString = "true") -> Any:
        """The value that most of the latest rows have."""
        return self.one(
            f"select {column} from (select * from {table} where {where} "
            f"order by consensus_timestamp desc limit {_LATEST}) t "
            "group by 1 order by count(*) desc, 1 limit 1"
        )

    def most_common(self, table: str, column: str) -> Any:
        """The value of most rows, as PostgreSQL's statistics know it; without them, any value."""
        common = self.one(
            "select (most_common_vals::text::text[])[1] from pg_stats where schemaname = current_schema() "
            "and tablename = %s and attname = %s",
            table,
            column,
        )
        if common is not None:
            return common
        statement: Any = f"select {column}::text from {table} where {column} is not null limit 1"
        return self.one(statement)

    def quietest(self, candidates: LiteralString, table: LiteralString, column: LiteralString) -> Any:
        """Of the candidates (a statement with the column `id`) one with few rows of the table, but some."""
        # The number stands in the text: partial indexes leave out the busiest accounts.
        counted = [
            (many, number)
            for (number,) in self._connection.execute(f"{candidates} limit {_CANDIDATES}").fetchall()
            if (
                many := self.one(
                    f"select count(*) from (select 1 from {table} where {column} = {int(number)} "
                    f"limit {_MOST}) found"
                )
            )
        ]
        return min(counted)[1] if counted else None


def _entity(number: Any) -> str:
    return f"0.0.{number}"


def _time(at: int) -> str:
    return f"{at // SECOND}.{at % SECOND:09d}"


def _put(found: dict[str, str], write: Callable[[Any], str] = str, **named: Any) -> None:
    found.update({name: write(value) for name, value in named.items() if value is not None})


def _hex(data: Any) -> str:
    return "0x" + bytes(data).hex()


def _times(found: dict[str, str], read: _Reading) -> None:
    first, last = read.one("select min(consensus_timestamp), max(consensus_timestamp) from transaction")
    span = last - first
    _put(found, _time, first=first, last=last, past=first + span // 7, middle=first + span // 2)
    _put(found, _time, minute_later=first + span // 2 + 60 * SECOND, after=last + SECOND)
    # Contract queries allow seven days.
    _put(found, _time, week_ago=max(last - 6 * 86_400 * SECOND, first))
    _put(found, _time, snapshot=read.one("select max(consensus_timestamp) from account_balance_file"))
    before = read.one("select min(consensus_timestamp) from account_balance_file")
    _put(found, _time, first_snapshot=before)


def _accounts(found: dict[str, str], read: _Reading) -> None:
    users = "select id from entity where type = 'ACCOUNT' and id > 1000 order by id desc"
    quiet = read.quietest(users, "crypto_transfer", "entity_id")
    _put(
        found,
        _entity,
        busy=read.busiest("transaction", "payer_account_id"),
        quiet=quiet,
        hundred_before=quiet and max(quiet - 100, 1001),
        node=read.busiest("transaction", "node_account_id", "node_account_id is not null"),
        collector=98,
        nobody=_NOBODY,
        payee=read.busiest("crypto_transfer", "entity_id", "entity_id > 1000 and amount > 0"),
        rewarded=read.busiest("staking_reward_transfer", "account_id"),
    )
    _put(found, key=read.most_common("entity", "public_key"))
    _put(
        found,
        rich=read.one(
            "select balance from entity where type = 'ACCOUNT' order by balance desc offset 30 limit 1"
        ),
        middling=read.one(
            "select percentile_disc(0.5) within group (order by balance) from entity where type = 'ACCOUNT'"
        ),
    )
    address = "select evm_address from entity where type = 'ACCOUNT' and evm_address is not null limit 1"
    _put(found, _hex, address=read.one(address))


def _transactions(found: dict[str, str], read: _Reading) -> None:
    row = read.one(
        "select payer_account_id, valid_start_ns, transaction_hash from transaction "
        "where consensus_timestamp >= (select min(consensus_timestamp) / 2 + max(consensus_timestamp) / 2 "
        "from transaction) and type = 14 order by consensus_timestamp limit 1"
    )
    if row:
        found["transaction"] = f"{_entity(row[0])}-{_time(row[1]).replace('.', '-')}"
        _put(found, _hex, hash=row[2])
    number, hash = read.one("select index, hash from record_file order by index desc offset 500 limit 1") or (
        read.one("select index, hash from record_file order by index limit 1")
    )
    _put(found, block=number, earlier_block=max(number - 500, 0), block_hash=hash)


def _contracts(found: dict[str, str], read: _Reading) -> None:
    busy = read.busiest("contract_result", "contract_id")
    all_contracts = "select id from entity where type = 'CONTRACT' order by id desc"
    _put(
        found,
        _entity,
        contract=busy,
        quiet_contract=read.quietest(all_contracts, "contract_result", "contract_id"),
        sender=read.busiest("contract_result", "sender_id"),
        quiet_sender=read.one("select sender_id from contract_result where sender_id > 1000 limit 1"),
        stateful=read.most_common("contract_state", "contract_id"),
        quiet_contract_with_logs=read.quietest(all_contracts, "contract_log", "contract_id"),
    )
    topics = """
        select topic0, count(*) as many
        from (select topic0 from contract_log where topic0 is not null
            order by consensus_timestamp limit 20000) t
        group by 1"""
    _put(
        found,
        _hex,
        topic0=read.one(f"select topic0 from ({topics}) t order by many desc limit 1"),
        rare_topic0=read.one(f"select topic0 from ({topics}) t order by many limit 1"),
        topic2=read.one(
            "select topic2 from contract_log where topic2 is not null "
            "order by consensus_timestamp desc limit 1"
        ),
        slot=read.one("select slot from contract_state limit 1"),
        result_hash=read.one("select hash from contract_transaction_hash limit 1"),
    )
    found["no_topic"] = "0x" + "ab" * 32
    evm = "select evm_address from entity where type = 'CONTRACT' and evm_address is not null limit 1"
    _put(found, _hex, contract_address=read.one(evm))
    at = read.one("select consensus_timestamp from contract_log order by 1 desc limit 1")
    last = "select max(consensus_timestamp) from contract_result where contract_id = %s"
    _put(found, _time, log_at=at, result_at=busy and read.one(last, busy))
    hook = read.one("select owner_id, hook_id from hook limit 1")
    if hook:
        _put(found, hook_owner=_entity(hook[0]), hook=hook[1])


def _topics(found: dict[str, str], read: _Reading) -> None:
    topics = "select id from entity where type = 'TOPIC' order by id desc"
    busy = read.most_common("topic_message", "topic_id")
    _put(found, _entity, topic=busy, quiet_topic=read.quietest(topics, "topic_message", "topic_id"))
    message = "select max(consensus_timestamp) from topic_message where topic_id = %s"
    _put(found, _time, message_at=busy and read.one(message, int(busy)))


def _tokens(found: dict[str, str], read: _Reading) -> None:
    held, collection = read.most_common("token_account", "token_id"), read.most_common("nft", "token_id")
    _put(
        found,
        _entity,
        token=held,
        quiet_token=read.quietest(
            "select token_id as id from token order by id desc", "token_account", "token_id"
        ),
        holder=read.most_common("token_account", "account_id"),
        collection=collection,
        nft_owner=read.most_common("nft", "account_id"),
        quiet_nft_owner=read.quietest(
            "select id from entity where type = 'ACCOUNT' order by id desc", "nft", "account_id"
        ),
        nft_spender=read.one("select spender from nft where spender is not null limit 1"),
        airdrop_sender=read.most_common("token_airdrop", "sender_account_id"),
        airdrop_receiver=read.most_common("token_airdrop", "receiver_account_id"),
        owner=read.most_common("crypto_allowance", "owner"),
        spender=read.most_common("crypto_allowance", "spender"),
        token_owner=read.most_common("token_allowance", "owner"),
        token_spender=read.most_common("token_allowance", "spender"),
        nft_allowing=read.most_common("nft_allowance", "owner"),
    )
    serial = read.one(
        "select token_id, serial_number, account_id from nft where token_id = %s order by serial_number desc "
        "offset 3 limit 1",
        collection,
    )
    if serial:
        _put(found, serial=serial[1])
        _put(found, _entity, serial_owner=serial[2])
    name = read.one("select name from token where name like '%% %%' limit 1")
    _put(found, word=name and name.split()[0], name=name and name.rpartition(" ")[0].replace(" ", "%20"))
    _put(
        found,
        much=read.one(
            "select balance from token_account where token_id = %s order by balance desc offset 30 limit 1",
            held,
        ),
        token_key=read.one(
            "select e.public_key from entity e join token t on t.token_id = e.id "
            "where public_key is not null limit 1"
        ),
    )


def _others(found: dict[str, str], read: _Reading) -> None:
    _put(
        found,
        _entity,
        schedule=read.one("select max(schedule_id) from schedule"),
        scheduling=read.most_common("schedule", "creator_account_id"),
        quiet_scheduling=read.one(
            "select creator_account_id from schedule order by schedule_id desc limit 1"
        ),
    )
