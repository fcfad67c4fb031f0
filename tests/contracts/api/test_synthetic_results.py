"""Token transfers that no contract made, among the results of all contracts."""

import hashlib

import pytest
from django.db import connection

from tests.build import SECOND
from tests.contracts.api.rows import AT, PAYER, SENDER, address, contract, digest, log, result, seconds

ALL = "/api/v1/contracts/results"
TOKEN = 3001


def transfer(at, index=0, *, token=TOKEN, **columns):
    log(at, index, contract_id=token, **{"synthetic": True} | columns)


def timestamps(answer):
    assert answer.status == 200, answer
    return [row["timestamp"] for row in answer.json()["results"]]


def test_a_transfer_looks_like_a_successful_call_of_its_token_by_its_payer(api, build):
    transfer(AT)
    build.block(17, end=AT, consensus_start=AT, gas_used=777)
    (shown,) = api.get(ALL).json()["results"]
    nothing = dict.fromkeys(("bloom", "call_result", "function_parameters", "failed_initcode"), "0x")
    unknown = ("amount", "error_message", "gas_consumed", "gas_used", "nonce", "r", "s", "v")
    expected = (
        dict.fromkeys(unknown)
        | nothing
        | {
            "address": address(TOKEN),
            "contract_id": f"0.0.{TOKEN}",
            "created_contract_ids": [],
            "from": address(PAYER),
            "to": address(TOKEN),
            "gas_limit": 0,
            "hash": f"0x{digest(AT).hex()}",
            "result": "SUCCESS",
            "status": "0x1",
            "timestamp": seconds(AT),
            "transaction_index": 1,
            "block_hash": "0x" + hashlib.sha384(b"17").hexdigest(),
            "block_number": 17,
            "block_gas_used": 777,
        }
    )
    assert {name: shown[name] for name in expected} == expected


def test_it_has_the_address_of_the_root_contract(api, build):
    contract(build, 5001, evm_address=b"\xaa" * 20)
    transfer(AT, root_contract_id=5001)
    (shown,) = api.get(ALL).json()["results"]
    assert (shown["address"], shown["contract_id"]) == ("0x" + "aa" * 20, "0.0.5001")
    assert shown["to"] == address(5001)


def test_without_a_root_contract_the_contract_of_the_log_counts(api):
    transfer(AT, root_contract_id=None)
    assert api.get(ALL).json()["results"][0]["contract_id"] == f"0.0.{TOKEN}"


@pytest.mark.parametrize(("order", "token"), [("desc", 3003), ("asc", 3001)])
def test_of_one_transaction_the_first_transfer_in_the_order_of_the_list_is_shown(api, order, token):
    for index in range(3):
        transfer(AT, index, token=3001 + index)
    (shown,) = api.get(f"{ALL}?order={order}").json()["results"]
    assert shown["contract_id"] == f"0.0.{token}"


def test_a_result_stands_for_the_transfers_of_its_transaction(api):
    transfer(AT)
    result(AT)
    (shown,) = api.get(ALL).json()["results"]
    assert shown["contract_id"] == "0.0.5001"


@pytest.mark.parametrize("synthetic", [False, None])
def test_other_logs_are_no_results(api, synthetic):
    transfer(AT, synthetic=synthetic)
    assert timestamps(api.get(ALL)) == []


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_have_everything_once_in_the_order_of_time(api, order):
    for second in range(9):
        if second % 3:
            result(AT + second * SECOND)
        if second % 2:
            transfer(AT + second * SECOND, second * 2)
            transfer(AT + second * SECOND, second * 2 + 1)
    found = [row["timestamp"] for row in api.pages(f"{ALL}?limit=2&order={order}", "results")]
    expected = [seconds(AT + second * SECOND) for second in range(9) if second % 3 or second % 2]
    assert found == (expected if order == "asc" else expected[::-1])


def test_times_blocks_and_positions_choose_transfers_too(api, build):
    for second in range(6):
        transfer(AT + second * SECOND, transaction_index=second)
    build.block(17, end=AT + 3 * SECOND, consensus_start=AT + 2 * SECOND)
    assert timestamps(api.get(f"{ALL}?block.number=17")) == [seconds(AT + n * SECOND) for n in (3, 2)]
    assert timestamps(api.get(f"{ALL}?block.number=17&transaction.index=2")) == [seconds(AT + 2 * SECOND)]
    assert timestamps(api.get(f"{ALL}?timestamp=lt:{seconds(AT + SECOND)}")) == [seconds(AT)]
    assert timestamps(api.get(f"{ALL}?timestamp={seconds(AT)}")) == [seconds(AT)]
    among = f"timestamp=ne:{seconds(AT)}&timestamp=lt:{seconds(AT + 2 * SECOND)}"
    assert timestamps(api.get(f"{ALL}?{among}")) == [seconds(AT + SECOND)]


@pytest.mark.parametrize("sender", [f"from={PAYER}", f"from={SENDER}", "from=ne:1"])
def test_the_calls_of_a_sender_are_those_of_contracts(api, sender):
    transfer(AT)
    assert timestamps(api.get(f"{ALL}?{sender}")) == []


@pytest.mark.parametrize("internal", ["true", "false"])
def test_transfers_are_no_internal_calls(api, internal):
    transfer(AT)
    assert timestamps(api.get(f"{ALL}?internal={internal}")) == [seconds(AT)]


def test_one_contract_has_only_its_own_results(api):
    transfer(AT)
    assert timestamps(api.get(f"/api/v1/contracts/{TOKEN}/results")) == []


def test_a_setting_leaves_them_out(api, settings_of):
    settings_of({"rest.query.syntheticContractResults": False})
    transfer(AT)
    assert timestamps(api.get(ALL)) == []


def test_a_hash_alone_finds_no_synthetic_result(api):
    transfer(AT)
    assert api.get(f"{ALL}/{digest(AT).hex()}").status == 404


def test_they_are_left_out_until_an_upgrade_has_built_their_index(api):
    transfer(AT)
    result(AT + 1)
    with connection.cursor() as cursor:
        cursor.execute("drop index contract_log__synthetic_timestamp")
    assert timestamps(api.get(ALL)) == [seconds(AT + 1)]

    with connection.cursor() as cursor:
        cursor.execute(
            "create index contract_log__synthetic_timestamp on contract_log"
            " (consensus_timestamp desc, index desc) where synthetic"
        )
    assert timestamps(api.get(ALL)) == [seconds(AT + 1), seconds(AT)]
