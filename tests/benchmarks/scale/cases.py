"""The requests that are measured: one of each kind, and for every list its filters alone and in pairs.

Paths and queries name values in braces (`tests.benchmarks.scale.values`). A case whose values a database does
not have is left out.
"""

from collections.abc import Iterator
from itertools import combinations
from operator import itemgetter
from typing import NamedTuple

from tests.benchmarks.scale.values import RARE_TYPE


class Case(NamedTuple):
    """A request: what it shows in words, and its path with names of values."""

    name: str
    path: str


# Name -> path below /api/v1.
_KINDS = {
    "transactions": "transactions?limit=100",
    "transactions-default": "transactions",
    "transactions-type-asc": "transactions?transactiontype=cryptotransfer&order=asc&limit=25",
    "transactions-account-busy": "transactions?account.id={busy}&limit=25",
    "transactions-account-quiet": "transactions?account.id={quiet}&limit=25",
    "transactions-range": "transactions?timestamp=gte:{middle}&timestamp=lt:{minute_later}&limit=100",
    "transaction-id": "transactions/{transaction}",
    "transaction-hash": "transactions/{hash}",
    "accounts": "accounts?limit=25",
    "accounts-no-balance": "accounts?balance=false&limit=25",
    "accounts-publickey": "accounts?account.publickey={key}",
    "account-id": "accounts/{busy}",
    "account-id-no-transactions": "accounts/{busy}?transactions=false",
    "account-evm-address": "accounts/{address}?transactions=false",
    "account-tokens": "accounts/{holder}/tokens?limit=25",
    "account-nfts": "accounts/{nft_owner}/nfts?limit=25",
    "account-rewards": "accounts/{rewarded}/rewards?limit=25",
    "account-allowances": "accounts/{owner}/allowances/crypto?limit=25",
    "balances": "balances?limit=25",
    "balances-timestamp": "balances?timestamp={snapshot}&limit=25",
    "balances-account": "balances?account.id={busy}",
    "blocks": "blocks?limit=25",
    "block-number": "blocks/{block}",
    "contracts": "contracts?limit=25",
    "contract-id": "contracts/{contract}",
    "contract-results": "contracts/{contract}/results?limit=25",
    "contract-state": "contracts/{stateful}/state?limit=100",
    "contract-logs": "contracts/{contract}/results/logs?limit=25",
    "contracts-results": "contracts/results?limit=25",
    "contracts-result-hash": "contracts/results/{result_hash}",
    "contracts-result-actions": "contracts/results/{result_hash}/actions",
    "contracts-results-logs": "contracts/results/logs?limit=25",
    "network-nodes": "network/nodes?limit=25",
    "network-supply": "network/supply",
    "schedules": "schedules?limit=25",
    "tokens": "tokens?limit=25",
    "tokens-name": "tokens?name={name}&limit=25",
    "token-id": "tokens/{token}",
    "token-balances": "tokens/{token}/balances?limit=100",
    "token-nfts": "tokens/{collection}/nfts?limit=100",
    "token-nft": "tokens/{collection}/nfts/{serial}",
    "token-nft-transactions": "tokens/{collection}/nfts/{serial}/transactions",
    "topic-messages": "topics/{topic}/messages?limit=100",
    "topic-message": "topics/{topic}/messages/1",
}

# A filter is a list of (words, query): the values it is tried with.
_Filter = list[tuple[str, str]]

_TIMES: _Filter = [
    ("lately", "timestamp=gte:{middle}"),
    ("early", "timestamp=lt:{past}"),
    ("in a minute", "timestamp=gte:{middle}&timestamp=lt:{minute_later}"),
]
_WEEK: _Filter = [
    ("week", "timestamp=gte:{week_ago}&timestamp=lt:{after}"),
    ("in a minute", "timestamp=gte:{middle}&timestamp=lt:{minute_later}"),
]
_AT: _Filter = [
    ("at snapshot", "timestamp={snapshot}"),
    ("long ago", "timestamp=lte:{past}"),
    ("now", "timestamp=gte:{middle}"),
]
_PAST: _Filter = [("at middle", "timestamp={middle}"), ("before past", "timestamp=lt:{past}")]
_ACCOUNTS: _Filter = [
    ("busy", "account.id={busy}"),
    ("quiet", "account.id={quiet}"),
    ("collector", "account.id={collector}"),
    ("node", "account.id={node}"),
    ("nobody", "account.id={nobody}"),
    ("all accounts", "account.id=gte:0.0.0"),
    ("accounts from 1000", "account.id=gt:0.0.1000"),
    ("range of a quiet one", "account.id=gte:{quiet}&account.id=lte:{quiet}"),
    ("range of a hundred", "account.id=gte:{hundred_before}&account.id=lt:{quiet}"),
    ("two", "account.id={quiet}&account.id={busy}"),
]
_BALANCES: _Filter = [
    ("rich", "account.balance=gt:{rich}"),
    ("poor", "account.balance=lt:{middling}"),
    ("none so rich", "account.balance=gt:9000000000000000000"),
    ("exactly", "account.balance={rich}"),
    ("another", "account.balance=ne:{rich}"),
]
_IDS: _Filter = [
    ("one", "account.id={busy}"),
    ("from quiet", "account.id=gte:{quiet}"),
    ("up to quiet", "account.id=lte:{quiet}"),
]
_KEYS: _Filter = [("key", "account.publickey={key}")]
_TOPICS: _Filter = [
    ("common topic", "topic0={topic0}"),
    ("rare topic", "topic0={rare_topic0}"),
    ("no topic", "topic0={no_topic}"),
    ("third topic", "topic2={topic2}"),
    ("both topics", "topic0={topic0}&topic2={topic2}"),
    ("three topics", "topic0={no_topic}&topic0={rare_topic0}&topic0={topic0}"),
]
_FROM: _Filter = [
    ("from busy", "from={sender}"),
    ("from quiet", "from={quiet_sender}"),
    ("from nobody", "from={nobody}"),
]
_RESULTS: dict[str, _Filter] = {
    "from": _FROM,
    "internal": [("internal", "internal=true")],
    "timestamp": [*_TIMES, *_WEEK[:1]],
    "block": [("block", "block.number={earlier_block}"), ("block hash", "block.hash={block_hash}")],
    "index": [("index", "transaction.index=1")],
}
_LOGS: dict[str, _Filter] = {
    "topics": _TOPICS,
    "timestamp": [*_WEEK, ("at log", "timestamp={log_at}")],
    "index": [("index", "index=gte:1")],
}
_TOKEN_PAIR: _Filter = [("token", "token.id={token}"), ("from token", "token.id=gte:{token}")]
_SERIALS: _Filter = [("serials", "token.id=gte:{collection}&serialnumber=gt:3")]

# Lists: words, path, filters by name. A pair takes two different filters.
_LISTS: list[tuple[str, str, dict[str, _Filter]]] = [
    (
        "transactions",
        "transactions",
        {
            "account": _ACCOUNTS,
            "transactiontype": [
                ("rare type", f"transactiontype={RARE_TYPE}"),
                ("common type", "transactiontype=cryptotransfer"),
                ("two types", f"transactiontype={RARE_TYPE}&transactiontype=cryptotransfer"),
            ],
            "result": [("fail", "result=fail"), ("success", "result=success")],
            "type": [("credit", "type=credit"), ("debit", "type=debit")],
            "timestamp": _TIMES,
        },
    ),
    *(
        (
            f"account {words}",
            f"accounts/{{{value}}}",
            {
                "transactiontype": [
                    ("rare type", f"transactiontype={RARE_TYPE}"),
                    ("common type", "transactiontype=cryptotransfer"),
                ],
                "timestamp": _TIMES,
            },
        )
        for words, value in (("busy", "busy"), ("quiet", "quiet"), ("collector", "collector"))
    ),
    (
        "accounts",
        "accounts",
        {
            "account.id": _IDS,
            "balance": _BALANCES,
            "key": _KEYS,
            "no balance": [("no balance", "balance=false")],
        },
    ),
    ("balances", "balances", {"account.id": _IDS, "balance": _BALANCES, "key": _KEYS, "timestamp": _AT}),
    ("rewards", "accounts/{rewarded}/rewards", {"timestamp": _TIMES}),
    (
        "allowances crypto",
        "accounts/{owner}/allowances/crypto",
        {"spender": [("spender", "spender.id={spender}"), ("from spender", "spender.id=gte:{spender}")]},
    ),
    (
        "allowances tokens",
        "accounts/{token_owner}/allowances/tokens",
        {
            "spender": [
                ("spender", "spender.id={token_spender}"),
                ("from spender and token", "spender.id=gte:{token_spender}&token.id=gt:{quiet_token}"),
            ]
        },
    ),
    (
        "allowances nfts",
        "accounts/{nft_allowing}/allowances/nfts",
        {
            "owner": [("spent", "owner=false")],
            "account": [("from account and token", "account.id=gte:{busy}&token.id=gt:{collection}")],
        },
    ),
    *(
        (
            f"nfts of {words}",
            f"accounts/{{{value}}}/nfts",
            {
                "token": [
                    *_SERIALS,
                    ("collection", "token.id={collection}"),
                    ("from", "token.id=gt:{quiet_token}"),
                ],
                "spender": [("spender", "spender.id={busy}"), ("from spender", "spender.id=gt:{busy}")],
            },
        )
        for words, value in (("busy owner", "nft_owner"), ("quiet owner", "quiet_nft_owner"))
    ),
    ("relationships", "accounts/{holder}/tokens", {"token": _TOKEN_PAIR}),
    *(
        (
            f"airdrops {state}",
            f"accounts/{{airdrop_{of}}}/airdrops/{state}",
            {
                other: [
                    (other, f"{other}.id={{airdrop_{other}}}"),
                    (f"from {other}", f"{other}.id=gte:{{busy}}"),
                ],
                "token": [*_TOKEN_PAIR],
                "serials": _SERIALS,
            },
        )
        for state, of, other in (("outstanding", "sender", "receiver"), ("pending", "receiver", "sender"))
    ),
    ("hooks", "accounts/{hook_owner}/hooks", {"hook": [("from", "hook.id=gte:1")]}),
    ("hook storage", "accounts/{hook_owner}/hooks/{hook}/storage", {"timestamp": _PAST[:1]}),
    (
        "blocks",
        "blocks",
        {
            "number": [
                ("from", "block.number=gte:{earlier_block}"),
                ("before", "block.number=lt:{earlier_block}"),
            ],
            "timestamp": _TIMES,
        },
    ),
    (
        "contracts",
        "contracts",
        {"id": [("from", "contract.id=gte:{contract}"), ("one", "contract.id={contract}")]},
    ),
    ("results", "contracts/results", _RESULTS),
    *(
        (f"results of {words}", f"contracts/{{{value}}}/results", filters)
        for words, value, filters in (
            ("busy", "contract", _RESULTS),
            ("quiet", "quiet_contract", {"from": _FROM, "timestamp": _TIMES}),
        )
    ),
    ("logs", "contracts/results/logs", _LOGS | {"hash": [("hash", "transaction.hash={result_hash}")]}),
    *(
        (f"logs of {words}", f"contracts/{{{value}}}/results/logs", filters)
        for words, value, filters in (
            ("busy", "contract", _LOGS),
            ("quiet", "quiet_contract_with_logs", {"topics": _TOPICS[:3], "timestamp": _WEEK}),
        )
    ),
    (
        "state",
        "contracts/{stateful}/state",
        {"slot": [("from slot", "slot=gte:{slot}"), ("slot", "slot={slot}")], "timestamp": _PAST},
    ),
    ("actions", "contracts/results/{result_hash}/actions", {"index": [("index", "index=gte:1")]}),
    ("nodes", "network/nodes", {"node": [("from", "node.id=gte:3")]}),
    ("registered nodes", "network/registered-nodes", {}),
    ("fees", "network/fees", {"timestamp": [("past", "timestamp={middle}")]}),
    (
        "schedules",
        "schedules",
        {
            "account": [("busy", "account.id={scheduling}"), ("quiet", "account.id={quiet_scheduling}")],
            "schedule": [("before last", "schedule.id=lt:{schedule}"), ("last", "schedule.id={schedule}")],
        },
    ),
    (
        "tokens",
        "tokens",
        {
            "account": [("of holder", "account.id={holder}"), ("of quiet", "account.id={quiet}")],
            "key": [("key", "publickey={token_key}")],
            "type": [("fungible", "type=fungible_common"), ("nfts", "type=non_fungible_unique")],
            "token": _TOKEN_PAIR,
            "name": [("common name", "name={word}"), ("name", "name={name}"), ("no name", "name=zzzzq")],
        },
    ),
    *(
        (
            f"holders of {words}",
            f"tokens/{{{value}}}/balances",
            {
                "account.id": _IDS,
                "balance": [
                    ("much", "account.balance=gt:{much}"),
                    ("little", "account.balance=lt:1000"),
                    ("none so much", "account.balance=gt:9000000000000000000"),
                    ("exactly", "account.balance={much}"),
                ],
                "key": _KEYS,
                "timestamp": _AT,
            },
        )
        for words, value in (("popular", "token"), ("quiet", "quiet_token"))
    ),
    (
        "serials",
        "tokens/{collection}/nfts",
        {
            "account": [
                ("owner", "account.id={nft_owner}"),
                ("quiet owner", "account.id={quiet_nft_owner}"),
                ("nobody", "account.id={nobody}"),
                ("owners from quiet", "account.id=gte:{quiet}"),
            ],
            "serial": [("first", "serialnumber=lt:{serial}"), ("one", "serialnumber={serial}")],
        },
    ),
    ("serial's history", "tokens/{collection}/nfts/{serial}/transactions", {"timestamp": _TIMES}),
    *(
        (
            f"messages of {words}",
            f"topics/{{{value}}}/messages",
            {
                "sequence": [("from five", "sequencenumber=gte:5"), ("early ones", "sequencenumber=lt:50")],
                "timestamp": _TIMES,
            },
        )
        for words, value in (("busy", "topic"), ("quiet", "quiet_topic"))
    ),
]

# Lookups of one thing, at past times too.
_ONE = {
    "account at a time": "accounts/{busy}?timestamp=lt:{past}",
    "contract at a time": "contracts/{contract}?timestamp=lt:{past}",
    "contract by address": "contracts/{contract_address}",
    "token at a time": "tokens/{token}?timestamp=lt:{past}",
    "supply at a time": "network/supply?timestamp={middle}",
    "supply long ago": "network/supply?timestamp=lt:{past}",
    "exchange rate at a time": "network/exchangerate?timestamp={middle}",
    "stake": "network/stake",
    "block by hash": "blocks/{block_hash}",
    "no transaction": "transactions/{busy}-1700000000-000000000",
    "no hash": "transactions/0x" + "ab" * 48,
    "no result": "contracts/results/0x" + "ab" * 32,
    "no account": "accounts/{nobody}",
    "message at a time": "topics/messages/{message_at}",
    "topic": "topics/{topic}",
    "schedule": "schedules/{schedule}",
    "schedule by its older path": "schedule/{schedule}",
    "logs by their older path": "contracts/logs",
    "result at a time": "contracts/{contract}/results/{result_at}",
}


def kinds() -> list[Case]:
    """One request of each kind."""
    return [Case(name, f"/api/v1/{path}") for name, path in _KINDS.items()]


def worst_cases() -> list[Case]:
    """Every list with each of its filters alone and in pairs, in both orders; and lookups."""
    cases = [
        (len(chosen), f"{words}: {', '.join([*chosen, order])}", path, "&".join([*queries, f"order={order}"]))
        for words, path, filters in _LISTS
        for chosen, queries in _chosen(filters)
        for order in ("desc", "asc")
    ]
    # Those with few filters first.
    lists = [
        Case(name, f"/api/v1/{path}?{query}") for _, name, path, query in sorted(cases, key=itemgetter(0))
    ]
    return [*(Case(name, f"/api/v1/{path}") for name, path in _ONE.items()), *lists]


def _chosen(filters: dict[str, _Filter]) -> Iterator[tuple[list[str], list[str]]]:
    """No filter, each alone, and each pair of two different ones."""
    yield [], []
    for values in filters.values():
        for words, query in values:
            yield [words], [query]
    for first, second in combinations(filters.values(), 2):
        for words, query in first:
            for other_words, other_query in second:
                if _names(query).isdisjoint(_names(other_query)):
                    yield [words, other_words], [query, other_query]


def _names(query: str) -> set[str]:
    return {part.partition("=")[0] for part in query.split("&")}


def filled(case: Case, values: dict[str, str]) -> str | None:
    """The case's URL with a database's values; None if it lacks one."""
    try:
        return case.path.format_map(values)
    except KeyError:
        return None
