"""SQL that makes what a dump of the original consists of, written from the reference."""

import json
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parents[5] / "shared" / "reference" / "schema.json"

# What the original's schema got between its releases 0.145.1 and 0.160.
TO_0_160 = """
    alter table hook alter type drop default, alter type type text;
    alter table hook_history alter type drop default, alter type type text;
    drop table temporary.hook_temp;
    drop type hook_type;
    create type hook_type as enum ('EVM');
    alter table hook alter type type hook_type using 'EVM', alter type set default 'EVM';
    alter table hook_history alter type type hook_type using 'EVM', alter type set default 'EVM';
    alter table transaction add high_volume boolean not null default false;
    alter table entity add delegation_address bytea;
    alter table entity_history add delegation_address bytea;
    alter table ethereum_transaction add authorization_list jsonb;
    create table ledger (
        ledger_id bytea primary key, consensus_timestamp bigint not null,
        history_proof_verification_key bytea not null, node_contributions jsonb not null);
    alter table record_file drop node_id;
    alter table account_balance_file drop node_id;
    create table registered_node (
        registered_node_id bigint primary key, admin_key bytea, created_timestamp bigint,
        deleted boolean not null default false, description varchar(100), service_endpoints jsonb,
        timestamp_range int8range not null);
    create table registered_node_history (like registered_node including defaults);
    create index registered_node_history__node_id_lower_timestamp
        on registered_node_history (registered_node_id, lower(timestamp_range));
    alter table node add associated_registered_nodes bigint[];
    alter table node_history add associated_registered_nodes bigint[];
    alter table transaction
        add congestion_pricing_multiplier bigint, add high_volume_pricing_multiplier bigint;
    alter table record_file add previous_wrapped_record_block_hash bytea;
    alter table registered_node add type smallint[] not null default '{}';
    alter table registered_node_history add type smallint[] not null default '{}';
    create index registered_node__type on registered_node using gin (type) where deleted is false;
    alter table record_file add wrapped_record_block_hash bytea;
    alter table contract_log add synthetic boolean;
    alter table ethereum_transaction drop access_list;
    alter table ethereum_transaction add access_list jsonb;
    create index contract_log__synthetic_timestamp on contract_log (consensus_timestamp desc, index desc)
        where synthetic;
    alter table record_file add receipts_root bytea;
    create unlogged table temporary.ledger_temp as table ledger;
    create unlogged table temporary.registered_node_temp as table registered_node;
    create table a_check_point_of_a_job (consensus_timestamp bigint);"""

# The bodies of routines are no part of the reference; an adopted database keeps its own.
_ROUTINES = """
    create function get_transaction_info_by_hash(bytea)
        returns table (consensus_timestamp bigint, hash bytea, payer_account_id bigint) language sql
        as 'select consensus_timestamp, hash, payer_account_id from transaction_hash where hash = $1';
    create procedure create_mirror_node_time_partitions() language sql as '';
    create procedure create_time_partition_for_table(regclass) language sql as '';
    create procedure create_temp_table_safe(text, variadic text[]) language sql as '';
    create function updateentitytypefromint(integer) returns entity_type language sql
        as 'select null::entity_type';
    create view mirror_node_time_partitions as
        select ''::name as name, ''::name as parent, 0::bigint as from_timestamp, 0::bigint as to_timestamp
        where false;"""


def tables() -> dict[str, Any]:
    """Return the tables of release 0.145.1 that have data."""
    found: dict[str, Any] = json.loads(REFERENCE.read_text())["tables"]["public"]
    return found


def release_0_145_1() -> str:
    """Return the statements that make an empty database of that release."""
    content: dict[str, Any] = json.loads(REFERENCE.read_text())
    statements = ["create schema temporary"]
    extensions = [name for name in content["extensions"] if name != "pg_stat_statements"]
    statements += [f"create extension {name}" for name in extensions]
    for name, values in content["enums"].items():
        listed = ", ".join(f"'{value}'" for value in values)
        statements.append(f"create type {name} as enum ({listed})")
    statements += [f"create domain {name} as {kind}" for name, kind in content["domains"].items()]
    for schema, tables in content["tables"].items():
        for name, table in tables.items():
            statements += _table(f"{schema}.{name}", name, table)
    return ";\n".join(statements) + ";" + _ROUTINES


def _table(qualified: str, name: str, table: dict[str, Any]) -> list[str]:
    columns = [_column(column) for column in table["columns"]]
    if table["primary_key"]:
        columns.append(f"constraint {name}__pk primary key ({', '.join(map(_quoted, table['primary_key']))})")
    partitioning = table.get("partitioning")
    options = f" partition by {partitioning['key']}" if partitioning else ""
    if parameters := table.get("storage_parameters"):
        options = f" with ({', '.join(parameters)})"
    statements = [f"create table {qualified} ({', '.join(columns)}){options}"]
    if partitioning:
        statements.append(f"create table {qualified}_all partition of {qualified} default")
    for index in table["indexes"]:
        classes = index.get("operator_classes") or [""] * len(index["columns"])
        parts = [f"{column} {each}" for column, each in zip(index["columns"], classes, strict=True)]
        unique = "unique " if index["unique"] else ""
        where = f" where {index['where']}" if index.get("where") else ""
        statements.append(
            f"create {unique}index {index['name']} on {qualified} using {index['method']} "
            f"({', '.join(parts)}){where}"
        )
    return statements


def _column(column: dict[str, Any]) -> str:
    nullable = "" if column["nullable"] else " not null"
    default = "" if column["default"] is None else f" default {column['default']}"
    return f"{_quoted(column['name'])} {column['type']}{nullable}{default}"


def _quoted(name: str) -> str:
    return f'"{name}"'
