"""Requests to every endpoint on a filled database, whose parameters lead to each of its statements."""

from tests.contract.filled import ACCOUNTS, CONTRACTS, SCHEDULES, TOKENS, TOPICS

_ACCOUNT = f"0.0.{ACCOUNTS + 50}"
_ALIAS = "GEYTAMI"  # The base32 of 1101, the alias of the filled account 0.0.1101.
_ADDRESS = "0x" + "00" * 10 + "ab" * 10
_KEY = "c4ca4238a0b923820dcc509a6f75849b" * 2
_CONTRACT = f"0.0.{CONTRACTS + 50}"
_TOKEN, _TOPIC, _SCHEDULE = f"0.0.{TOKENS + 50}", f"0.0.{TOPICS + 50}", f"0.0.{SCHEDULES + 50}"
_SLOT = _HASH = "ab" * 32
_AT = "1700001000.000000000"
_BETWEEN = "timestamp=gte:1700001000&timestamp=lt:1700009000"
_TOKENS_BETWEEN = f"token.id=gte:{_TOKEN}&token.id=lt:0.0.{TOKENS + 9000}"
_PAIR = f"token.id=gte:{_TOKEN}&serialnumber=gt:3"

_LOGS = [
    *("", "order=asc", _BETWEEN, f"timestamp={_AT}&index=gt:0", f"{_BETWEEN}&topic0={_SLOT}"),
    f"{_BETWEEN}&topic0={_SLOT}&topic1={_SLOT}&order=asc",
]
_RESULTS = [
    *(
        "",
        "order=asc",
        _BETWEEN,
        f"timestamp={_AT}",
        "internal=true",
        f"from={_ACCOUNT}",
        f"from=gt:{_ACCOUNT}",
    ),
    *("block.number=77", f"block.hash={'ab' * 48}", "block.number=77&transaction.index=1"),
    f"from={_ACCOUNT}&{_BETWEEN}&internal=true",
]

# Documented path -> the values of its parts, and queries.
REQUESTS: dict[str, tuple[list[str], list[str]]] = {
    "accounts": (
        [""],
        [
            "",
            "order=desc",
            "balance=false",
            f"account.id=gte:{_ACCOUNT}",
            f"account.id={_ACCOUNT}&account.id=0.0.5",
            f"account.publickey={_KEY}",
            f"account.publickey={_KEY}&order=desc&account.id=gt:{_ACCOUNT}",
            "account.balance=gt:5000",
            f"account.balance=lt:100&account.id=lt:{_ACCOUNT}&order=desc",
        ],
    ),
    "accounts/{idOrAliasOrEvmAddress}": (
        [_ACCOUNT, _ALIAS, _ADDRESS],
        [
            *("", "order=asc", "transactions=false", "transactiontype=cryptotransfer"),
            *(f"timestamp={_AT}", f"timestamp=lt:{_AT}", _BETWEEN, f"timestamp=ne:{_AT}"),
        ],
    ),
    "accounts/{idOrAliasOrEvmAddress}/allowances/crypto": (
        [_ACCOUNT],
        ["", "order=asc", f"spender.id={_ACCOUNT}", f"spender.id=gt:{_ACCOUNT}"],
    ),
    "accounts/{idOrAliasOrEvmAddress}/allowances/tokens": (
        [_ACCOUNT],
        ["", "order=desc", f"spender.id=gte:{_ACCOUNT}&token.id=gt:{_TOKEN}", f"spender.id={_ACCOUNT}"],
    ),
    "accounts/{idOrAliasOrEvmAddress}/nfts": (
        [_ACCOUNT],
        [
            *("", "order=asc", _PAIR, _PAIR + "&order=asc", f"token.id={_TOKEN}&serialnumber=lt:9"),
            *(f"spender.id={_ACCOUNT}", f"spender.id=gt:{_ACCOUNT}", f"spender.id={_ACCOUNT}&{_PAIR}"),
        ],
    ),
    "accounts/{idOrAliasOrEvmAddress}/rewards": (
        [_ACCOUNT],
        ["", "order=asc", _BETWEEN, f"timestamp={_AT}", f"timestamp=lt:{_AT}"],
    ),
    "accounts/{idOrAliasOrEvmAddress}/tokens": (
        [_ACCOUNT],
        ["", "order=desc", f"token.id={_TOKEN}", _TOKENS_BETWEEN],
    ),
    **{
        f"accounts/{{id}}/airdrops/{state}": (
            [_ACCOUNT],
            [
                *("", "order=desc", f"{other}.id={_ACCOUNT}", f"token.id={_TOKEN}&{other}.id=gt:{_ACCOUNT}"),
                f"{other}.id={_ACCOUNT}&token.id=gte:{_TOKEN}&serialnumber=gt:3",
            ],
        )
        for state, other in (("outstanding", "receiver"), ("pending", "sender"))
    },
    "accounts/{id}/allowances/nfts": (
        [_ACCOUNT],
        [
            *("", "order=desc", "owner=false", f"account.id=gte:{_ACCOUNT}&token.id=gt:{_TOKEN}"),
            *(f"account.id={_ACCOUNT}", f"owner=false&account.id=gte:{_ACCOUNT}&token.id=gt:{_TOKEN}"),
        ],
    ),
    "accounts/{ownerId}/hooks": ([_ACCOUNT], ["", "order=asc", "hook.id=gt:3", "hook.id=3"]),
    "accounts/{ownerId}/hooks/{hookId}/storage": (
        [f"{_ACCOUNT} 1"],
        [
            *("", "order=desc", f"key=gt:{_SLOT}", f"key={_SLOT}"),
            *(
                f"timestamp={_AT}",
                f"timestamp={_AT}&key=gt:{_SLOT}&order=desc",
                f"timestamp={_AT}&key={_SLOT}",
            ),
        ],
    ),
    "balances": (
        [""],
        [
            *("", "order=asc", f"account.id={_ACCOUNT}", f"account.id=gte:{_ACCOUNT}"),
            *(f"account.publickey={_KEY}", "account.balance=gt:500"),
            *(f"account.id={_ALIAS}", f"account.id={_ADDRESS}"),
            *(f"timestamp={_AT}", f"timestamp=lt:{_AT}&account.id=gte:{_ACCOUNT}"),
            *(f"timestamp={_AT}&account.id={_ACCOUNT}", f"timestamp={_AT}&account.balance=gt:500"),
            f"timestamp={_AT}&account.publickey={_KEY}",
        ],
    ),
    "blocks": (
        [""],
        [
            *("", "order=asc", _BETWEEN, f"timestamp=lt:{_AT}&order=asc"),
            *("block.number=gte:500", "block.number=lt:500&order=asc", "block.number=77"),
        ],
    ),
    "blocks/{hashOrNumber}": (["77", "ab" * 48, "ab" * 32], [""]),
    "contracts": (
        [""],
        [
            "",
            "order=asc",
            f"contract.id=gte:{_CONTRACT}",
            f"contract.id={_CONTRACT}",
            f"contract.id={_ADDRESS[2:]}",
        ],
    ),
    **{
        path: ([""], [*_LOGS, f"transaction.hash={_HASH}"])
        for path in ("contracts/logs", "contracts/results/logs")
    },
    "contracts/results": ([""], [*_RESULTS, "hbar=false"]),
    "contracts/results/{transactionIdOrHash}": ([f"{_ACCOUNT}-1700001000-000000000", _HASH], ["", "nonce=1"]),
    "contracts/results/{transactionIdOrHash}/actions": (
        [f"{_ACCOUNT}-1700001000-000000000", _HASH],
        ["", "order=desc", "index=gt:1", "index=1"],
    ),
    "contracts/results/{transactionIdOrHash}/opcodes": (
        [f"{_ACCOUNT}-1700001000-000000000", _HASH],
        ["", "stack=false&memory=true&storage=true"],
    ),
    "contracts/{contractIdOrAddress}": (
        [_CONTRACT, _ADDRESS],
        ["", f"timestamp={_AT}", f"timestamp=lt:{_AT}", _BETWEEN],
    ),
    "contracts/{contractIdOrAddress}/results": ([_CONTRACT], _RESULTS),
    "contracts/{contractIdOrAddress}/results/logs": ([_CONTRACT], _LOGS),
    "contracts/{contractIdOrAddress}/results/{timestamp}": ([f"{_CONTRACT} {_AT}"], [""]),
    "contracts/{contractIdOrAddress}/state": (
        [_CONTRACT],
        [
            *("", "order=desc", f"slot=gt:{_SLOT}", f"slot={_SLOT}"),
            *(
                f"timestamp={_AT}",
                f"timestamp=lt:{_AT}&slot=gt:{_SLOT}&order=desc",
                f"timestamp={_AT}&slot={_SLOT}",
            ),
        ],
    ),
    "network/exchangerate": ([""], ["", f"timestamp={_AT}"]),
    "network/fees": ([""], ["", f"timestamp={_AT}", "order=desc"]),
    "network/nodes": ([""], ["", "order=desc", "node.id=gt:3"]),
    "network/registered-nodes": ([""], ["", "order=desc", "registerednode.id=gt:3", "type=BLOCK_NODE"]),
    "network/stake": ([""], [""]),
    "network/supply": ([""], ["", f"timestamp={_AT}"]),
    "schedule/{scheduleId}": ([_SCHEDULE], [""]),
    "schedules": (
        [""],
        [
            *("", "order=desc", f"schedule.id=gt:{_SCHEDULE}", f"schedule.id={_SCHEDULE}"),
            *(f"account.id={_ACCOUNT}", f"account.id={_ACCOUNT}&schedule.id=lt:{_SCHEDULE}&order=desc"),
        ],
    ),
    "schedules/{scheduleId}": ([_SCHEDULE], [""]),
    "tokens": (
        [""],
        [
            *("", "order=desc", f"token.id=gt:{_TOKEN}", f"token.id={_TOKEN}", "type=fungible_common"),
            *(f"account.id={_ACCOUNT}", f"account.id={_ACCOUNT}&{_TOKENS_BETWEEN}"),
            *(f"publickey={_KEY}", "name=c4ca", "name=zzzzz", "name=zzzzz&order=desc"),
        ],
    ),
    "tokens/{tokenId}": ([_TOKEN], ["", f"timestamp={_AT}", f"timestamp=lt:{_AT}"]),
    "tokens/{tokenId}/balances": (
        [_TOKEN],
        [
            *("", "order=asc", f"account.id={_ACCOUNT}", f"account.id=gte:{_ACCOUNT}"),
            *(f"account.publickey={_KEY}", "account.balance=gt:50"),
            *(f"timestamp={_AT}", f"timestamp=lt:{_AT}&account.id=gte:{_ACCOUNT}"),
            *(f"timestamp={_AT}&account.balance=gt:50", f"timestamp={_AT}&account.publickey={_KEY}"),
        ],
    ),
    "tokens/{tokenId}/nfts": (
        [_TOKEN],
        [
            *("", "order=asc", "serialnumber=gt:5", "serialnumber=5"),
            *(f"account.id={_ACCOUNT}", f"account.id=gt:{_ACCOUNT}&serialnumber=lt:900"),
        ],
    ),
    "tokens/{tokenId}/nfts/{serialNumber}": ([f"{_TOKEN} 5"], [""]),
    "tokens/{tokenId}/nfts/{serialNumber}/transactions": (
        [f"{_TOKEN} 5"],
        ["", "order=asc", _BETWEEN, f"timestamp=lt:{_AT}"],
    ),
    "topics/messages/{timestamp}": ([_AT], [""]),
    "topics/{id}": ([_TOPIC], [""]),
    "topics/{topicId}/messages": (
        [_TOPIC],
        [
            *("", "order=desc", _BETWEEN, f"timestamp=lt:{_AT}&order=desc", "sequencenumber=5"),
            *("sequencenumber=gt:5", "sequencenumber=lt:50&order=desc", f"sequencenumber=gt:5&{_BETWEEN}"),
        ],
    ),
    "topics/{topicId}/messages/{sequenceNumber}": ([f"{_TOPIC} 5"], [""]),
    "transactions": (
        [""],
        [
            *("", "order=asc", _BETWEEN, f"timestamp={_AT}", f"timestamp=lt:{_AT}", "result=fail"),
            *("transactiontype=cryptotransfer", "transactiontype=cryptotransfer&result=success&order=asc"),
            *(f"account.id={_ACCOUNT}", f"account.id={_ACCOUNT}&{_BETWEEN}&order=asc", "type=credit"),
            *(f"account.id={_ACCOUNT}&type=debit", f"account.id={_ACCOUNT}&account.id=0.0.98"),
            f"account.id={_ACCOUNT}&transactiontype=cryptotransfer&result=success",
        ],
    ),
    "transactions/{transactionIdOrHash}": (
        [f"{_ACCOUNT}-1700001000-000000000", "ab" * 48],
        ["", "nonce=0", "scheduled=true"],
    ),
    "transactions/{transactionId}/stateproof": (
        [f"{_ACCOUNT}-1700001000-000000000"],
        ["", "nonce=1", "scheduled=true"],
    ),
}
