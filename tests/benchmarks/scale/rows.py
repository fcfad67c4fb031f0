"""The rows of a large network, computed inside the database from the number of each row.

A transaction is planned first: everything else follows from the plan. Low ids of a kind are busy and high
ones quiet. Amounts of a transaction add up to zero.
"""

from dataclasses import dataclass
from functools import cached_property

from mirror.core.values.hapi.result_codes import NUMBERS as RESULTS
from mirror.core.values.hapi.transaction_types import NUMBERS as TYPES

SECOND = 10**9
#: Freezes of the network, however many other transactions there are.
FREEZES = 40
_END = 1_764_547_200 * SECOND  # 2025-12-01
_MONTH_SECONDS = 30 * 86_400

# How many of a thousand transactions are of a type.
_TYPES = {
    "CRYPTOTRANSFER": 400,
    "CONSENSUSSUBMITMESSAGE": 290,
    "ETHEREUMTRANSACTION": 130,
    "CONTRACTCALL": 60,
    "TOKENMINT": 30,
    "CRYPTOCREATEACCOUNT": 20,
    "TOKENASSOCIATE": 20,
    "CRYPTOUPDATEACCOUNT": 15,
    "SCHEDULESIGN": 12,
    "SCHEDULECREATE": 8,
    "CRYPTOAPPROVEALLOWANCE": 8,
    "TOKENAIRDROP": 5,
    "TOKENCREATION": 2,
}


@dataclass(frozen=True)
class Shape:
    """Sizes and times of a data set; every number of things grows with that of the transactions."""

    transactions: int
    hours: float | None = None
    months: int | None = None

    @property
    def seconds(self) -> int:
        return self.months * _MONTH_SECONDS if self.months else round((self.hours or 1) * 3600)

    @property
    def first(self) -> int:
        """The time before the first transaction, in ns."""
        return _END - self.seconds * SECOND

    @cached_property
    def names(self) -> dict[str, object]:
        """What the statements name in braces."""

        def some(of: int, least: int) -> int:
            return max(self.transactions // of, least)

        sizes = {
            "accounts": some(16, 200),
            "contracts": some(200, 20),
            "tokens": some(60, 60),
            "topics": some(500, 20),
            "schedules": some(125, 20),
        }
        found: dict[str, object] = {"transactions": self.transactions, "nodes": 30, **sizes}
        beginning = 1001
        for kind, size in sizes.items():
            found[f"first_{kind}"] = beginning
            beginning += size
        found |= {
            "first": f"{self.first}::bigint",
            "end": f"{_END}::bigint",
            "second": f"{SECOND}::bigint",
            "step": self.seconds * SECOND // self.transactions,
            "genesis": self.first - _MONTH_SECONDS * SECOND,
            "per_block": max(min(280, self.transactions // 50), 1),
            "snapshots": self.months or max(self.seconds // 900, 1),
            "relationships": some(4, 200),
            "allowances": some(50, 50),
            "types": _type_of("dice"),
            "freeze_each": max(self.transactions // FREEZES, 1),
            "success": RESULTS["SUCCESS"],
            "reverted": RESULTS["CONTRACT_REVERT_EXECUTED"],
            "too_poor": RESULTS["INSUFFICIENT_ACCOUNT_BALANCE"],
            **{name.lower(): TYPES[name] for name in (*_TYPES, "FREEZE")},
        }
        return found


def _type_of(dice: str) -> str:
    """SQL: the type by a number below a thousand."""
    cases, below = [], 0
    for name, share in _TYPES.items():
        below += share
        cases.append(f"when {dice} < {below} then {TYPES[name]}")
    return f"case {' '.join(cases)} end"


#: Dice of a row: `roll` is a whole number below `sides`, `skewed` is mostly small, `digest` are bytes. A
#: `word` has 32 bytes; a `stripped` one is stored without the zeros in front.
FUNCTIONS = """
create function pg_temp.roll(n bigint, salt int, sides bigint) returns bigint immutable parallel safe
    return (hashint8extended(n, salt) & 9223372036854775807) % sides;
create function pg_temp.skewed(n bigint, salt int, sides bigint) returns bigint immutable parallel safe
    return floor(sides * power(pg_temp.roll(n, salt, 1000003) / 1000003.0::float8, 3))::bigint;
create function pg_temp.digest(n bigint, salt int) returns bytea immutable parallel safe
    return sha384(int8send(n) || int4send(salt));
create function pg_temp.word(number bigint) returns bytea immutable parallel safe
    return decode(lpad(to_hex(number), 64, '0'), 'hex');
create function pg_temp.stripped(number bigint) returns bytea immutable parallel safe
    return ltrim(int8send(number), '\\x00'::bytea)
"""

#: So many of the first steps need what the one before has made; the others need those.
IN_ORDER = 6
# What it is -> statements; the tables must be empty.
STEPS: list[tuple[str, str]] = [
    (
        "plan",
        """
        create unlogged table planned as
        select n, at, type, result, payer, {first_accounts} + pg_temp.skewed(n, 6, {accounts}) as other,
            3 + pg_temp.roll(n, 7, {nodes}) as node, 100000 + pg_temp.roll(n, 8, 900000) as fee,
            case
                when type = {consensussubmitmessage} then {first_topics} + pg_temp.skewed(n, 9, {topics})
                when type in ({ethereumtransaction}, {contractcall})
                    then {first_contracts} + pg_temp.skewed(n, 10, {contracts})
                when type = {tokenmint} then {first_tokens} + pg_temp.skewed(n, 11, {tokens} / 10) * 10
                when type = {tokencreation} then {first_tokens} + pg_temp.roll(n, 12, {tokens})
                when type in ({schedulecreate}, {schedulesign})
                    then {first_schedules} + pg_temp.roll(n, 13, {schedules})
                when type in ({cryptocreateaccount}, {cryptoupdateaccount})
                    then {first_accounts} + pg_temp.roll(n, 14, {accounts})
                when type = {tokenassociate} then payer
            end as entity
        from (
            select n, at, type, {first_accounts} + pg_temp.skewed(n, 5, {accounts}) as payer,
                case when pg_temp.roll(n, 4, 1000) >= 30 or type = {freeze} then {success}
                    when type in ({ethereumtransaction}, {contractcall}) then {reverted}
                    else {too_poor} end as result
            from (
                select n, {first} + n * {step} + pg_temp.roll(n, 1, greatest({step} / 2, 1)) as at,
                    case when n % {freeze_each} = {freeze_each} / 2 then {freeze} else {types} end as type
                from (select n, pg_temp.roll(n, 2, 1000) as dice
                    from generate_series(0::bigint, {transactions} - 1) n) rolled
            ) typed
        ) paid;
        analyze planned
        """,
    ),
    (
        "blocks",
        """
        insert into record_file (name, load_start, load_end, hash, prev_hash, consensus_start, consensus_end,
            count, digest_algorithm, hapi_version_major, hapi_version_minor, hapi_version_patch, version,
            file_hash, index, gas_used, size)
        select 'block-' || block || '.rcd.gz', ends / {second}, ends / {second} + 1,
            encode(pg_temp.digest(block, 20), 'hex'), encode(pg_temp.digest(block - 1, 20), 'hex'),
            began, ends, many, 0, 0, 68, 1, 6, encode(pg_temp.digest(block, 21), 'hex'), 1000 + block, 0,
            40000
        from (select n / {per_block} as block, min(at) as began, max(at) as ends, count(*) as many
            from planned group by 1 order by 1) blocks
        """,
    ),
    (
        "entities",
        """
        insert into entity (id, num, realm, shard, type, created_timestamp, timestamp_range, balance,
            balance_timestamp, deleted, key, public_key, memo, alias, evm_address, ethereum_nonce,
            max_automatic_token_associations, receiver_sig_required, staked_node_id)
        select id, id, 0, 0, kind::entity_type, created, int8range(created, null),
            case when kind in ('ACCOUNT', 'CONTRACT')
                then floor(exp(pg_temp.roll(id, 22, 1000) / 40.0))::bigint end,
            case when kind in ('ACCOUNT', 'CONTRACT') then {end} end, false,
            '\\x1220'::bytea || sha256(int8send(id)), encode(sha256(int8send(key_of)), 'hex'),
            kind || ' ' || id,
            case when kind = 'ACCOUNT' and id % 5 = 0 then '\\x3a21'::bytea || sha256(int8send(id)) end,
            case when kind = 'CONTRACT' or kind = 'ACCOUNT' and id % 5 = 0
                then substr(pg_temp.digest(id, 23), 1, 20) end,
            0, 0, false, case when id % 7 = 0 then id % {nodes} else -1 end
        from (
            -- One key in a hundred has many accounts.
            select id, case when id % 100 = 0 then id % 1000 else id end as key_of,
                case when id < {first_contracts} then 'ACCOUNT' when id < {first_tokens} then 'CONTRACT'
                    when id < {first_topics} then 'TOKEN' when id < {first_schedules} then 'TOPIC'
                    else 'SCHEDULE' end as kind,
                {genesis} + (id - 1) * (({first} - {genesis}) / ({first_schedules} + {schedules})) as created
            from generate_series(1::bigint, {first_schedules} + {schedules} - 1) id
            where id <= 50 or id = 98 or id between 800 and 802 or id > 1000
        ) entities;
        insert into entity_history (id, num, realm, shard, type, created_timestamp, timestamp_range, balance,
            key, public_key, memo, deleted)
        select id, num, realm, shard, type, created_timestamp,
            int8range(created_timestamp - 1000, created_timestamp), balance, key, public_key, 'before', false
        from entity where type = 'ACCOUNT' and id % 3 = 0;
        insert into entity_stake (id, end_stake_period, pending_reward, staked_node_id_start, staked_to_me,
            stake_total_start, timestamp_range)
        select id, {end} / {second} / 86400 - 1, pg_temp.roll(id, 24, 1000000), staked_node_id, 0,
            balance, int8range({first}, null)
        from entity where type = 'ACCOUNT';
        insert into contract (id, initcode, runtime_bytecode)
        select id, pg_temp.digest(id, 25), '\\x6080'::bytea || pg_temp.digest(id, 26)
        from entity where type = 'CONTRACT';
        insert into topic (id, created_timestamp, timestamp_range)
        select id, created_timestamp, timestamp_range from entity where type = 'TOPIC';
        insert into custom_fee (entity_id, fixed_fees, timestamp_range)
        select id, '[]', timestamp_range from entity where type in ('TOPIC', 'TOKEN')
        """,
    ),
    (
        "tokens",
        """
        insert into token (token_id, created_timestamp, decimals, initial_supply, name, symbol, total_supply,
            treasury_account_id, type, timestamp_range, freeze_status, kyc_status)
        select id, created_timestamp, 2, 0,
            (array['Silver', 'Harvest', 'River', 'Granite'])[1 + id % 4] || ' '
                || (array['share', 'ticket', 'badge'])[1 + id % 3] || ' ' || id,
            'S' || id, 1000000000, {first_accounts} + pg_temp.roll(id, 30, {accounts}),
            (case when (id - {first_tokens}) % 10 = 0 then 'NON_FUNGIBLE_UNIQUE' else 'FUNGIBLE_COMMON' end
                )::token_type, timestamp_range, 0, 0
        from entity where type = 'TOKEN';
        insert into token_account (account_id, token_id, associated, automatic_association, balance,
            balance_timestamp, created_timestamp, timestamp_range)
        select account, token, true, false, floor(exp(pg_temp.roll(account * 31 + token, 31, 1000) / 60.0)),
            {end}, {genesis}, int8range({genesis}, null)
        from (
            select distinct {first_accounts} + pg_temp.roll(n, 32, {accounts}) as account,
                {first_tokens} + pg_temp.skewed(n, 33, {tokens}) as token
            from generate_series(1::bigint, {relationships}) n
            union
            select {first_accounts}, {first_tokens} + n from generate_series(0, {tokens} / 20) n
        ) holders;
        insert into token_account_history (account_id, token_id, associated, automatic_association, balance,
            balance_timestamp, created_timestamp, timestamp_range)
        select account_id, token_id, true, false, 0, created_timestamp, created_timestamp,
            int8range(created_timestamp - 1000, created_timestamp)
        from token_account where account_id % 20 = 0
        """,
    ),
    (
        "NFTs",
        """
        create unlogged table minted as
        select row_number() over () as number, entity as token_id, n, at, payer,
            row_number() over (partition by entity order by n) as serial
        from planned where type = {tokenmint} and result = {success};
        create index on minted (number);
        create unlogged table moved as
        select distinct on (number) p.n, p.at, m.number, m.token_id, m.serial, m.payer as sender,
            p.other as receiver, m.at as created
        from planned p join minted m on m.number = 1 + pg_temp.roll(p.n, 34, (select count(*) from minted))
        where p.type = {cryptotransfer} and p.result = {success} and p.n % 40 = 0 and m.at < p.at
        order by number, p.at;
        create index on moved (number);
        insert into nft (token_id, serial_number, account_id, created_timestamp, deleted, metadata, spender,
            timestamp_range)
        select m.token_id, m.serial, coalesce(v.receiver, m.payer), m.at, false,
            convert_to('ipfs://' || m.number, 'UTF8'),
            case when m.number % 50 = 0 then {first_accounts} + m.number % 100 end,
            int8range(coalesce(v.at, m.at), null)
        from minted m left join moved v using (number);
        insert into nft_history (token_id, serial_number, account_id, created_timestamp, deleted, metadata,
            timestamp_range)
        select token_id, serial, sender, created, false, convert_to('ipfs://' || number, 'UTF8'),
            int8range(created, at)
        from moved;
        create unlogged table nft_transfers as
        select n, jsonb_build_array(jsonb_build_object('is_approval', false, 'token_id', token_id,
            'serial_number', serial, 'sender_account_id', sender, 'receiver_account_id', receiver)
            ) as transfers
        from (
            select n, token_id, serial, null::bigint as sender, payer as receiver from minted
            union all select n, token_id, serial, sender, receiver from moved
        ) events;
        create index on nft_transfers (n);
        analyze nft_transfers
        """,
    ),
    (
        "calls",
        """
        create unlogged table run as
        select *, substr(pg_temp.digest(n, 16), 1, 32) as hash, 30000 + pg_temp.roll(n, 50, 300000) as gas,
            '\\xa9059cbb'::bytea || pg_temp.word(payer) || pg_temp.word(n % 1000) as parameters,
            pg_temp.roll(n, 51, 4) as logs
        from planned where type in ({ethereumtransaction}, {contractcall}) order by n
        """,
    ),
    (
        "crypto transfers",
        """
        insert into crypto_transfer (entity_id, consensus_timestamp, amount, payer_account_id, is_approval)
        select account, at, amount, payer, false
        from (select *, case when type = {cryptotransfer} and result = {success}
                then 1 + pg_temp.roll(n, 40, {second}) else 0 end as sent from planned) p
        cross join lateral (values (payer, -fee - sent), (node, fee / 10), (98, fee - fee / 10 - fee / 5 * 2),
            (case when n % 2 = 0 then 801 else 800 end, fee / 5), (802, fee / 5), (other, sent)
        ) t (account, amount)
        where amount <> 0 order by n
        """,
    ),
    (
        "transactions",
        """
        insert into transaction (consensus_timestamp, type, result, payer_account_id, valid_start_ns,
            valid_duration_seconds, node_account_id, entity_id, max_fee, charged_tx_fee, memo,
            transaction_hash, index, nft_transfer)
        select at, type, result, payer, at - 2 * {second} - pg_temp.roll(n, 15, 8 * {second}), 120, node,
            entity, 200000000, fee, convert_to('memo ' || n % 1000, 'UTF8'), pg_temp.digest(n, 16),
            (n % {per_block})::int, transfers
        from planned left join nft_transfers using (n) order by n;
        insert into transaction_hash (consensus_timestamp, hash, hash_suffix, payer_account_id)
        select consensus_timestamp, substr(transaction_hash, 1, 32), substr(transaction_hash, 33),
            payer_account_id
        from transaction order by consensus_timestamp;
        insert into network_freeze (consensus_timestamp, start_time, file_hash, payer_account_id, type)
        select at, at, '', payer, 1 from planned where type = {freeze}
        """,
    ),
    (
        "token transfers, fees and rewards",
        """
        insert into token_transfer (token_id, account_id, consensus_timestamp, amount, payer_account_id,
            is_approval)
        select {first_tokens} + 1 + pg_temp.skewed(n, 41, {tokens} - 1), account, at, amount, payer, false
        from planned cross join lateral
            (values (payer, -1 - n % 1000), (other, 1 + n % 1000)) t (account, amount)
        where type = {cryptotransfer} and result = {success} and n % 5 < 2 order by n;
        insert into assessed_custom_fee (amount, collector_account_id, consensus_timestamp,
            effective_payer_account_ids, payer_account_id)
        select 1000, other, at, array[payer], payer from planned
        where type = {cryptotransfer} and result = {success} and n % 100 = 1;
        insert into staking_reward_transfer (account_id, amount, consensus_timestamp, payer_account_id)
        select payer, 1 + pg_temp.roll(n, 42, 1000000), at, payer from planned
        where type in ({cryptotransfer}, {cryptoupdateaccount}) and result = {success} and n % 25 = 3
        """,
    ),
    (
        "messages",
        """
        insert into topic_message (consensus_timestamp, message, running_hash, sequence_number,
            running_hash_version, payer_account_id, topic_id, valid_start_timestamp)
        select at, pg_temp.digest(n, 45) || pg_temp.digest(n, 46), pg_temp.digest(n, 47),
            row_number() over (partition by entity order by n), 3, payer, entity, at - {second}
        from planned where type = {consensussubmitmessage} and result = {success}
        """,
    ),
    (
        "contract results",
        """
        insert into contract_result (consensus_timestamp, contract_id, payer_account_id, sender_id,
            function_parameters, gas_limit, gas_used, gas_consumed, amount, bloom, call_result,
            created_contract_ids, error_message, transaction_hash, transaction_index, transaction_result)
        select at, entity, payer, payer, parameters, gas + 10000, gas, gas, 0, '', pg_temp.word(1), '{{}}',
            '', hash, (n % {per_block})::int, result
        from run;
        insert into contract_transaction_hash (consensus_timestamp, hash, payer_account_id, entity_id,
            transaction_result)
        select at, hash, payer, entity, result from run;
        insert into contract_transaction (consensus_timestamp, entity_id, contract_ids, payer_account_id)
        select at, id, array[entity, payer], payer
        from run cross join lateral (values (entity), (payer)) t (id);
        insert into ethereum_transaction (consensus_timestamp, type, hash, payer_account_id, nonce, chain_id,
            data, call_data, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, max_gas_allowance,
            recovery_id, signature_r, signature_s, to_address, value)
        select at, 2, hash, payer, n % 100000, '\\x0127', '\\x02'::bytea || parameters, parameters,
            gas + 10000, '\\x4c8a26b800', '\\x', 0, n % 2, sha256(hash), sha256(parameters),
            pg_temp.word(entity), '\\x'
        from run where type = {ethereumtransaction}
        """,
    ),
    (
        "logs, state and actions",
        """
        insert into contract_log (bloom, consensus_timestamp, contract_id, data, index, topic0, topic1,
            topic2, payer_account_id, root_contract_id, transaction_hash, transaction_index)
        select '', at, entity, pg_temp.word(n % 100000), number - 1,
            -- Four events are common; one in twenty thousand transactions has one that is nearly its own.
            case when n % 20000 = 5 then sha256(int8send(n)) else sha256(int8send(number + n % 2)) end,
            pg_temp.stripped(payer), pg_temp.stripped(other), payer, entity, hash, (n % {per_block})::int
        from run cross join lateral generate_series(1, logs) number where result = {success}
        order by n, number;
        insert into contract_state_change (consensus_timestamp, contract_id, payer_account_id, slot,
            value_read, value_written)
        select at, entity, payer, pg_temp.stripped(pg_temp.roll(n, 52, 400)), '\\x01', pg_temp.stripped(n)
        from run where result = {success};
        insert into contract_state (contract_id, slot, value, created_timestamp, modified_timestamp)
        select distinct on (contract_id, slot) contract_id, decode(lpad(encode(slot, 'hex'), 64, '0'), 'hex'),
            value_written, {first}, consensus_timestamp
        from contract_state_change order by contract_id, slot, consensus_timestamp desc;
        insert into contract_action (call_depth, call_type, caller, caller_type, consensus_timestamp, gas,
            gas_used, index, input, recipient_contract, result_data, result_data_type, value,
            call_operation_type, payer_account_id)
        select depth, 1, case depth when 0 then payer else entity end, 'ACCOUNT', at, gas, gas / 2, depth,
            parameters, entity, pg_temp.word(1), 11, 0, 1, payer
        from run cross join lateral generate_series(0, (logs > 1)::int) depth order by n, depth
        """,
    ),
    (
        "schedules, allowances and airdrops",
        """
        insert into schedule (schedule_id, consensus_timestamp, creator_account_id, payer_account_id,
            executed_timestamp, transaction_body)
        select id, {first} + (id - {first_schedules}) * {step},
            {first_accounts} + pg_temp.skewed(id, 60, {accounts}), {first_accounts},
            case when id % 2 = 0 then {end} end, pg_temp.digest(id, 61)
        from entity where type = 'SCHEDULE';
        insert into transaction_signature (consensus_timestamp, entity_id, public_key_prefix, signature, type)
        select consensus_timestamp + number, schedule_id, int8send(schedule_id + number), transaction_body, 3
        from schedule cross join generate_series(1, 2) number;
        create temporary table granted as
        select distinct on (owner, spender, token) n, owner, spender, token
        from (select n, {first_accounts} + pg_temp.skewed(n, 62, {accounts}) as owner,
            {first_accounts} + pg_temp.roll(n, 63, {accounts}) as spender,
            {first_tokens} + pg_temp.roll(n, 64, {tokens} / 10) * 10 as token
            from generate_series(1::bigint, {allowances}) n) g;
        insert into crypto_allowance (owner, spender, amount, amount_granted, payer_account_id,
            timestamp_range)
        select distinct on (owner, spender) owner, spender, 1000, 2000, owner, int8range({first} + n, null)
        from granted;
        insert into token_allowance (owner, spender, token_id, amount, amount_granted, payer_account_id,
            timestamp_range)
        select owner, spender, token + 1, 1000, 2000, owner, int8range({first} + n, null) from granted;
        insert into nft_allowance (owner, spender, token_id, approved_for_all, payer_account_id,
            timestamp_range)
        select owner, spender, token, true, owner, int8range({first} + n, null) from granted;
        insert into token_airdrop (amount, receiver_account_id, sender_account_id, serial_number, state,
            timestamp_range, token_id)
        select 1000, spender, owner, 0,
            (array['PENDING', 'CLAIMED', 'CANCELLED'])[1 + n % 3]::airdrop_state,
            int8range({first} + n, null), token + 1
        from granted;
        insert into hook (owner_id, hook_id, contract_id, created_timestamp, timestamp_range)
        select {first_accounts} + n / 10, n % 10, {first_contracts}, {first} + n, int8range({first} + n, null)
        from generate_series(0::bigint, {allowances} / 10) n;
        insert into hook_storage (owner_id, hook_id, key, value, created_timestamp, modified_timestamp)
        select {first_accounts}, 0, pg_temp.word(n), '\\x01', {first}, {first}
        from generate_series(1::bigint, {allowances} / 10) n
        """,
    ),
    (
        "nodes, stakes and files",
        """
        insert into node (node_id, account_id, admin_key, created_timestamp, timestamp_range)
        select n, n + 3, '\\x1220'::bytea || sha256(int8send(n)), {genesis}, int8range({genesis}, null)
        from generate_series(0::bigint, {nodes} - 1) n;
        insert into address_book (start_consensus_timestamp, file_id, node_count, file_data)
        values ({genesis}, 102, {nodes}, ''), ({genesis} + 1, 101, {nodes}, '');
        insert into address_book_entry (consensus_timestamp, memo, public_key, node_id, node_account_id,
            description, stake)
        select start_consensus_timestamp, '', encode(pg_temp.digest(n, 70), 'hex'), n, n + 3, 'Node ' || n, 0
        from address_book cross join generate_series(0::bigint, {nodes} - 1) n;
        insert into node_stake (consensus_timestamp, epoch_day, node_id, reward_rate, stake, stake_rewarded,
            staking_period, max_stake, min_stake, stake_not_rewarded)
        select day * 86400 * {second} + 1, day - 1, n, 100, 1000000 + n, 1000000, day * 86400 * {second} - 1,
            10000000, 1000, 1
        from generate_series({end} / {second} / 86400 - 5, {end} / {second} / 86400) day
        cross join generate_series(0::bigint, {nodes} - 1) n;
        insert into network_stake (consensus_timestamp, epoch_day, max_staking_reward_rate_per_hbar,
            node_reward_fee_denominator, node_reward_fee_numerator, stake_total, staking_period,
            staking_period_duration, staking_periods_stored, staking_reward_fee_denominator,
            staking_reward_fee_numerator, staking_reward_rate, staking_start_threshold)
        select day * 86400 * {second} + 1, day - 1, 100, 100, 10, 10000000, day * 86400 * {second} - 1, 1440,
            365, 100, 10, 1, 1
        from generate_series({end} / {second} / 86400 - 5, {end} / {second} / 86400) day
        """,
    ),
    (
        "balances",
        """
        create temporary table snapshot as
        select began + 1000000 as at, date_trunc('month', to_timestamp(began / {second})) as month, number
        from generate_series(0::bigint, {snapshots} - 1) number
        cross join lateral (select {first} + number * (({end} - {first}) / {snapshots}) as began) b;
        -- The first one of a month has all accounts, later ones those whose balance has changed.
        alter table snapshot add whole boolean;
        update snapshot s set whole = at = (select min(at) from snapshot where month = s.month);
        insert into account_balance_file (consensus_timestamp, count, load_start, load_end, name)
        select at, 1, at, at, 'balances-' || at from snapshot;
        insert into account_balance (consensus_timestamp, account_id, balance)
        select at, id, greatest(balance - pg_temp.roll(id + number, 71, 1000), 0)
        from snapshot join entity on balance is not null
            and (whole or id = 2 or pg_temp.roll(id * 31 + number, 72, 20) = 0)
        order by 1, 2;
        insert into token_balance (consensus_timestamp, account_id, token_id, balance)
        select at, account_id, token_id, greatest(balance - pg_temp.roll(account_id + number, 73, 100), 0)
        from snapshot join token_account on pg_temp.roll(account_id * 31 + token_id + number, 74, 40) = 0
            or whole and (account_id % 10 = 0 or number = 0)
        order by 1, 2, 3
        """,
    ),
]
