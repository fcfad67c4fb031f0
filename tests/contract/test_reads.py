"""On a database with many rows no list reads many of them, however rare or common what it asks for is."""

import pytest
from django.db import connection

from tests.build import SECOND, START
from tests.contract.filled import ACCOUNTS, CONTRACTS, SCHEDULES, TOPICS, fill
from tests.contract.reads import rows_read

# A page has up to 25 rows here, with a few related rows each.
MOST = 1500
# Rows of an account, a contract or a value that is busier than all others.
BUSY = 5000

_ACCOUNT, _BUSY_ACCOUNT = f"0.0.{ACCOUNTS + 50}", "0.0.900001"
_CONTRACT, _BUSY_CONTRACT = f"0.0.{CONTRACTS + 50}", "0.0.900002"
_NOBODY, _MANY = "0.0.999999", f"0.0.{ACCOUNTS}"
_TIMES = "timestamp=gte:1700000000&timestamp=lt:1700500000"
_EARLY = "timestamp=lt:1700000001"
_SELECTED = f"decode('{'5e' * 32}', 'hex')"
_COMMON, _RARE, _NONE = "5e" * 32, "6e" * 32, "7e" * 32

_RESULTS = [
    f"from=gte:{_MANY}",
    *(f"from={_NOBODY}", f"from=gt:{_NOBODY}", f"from=gt:{_NOBODY}&order=asc", f"from=gte:{_BUSY_ACCOUNT}"),
    *("block.number=77&transaction.index=7", "block.number=77&internal=true", f"{_TIMES}&internal=true"),
]
_LOGS = [
    *(f"{_TIMES}&topic{place}={topic}" for place in range(4) for topic in (_COMMON, _RARE, _NONE)),
    *(f"{_TIMES}&topic0={_COMMON}&topic1={topic}&order=asc" for topic in (_COMMON, _RARE, _NONE)),
    *(f"{_TIMES}&topic0={_COMMON}&topic0={_NONE}&topic2={topic}" for topic in (_COMMON, _RARE, _NONE)),
    f"{_TIMES}&topic3={_COMMON}&topic3={_RARE}&topic3={_NONE}",
]
_SCHEDULES = [
    f"account.id={creator}{ids}{order}"
    for creator in (_NOBODY, f"gt:{_NOBODY}", _BUSY_ACCOUNT, f"gte:{_BUSY_ACCOUNT}", _ACCOUNT)
    for ids in ("", f"&schedule.id=gt:0.0.{SCHEDULES + 19_000}")
    for order in ("", "&order=desc")
]
_BLOCKS = [
    f"{first}&{second}{order}"
    for number in ("block.number=gte:100", "block.number=lt:19000", "block.number=77")
    for time in (_EARLY, "timestamp=gt:1700019000", "timestamp=ne:1700019000", _TIMES)
    for first, second in ((number, time), (time, number))
    for order in ("", "&order=asc")
]
_SLOTS = ["", "order=desc", _EARLY, f"{_EARLY}&order=desc", "timestamp=1700000001", f"slot=gt:{'5e' * 32}"]
_STORAGE = ["", "order=desc", _EARLY, f"{_EARLY}&order=desc", "timestamp=1700000001"]
_MESSAGES = [
    f"{number}{time}{order}"
    for number in (
        "",
        "sequencenumber=gt:199",
        "sequencenumber=lt:2",
        "sequencenumber=5",
        "sequencenumber=ne:5",
    )
    for time in ("", f"&{_EARLY}", "&timestamp=gt:1700019000", f"&{_TIMES}")
    for order in ("", "&order=desc")
]

LISTS: dict[str, list[str]] = {
    "contracts": ["", f"contract.id=gt:{_NOBODY}"],
    "contracts/results": ["", *_RESULTS],
    f"contracts/{_CONTRACT}/results": ["", *_RESULTS],
    f"contracts/{_BUSY_CONTRACT}/results": [*_RESULTS, "internal=true"],
    "contracts/results/logs": ["", *_LOGS],
    f"contracts/{_CONTRACT}/results/logs": ["", *_LOGS],
    f"contracts/{_BUSY_CONTRACT}/results/logs": ["", *_LOGS],
    f"contracts/{_CONTRACT}/state": _SLOTS,
    f"accounts/{_BUSY_ACCOUNT}/hooks": [""],
    f"accounts/{_ACCOUNT}/hooks/1/storage": _STORAGE,
    "blocks": ["", *_BLOCKS],
    "schedules": ["", *_SCHEDULES],
    f"topics/0.0.{TOPICS + 50}/messages": _MESSAGES,
    "network/nodes": ["", "node.id=gt:3"],
    "network/registered-nodes": ["", "type=RPC_RELAY", "registerednode.id=gt:19000"],
}


@pytest.fixture
def _filled(db):
    fill()
    at = f"{START} + (n + 20000) * {SECOND}"
    with connection.cursor() as cursor:
        for statement in _busy_rows(at):
            cursor.execute(f"{statement} from generate_series(1::bigint, {BUSY}) n")
        for table in ("contract_result", "contract_log", "schedule"):
            cursor.execute(f"analyze {table}")
        # Files that can't be decoded are tried again and again.
        cursor.execute("delete from file_data where entity_id in (111, 112)")


def _busy_rows(at: str) -> list[str]:
    return [
        f"""
        insert into contract_result (consensus_timestamp, contract_id, function_parameters, gas_limit,
            payer_account_id, sender_id, transaction_result, transaction_nonce, transaction_index)
        select {at}, 900002, '', 1, 900001, 900001, 22, 0, 0
        """,
        f"""
        insert into contract_log (consensus_timestamp, contract_id, payer_account_id, bloom, data, index,
            topic0, topic1, topic2, topic3)
        select {at}, case n % 2 when 0 then 900002 else {CONTRACTS} end, 900001, '', '', 0, {_SELECTED},
            case when n % 500 = 0 then decode('{_RARE}', 'hex') else {_SELECTED} end, {_SELECTED},
            case when n % 2500 = 0 then decode('{_RARE}', 'hex') end
        """,
        f"""
        insert into schedule (schedule_id, consensus_timestamp, creator_account_id, payer_account_id,
            transaction_body)
        select 800000 + n, {at}, 900001, 900001, ''
        """,
    ]


@pytest.mark.usefixtures("_filled")
def test_no_list_reads_many_rows(api):
    read = {}
    for path, queries in LISTS.items():
        for query in queries:
            url = f"/api/v1/{path}{'?' * bool(query)}{query}"
            before = rows_read()
            answer = api.get(url)
            assert answer.status in (200, 404), (url, answer.body)
            read[url] = rows_read() - before
    many = {url: rows for url, rows in read.items() if rows > MOST}
    assert not many, "\n".join(f"{rows} {url}" for url, rows in many.items())
