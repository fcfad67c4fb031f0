"""A database large enough that PostgreSQL plans as it does for a network's: every table that grows with
transactions has thousands of rows, spread over accounts, tokens, topics and time.

Rows are made inside the database; the tests roll them back.
"""

from django.db import connection

from tests.build import SECOND, START

ACCOUNTS, TOKENS, TOPICS, SCHEDULES, CONTRACTS = 1001, 100_001, 200_001, 300_001, 400_001
_MANY = 20_000

# Of row number n: an account, a token and a topic, each of some hundreds, so that none has many of the rows.
_ACCOUNT = f"{ACCOUNTS} + n * 7 % 997"
_OTHER_ACCOUNT = f"{ACCOUNTS} + n * 11 % 997"
_CONTRACT = f"{CONTRACTS} + n * 17 % 499"
_TOKEN = f"{TOKENS} + n * 13 % 499"
_AT = f"{START} + n * {SECOND}"
_SINCE = f"int8range({START} + n, null)"
_UNTIL = f"int8range({START} + n, {START} + n + 5)"
_HASH = "sha384(n::text::bytea)"

# Table -> column -> expression of n. A table named twice gets both kinds of rows.
_ROWS: list[tuple[str, dict[str, str]]] = [
    (
        "record_file",
        {
            "name": "n || '.rcd.gz'",
            "load_start": "0",
            "load_end": "0",
            "hash": f"encode({_HASH}, 'hex')",
            "prev_hash": "encode(sha384((n - 1)::text::bytea), 'hex')",
            "consensus_start": _AT,
            "consensus_end": f"{_AT} + 5",
            "count": "1",
            "digest_algorithm": "0",
            "version": "6",
            "file_hash": "n::text",
            "index": "n",
        },
    ),
    (
        "transaction",
        {
            "consensus_timestamp": _AT,
            "type": "n % 40",
            "result": "case when n % 5 = 0 then 10 else 22 end",
            "payer_account_id": _ACCOUNT,
            "valid_start_ns": f"{_AT} - 5",
            "node_account_id": "3",
            "entity_id": _OTHER_ACCOUNT,
            "memo": "'\\x6d656d6f'",
            "transaction_hash": _HASH,
        },
    ),
    (
        "registered_node",
        {
            "registered_node_id": "n",
            "deleted": "n % 7 = 0",
            "service_endpoints": "'[]'",
            "timestamp_range": _SINCE,
            "type": "array[1 + n % 4]::smallint[]",
        },
    ),
    (
        "transaction_hash",
        {
            "consensus_timestamp": _AT,
            "hash": f"substring({_HASH} from 1 for 32)",
            "hash_suffix": f"substring({_HASH} from 33)",
            "payer_account_id": _ACCOUNT,
        },
    ),
    (
        "transaction_signature",
        {
            "consensus_timestamp": _AT,
            "public_key_prefix": "n::text::bytea",
            "entity_id": f"{SCHEDULES} + n % 1999",
            "signature": _HASH,
            "type": "3",
        },
    ),
    *(
        (
            "crypto_transfer",
            {
                "entity_id": account,
                "consensus_timestamp": _AT,
                "amount": amount,
                "payer_account_id": _ACCOUNT,
            },
        )
        for account, amount in ((_ACCOUNT, "-5"), (_OTHER_ACCOUNT, "4"), ("98", "1"))
    ),
    (
        "token_transfer",
        {
            "token_id": _TOKEN,
            "account_id": _OTHER_ACCOUNT,
            "amount": "n",
            "consensus_timestamp": _AT,
            "payer_account_id": _ACCOUNT,
        },
    ),
    *(
        (
            "entity",
            {
                "id": f"{first} + n",
                "shard": "0",
                "realm": "0",
                "num": f"{first} + n",
                "type": f"'{kind}'",
                "created_timestamp": f"{START} + n",
                "timestamp_range": _SINCE,
                "public_key": "repeat(md5((n % 5000)::text), 2)",
                "alias": f"({first} + n)::text::bytea",
                "evm_address": f"substring(sha384(({first} + n)::text::bytea) from 1 for 20)",
                "balance": "n",
                "balance_timestamp": _AT,
                "deleted": "false",
            },
        )
        for first, kind in (
            (ACCOUNTS, "ACCOUNT"),
            (TOKENS, "TOKEN"),
            (TOPICS, "TOPIC"),
            (SCHEDULES, "SCHEDULE"),
            (CONTRACTS, "CONTRACT"),
        )
    ),
    (
        "entity_history",
        {
            "id": _ACCOUNT,
            "shard": "0",
            "realm": "0",
            "num": _ACCOUNT,
            "type": "'ACCOUNT'",
            "timestamp_range": _UNTIL,
        },
    ),
    *(
        (
            table,
            {
                "id": f"{ACCOUNTS} + n",
                "end_stake_period": "1",
                "pending_reward": "1",
                "staked_node_id_start": "1",
                "staked_to_me": "0",
                "stake_total_start": "0",
                "timestamp_range": validity,
            },
        )
        for table, validity in (("entity_stake", _SINCE), ("entity_stake_history", _UNTIL))
    ),
    (
        "staking_reward_transfer",
        {
            "account_id": _ACCOUNT,
            "amount": "1",
            "consensus_timestamp": _AT,
            "payer_account_id": _OTHER_ACCOUNT,
        },
    ),
    (
        "crypto_allowance",
        {
            "amount": "1",
            "amount_granted": "1",
            "owner": f"{ACCOUNTS} + n % 100",
            "spender": f"{ACCOUNTS} + n / 100",
            "payer_account_id": _ACCOUNT,
            "timestamp_range": _SINCE,
        },
    ),
    (
        "token_allowance",
        {
            "amount": "1",
            "amount_granted": "1",
            "owner": f"{ACCOUNTS} + n % 100",
            "spender": f"{ACCOUNTS} + n / 100",
            "token_id": _TOKEN,
            "payer_account_id": _ACCOUNT,
            "timestamp_range": _SINCE,
        },
    ),
    (
        "nft_allowance",
        {
            "approved_for_all": "true",
            "owner": f"{ACCOUNTS} + n % 100",
            "spender": f"{ACCOUNTS} + n / 100",
            "token_id": _TOKEN,
            "payer_account_id": _ACCOUNT,
            "timestamp_range": _SINCE,
        },
    ),
    (
        "token_account",
        {
            "account_id": f"{ACCOUNTS} + n % 1000",
            "token_id": f"{TOKENS} + n / 1000 * 17",
            "associated": "true",
            "balance": "n",
            "balance_timestamp": _AT,
            "created_timestamp": _AT,
            "timestamp_range": _SINCE,
        },
    ),
    (
        "token",
        {
            "token_id": f"{TOKENS} + n",
            "created_timestamp": f"{START} + n",
            "decimals": "2",
            "freeze_status": "0",
            "kyc_status": "0",
            "initial_supply": "0",
            "name": "'Token ' || md5(n::text)",
            "symbol": "'T' || n",
            "treasury_account_id": _ACCOUNT,
            "timestamp_range": _SINCE,
            "type": "case when n % 2 = 0 then 'FUNGIBLE_COMMON'::token_type"
            " else 'NON_FUNGIBLE_UNIQUE'::token_type end",
        },
    ),
    (
        "token_history",
        {
            "token_id": _TOKEN,
            "created_timestamp": f"{START} + n",
            "decimals": "2",
            "freeze_status": "0",
            "kyc_status": "0",
            "initial_supply": "0",
            "name": "'Token ' || n",
            "symbol": "'T' || n",
            "treasury_account_id": _ACCOUNT,
            "timestamp_range": _UNTIL,
        },
    ),
    *(
        (table, {"entity_id": entity, "timestamp_range": validity})
        for table, entity, validity in (
            ("custom_fee", f"{TOKENS} + n", _SINCE),
            ("custom_fee_history", _TOKEN, _UNTIL),
        )
    ),
    (
        "assessed_custom_fee",
        {
            "amount": "1",
            "collector_account_id": _OTHER_ACCOUNT,
            "consensus_timestamp": _AT,
            "payer_account_id": _ACCOUNT,
            "effective_payer_account_ids": "'{}'",
        },
    ),
    *(
        (
            table,
            {
                "token_id": f"{TOKENS} + n % 100",
                "serial_number": "n / 100 + 1",
                "account_id": _ACCOUNT,
                "spender": _OTHER_ACCOUNT,
                "timestamp_range": validity,
            },
        )
        for table, validity in (("nft", _SINCE), ("nft_history", _UNTIL))
    ),
    (
        "token_airdrop",
        {
            "amount": "1",
            "receiver_account_id": _OTHER_ACCOUNT,
            "sender_account_id": _ACCOUNT,
            "serial_number": "n",
            "token_id": _TOKEN,
            "timestamp_range": _SINCE,
        },
    ),
    (
        "account_balance",
        {
            "account_id": f"case when n % 100 = 0 then 2 else {_ACCOUNT} end",
            "balance": "n",
            "consensus_timestamp": f"{START} + n / 100 * 900 * {SECOND} + n",
        },
    ),
    (
        "token_balance",
        {
            "account_id": _ACCOUNT,
            "token_id": _TOKEN,
            "balance": "n",
            "consensus_timestamp": f"{START} + n / 100 * 900 * {SECOND} + n",
        },
    ),
    (
        "schedule",
        {
            "schedule_id": f"{SCHEDULES} + n",
            "consensus_timestamp": _AT,
            "creator_account_id": _ACCOUNT,
            "payer_account_id": _OTHER_ACCOUNT,
            "transaction_body": _HASH,
        },
    ),
    ("contract", {"id": f"{CONTRACTS} + n", "initcode": _HASH}),
    (
        "contract_result",
        {
            "amount": "1",
            "consensus_timestamp": _AT,
            "contract_id": _CONTRACT,
            "function_parameters": _HASH,
            "gas_limit": "1",
            "payer_account_id": _ACCOUNT,
            "sender_id": _OTHER_ACCOUNT,
            "transaction_hash": _HASH,
            "transaction_index": "1",
            "transaction_nonce": "n % 3",
            "transaction_result": "22",
        },
    ),
    (
        "contract_transaction",
        {
            "consensus_timestamp": _AT,
            "entity_id": _CONTRACT,
            "contract_ids": f"array[{_CONTRACT}]",
            "payer_account_id": _ACCOUNT,
        },
    ),
    (
        "contract_transaction_hash",
        {
            "consensus_timestamp": _AT,
            "entity_id": _CONTRACT,
            "hash": f"substring({_HASH} from 1 for 32)",
            "payer_account_id": _ACCOUNT,
            "transaction_result": "22",
        },
    ),
    *(
        (
            "contract_log",
            {
                "consensus_timestamp": _AT,
                "contract_id": _CONTRACT,
                "root_contract_id": _CONTRACT,
                "payer_account_id": _ACCOUNT,
                "bloom": _HASH,
                "data": _HASH,
                "index": str(index),
                "topic0": "substring(sha256((n % 50)::text::bytea) from 1 for 32)",
                "transaction_hash": _HASH,
            },
        )
        for index in (0, 1)
    ),
    (
        "contract_action",
        {
            "call_depth": "0",
            "caller": _ACCOUNT,
            "consensus_timestamp": _AT,
            "index": "0",
            "gas": "1",
            "gas_used": "1",
            "payer_account_id": _ACCOUNT,
            "value": "0",
            "result_data_type": "11",
        },
    ),
    (
        "contract_state",
        {
            "contract_id": _CONTRACT,
            "slot": "sha256(n::text::bytea)",
            "value": _HASH,
            "created_timestamp": _AT,
            "modified_timestamp": _AT,
        },
    ),
    (
        "contract_state_change",
        {
            "contract_id": _CONTRACT,
            "slot": "sha256(n::text::bytea)",
            "value_read": _HASH,
            "value_written": _HASH,
            "consensus_timestamp": _AT,
            "payer_account_id": _ACCOUNT,
        },
    ),
    (
        "ethereum_transaction",
        {
            "consensus_timestamp": _AT,
            "chain_id": "'\\x01'",
            "data": _HASH,
            "gas_limit": "1",
            "hash": "sha256(n::text::bytea)",
            "max_gas_allowance": "1",
            "signature_r": _HASH,
            "signature_s": _HASH,
            "nonce": "n",
            "payer_account_id": _ACCOUNT,
            "type": "2",
        },
    ),
    *(
        (
            table,
            {
                "owner_id": _ACCOUNT,
                "hook_id": "n % 3",
                "key": "decode(repeat(md5(n::text), 2), 'hex')",
                "deleted": "false",
                **columns,
            },
        )
        for table, columns in (
            ("hook_storage", {"created_timestamp": _AT, "modified_timestamp": _AT, "value": "'\\x07'"}),
            (
                "hook_storage_change",
                {"consensus_timestamp": _AT, "value_read": "'\\x07'", "value_written": "'\\x08'"},
            ),
        )
    ),
    (
        "hook",
        {
            "owner_id": f"{ACCOUNTS} + n % 1000",
            "hook_id": "n / 1000",
            "contract_id": _OTHER_ACCOUNT,
            "created_timestamp": _AT,
            "timestamp_range": _SINCE,
        },
    ),
    (
        "file_data",
        {
            "file_data": _HASH,
            "consensus_timestamp": _AT,
            "entity_id": "case when n % 100 = 0 then 101 + n / 100 % 12 else n end",
            "transaction_type": "19",
        },
    ),
    ("topic", {"id": f"{TOPICS} + n", "created_timestamp": f"{START} + n", "timestamp_range": _SINCE}),
    (
        "topic_message",
        {
            "topic_id": f"{TOPICS} + n % 100",
            "sequence_number": "n / 100 + 1",
            "consensus_timestamp": _AT,
            "message": _HASH,
            "running_hash": _HASH,
            "payer_account_id": _ACCOUNT,
        },
    ),
]


def fill() -> None:
    """Insert the rows, and have PostgreSQL count them. Statements are planned as for a server afterwards."""
    # The reader's settings of a test that was rolled back are gone with it.
    connection.reading = None  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        for table, columns in _ROWS:
            names = ", ".join(f'"{name}"' for name in columns)
            values = ", ".join(columns.values())
            cursor.execute(
                f"insert into {table} ({names}) select {values} from generate_series(1::bigint, {_MANY}) n"
            )
        for table in sorted({table for table, _ in _ROWS}):
            cursor.execute(f"analyze {table}")
        # What waits to be sorted into an index of trigrams makes PostgreSQL shun it.
        cursor.execute("select gin_clean_pending_list('token__name')")
