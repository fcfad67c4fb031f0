"""Contract results and logs in the API."""

from random import Random
from typing import Any

from ledger.queries import chain_ids, fee_schedules
from mirror.core.values import log_bloom
from mirror.core.values.hapi.messages import ExchangeRateSet
from mirror.demo.actions.system_files import GAS
from mirror.demo.world.contracts import Result
from mirror.demo.world.fees import EXCHANGE_RATES
from mirror.demo.world.world import World
from tests.e2e import ethereum
from tests.e2e.forms import address, at, entity, hexed, word
from tests.e2e.rest import Rest, same
from tests.ledger.ingest.load import settings

_CHAIN_ID = "0x12a"  # as the properties of the network say
_LATEST = 60
_SUCCESSES = ("SUCCESS", "FEE_SCHEDULE_FILE_PART_UPLOADED", "SUCCESS_BUT_MISSING_EXPECTED_OPERATION")


def check(rest: Rest, world: World, choose: Random) -> None:
    """Check the latest results, with amounts in tinybars or in weibars."""
    # A price counts for an hour from its first use on, though the network may change it in between.
    fee_schedules.forget()
    chain_ids.forget()
    latest = sorted(world.contracts.results, key=lambda one: -one.consensus_timestamp)[:_LATEST]
    if not latest:
        return
    since, hbar = f"gte:{at(latest[-1].consensus_timestamp)}", choose.random() < 0.5
    with settings(rest__response__accessList="array", rest__response__enableDelegationAddress=True):
        _check_results(rest, world, latest, since, hbar)
        _check_single(rest, world, latest, hbar, choose)
    _check_logs(rest, world, latest, since)


def _check_results(rest: Rest, world: World, latest: list[Result], since: str, hbar: bool) -> None:
    """Check the list. It also has what is logged of no contract, and nothing that came out of turn."""
    shown = rest.all("contracts/results", "results", timestamp=since, internal="true", hbar=_text(hbar))
    known = {at(one.consensus_timestamp) for one in latest}
    called = [row for row in shown if row["timestamp"] in known]
    expected = [record(world, one, hbar=hbar) for one in latest if one.result != "WRONG_NONCE"]
    same([_of(*pair) for pair in _pairs(called, expected)], expected, "/contracts/results", since, hbar)
    logged = rest.all("contracts/results/logs", "logs", timestamp=since)
    _check_synthetic(rest, [row for row in shown if row["timestamp"] not in known], known, logged)
    _check_positions(shown, logged)
    _check_positions(rest.all("contracts/results", "results", timestamp=since), [])
    _check_blooms(rest, shown, logged)


def _check_blooms(rest: Rest, results: list[dict[str, Any]], logged: list[dict[str, Any]]) -> None:
    """Check that the blooms of each log's result and block admit it."""
    by_time = {row["timestamp"]: row for row in results}
    numbers = {log["block_number"] for log in logged}
    blocks = {number: rest.get(f"blocks/{number}") for number in numbers}
    for log in logged:
        own = log_bloom.create_bloom(bytes.fromhex(log["address"][2:]), _bytes(log["topics"]))
        of_result = by_time[log["timestamp"]]["bloom"]
        for bloom in (log["bloom"], of_result, blocks[log["block_number"]]["logs_bloom"]):
            whole = bytes.fromhex(bloom[2:])
            assert log_bloom.union([whole, own]) == whole, log


def _bytes(texts: list[str]) -> list[bytes]:
    return [bytes.fromhex(text[2:]) for text in texts]


def _check_positions(results: list[dict[str, Any]], logged: list[dict[str, Any]]) -> None:
    """Check that what Ethereum tools see of a block is numbered from 0 in the order of time, without gaps."""
    blocks: dict[int, list[tuple[str, int]]] = {}
    for row in [*results, *logged]:
        if row["transaction_index"] is not None:
            place = (row["timestamp"], row["transaction_index"])
            blocks.setdefault(row["block_number"], []).append(place)
    # Of the first block only a part is requested.
    for number in sorted(blocks)[1:]:
        places = [place for _, place in sorted(blocks[number])]
        assert places == sorted(places), (number, places)
        assert sorted(set(places)) == list(range(places[-1] + 1)), (number, places)


def _check_single(rest: Rest, world: World, latest: list[Result], hbar: bool, choose: Random) -> None:
    for one in choose.sample(latest, min(len(latest), 3)):
        expected_one = record(world, one, hbar=hbar, single=True)
        names = [f"results/0x{one.hash.hex()}"]
        if one.contract:
            names.append(f"0.0.{one.contract}/results/{at(one.consensus_timestamp)}")
        name = choose.choice(names)
        shown_one = rest.get(f"contracts/{name}", hbar=_text(hbar))
        same(_of(shown_one, expected_one), expected_one, name)
        expected_logs = [_without(log, "timestamp") for log in logs(world, one)]
        same([_of(log, expected_logs[0]) for log in shown_one["logs"]], expected_logs, name, "logs")


def _check_logs(rest: Rest, world: World, latest: list[Result], since: str) -> None:
    """Check the logs of contracts. Tokens have logs as well, without a call."""
    shown = rest.all("contracts/results/logs", "logs", timestamp=since)
    of_contracts = [
        log for log in shown if int(log["contract_id"].rpartition(".")[2]) in world.contracts.deployed
    ]
    expected = [
        shown
        for one in latest
        for log, shown in zip(reversed(one.logs), reversed(logs(world, one)), strict=True)
        if log.contract in world.contracts.deployed
    ]
    path = "/contracts/results/logs"
    same([_of(log, expected[0]) for log in of_contracts if expected], expected, path, since)


def _check_synthetic(
    rest: Rest, rows: list[dict[str, Any]], known: set[Any], shown: list[dict[str, Any]]
) -> None:
    """Check the results that stand for logs of no contract: one for each transaction, found by its names."""
    logged = {log["timestamp"]: log for log in shown if log["timestamp"] not in known}
    expected = [
        {
            "address": log["address"],
            "block_number": log["block_number"],
            "contract_id": log["contract_id"],
            "hash": log["transaction_hash"],
            "result": "SUCCESS",
            "timestamp": time,
            "transaction_index": log["transaction_index"],
        }
        for time, log in sorted(logged.items(), reverse=True)
    ]
    found = [_of(row, expected[0]) for row in rows if expected]
    same(found, expected, "/contracts/results of logs")
    assert len(found) == len(rows)
    for row in rows[:2]:
        for name in (f"results/{row['hash']}", f"{row['contract_id']}/results/{row['timestamp']}"):
            one = rest.get(f"contracts/{name}")
            logs_of_one = [log["index"] for log in shown if log["timestamp"] == row["timestamp"]]
            assert _of(one, expected[0]) == _of(row, expected[0])
            assert [log["index"] for log in one["logs"]] == sorted(logs_of_one)
        assert rest.get(f"contracts/results/{row['hash']}/actions")["actions"] == []
        own = rest.all(f"contracts/{row['contract_id']}/results", "results", timestamp=row["timestamp"])
        assert [each["hash"] for each in own] == [row["hash"]]


def _of(row: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in members}


def _pairs(
    shown: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each row with the one that is expected in its place."""
    return list(zip(shown, [*expected, *([{"timestamp": ""}] * len(shown))], strict=False))


def _text(value: bool) -> str:
    return str(value).lower()


def _without(row: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != member}


# JSON
def record(world: World, one: Result, *, hbar: bool = True, single: bool = False) -> dict[str, Any]:
    called = one.contract
    shown = {
        "address": evm_address(world, called) if called else None,
        "amount": one.amount if hbar else one.amount * ethereum.WEIBARS,
        "call_result": hexed(one.output),
        "contract_id": entity(called),
        "created_contract_ids": [entity(number) for number in one.created],
        "error_message": one.error or None,
        "from": address(one.sender),
        "gas_limit": one.gas_limit,
        "gas_used": one.gas_used,
        "timestamp": at(one.consensus_timestamp),
        "hash": hexed(one.hash),
        "result": one.result,
        "status": "0x1" if one.result in _SUCCESSES else "0x0",
    }
    if one.ethereum:
        return shown | ethereum.record(one.ethereum, hbar=hbar, single=single)
    native = dict.fromkeys(("nonce", "r", "s", "v", "max_fee_per_gas", "max_priority_fee_per_gas"))
    price = {"gas_price": hex(gas_price(world, one.consensus_timestamp) * (1 if hbar else ethereum.WEIBARS))}
    return shown | native | {"type": 0, "chain_id": _CHAIN_ID, "access_list": []} | price


def logs(world: World, one: Result) -> list[dict[str, Any]]:
    return [
        {
            "address": evm_address(world, log.contract),
            "contract_id": entity(log.contract),
            "data": f"0x{log.data.hex():0>64}" if log.data else "0x",
            "timestamp": at(one.consensus_timestamp),
            "topics": [word(topic) for topic in log.topics],
        }
        for log in one.logs
    ]


def evm_address(world: World, number: int) -> str | None:
    """Return the address of an account or contract; a system contract has its long-zero form."""
    known = world.accounts.get(number)
    return hexed(known.address) if known else address(number)


def gas_price(world: World, time: int) -> int:
    """Return the price of gas in tinybars for what has no price of its own, by the rate of that hour."""
    times = [(change.consensus_timestamp, change.contents) for change in world.files[EXCHANGE_RATES].changes]
    rate = ExchangeRateSet.FromString([contents for at, contents in times if at <= time][-1]).currentRate
    return int(max(GAS * rate.hbarEquiv // (rate.centEquiv * 1_000), 1))
