"""Transfers and approvals that no contract made, among the results of contracts."""

import hashlib

import pytest
from django.db import connection

from mirror.core.values import log_bloom
from tests.build import SECOND, insert
from tests.contracts.api.rows import AT, PAYER, SENDER, address, contract, digest, log, result, seconds

ALL = "/api/v1/contracts/results"
TOKEN, HOOKS = 3001, 365


# As an upgrade finds it in a database of an older release.
UNKNOWN_BLOOM = b"\0"


def transfer(at, index=0, *, token=TOKEN, **columns):
    given = {"synthetic": True, "bloom": UNKNOWN_BLOOM, "root_contract_id": token} | columns
    log(at, index, contract_id=token, **given)


def happened(build, at=AT, *, nonce=0, **columns):
    """A transaction with its hash, as it is found by; returns the names that its result has in paths."""
    valid_start = at - 5 * SECOND
    build.transaction(at, payer=PAYER, valid_start_ns=valid_start, nonce=nonce, **columns)
    start = digest(at)[:32]
    insert("transaction_hash", consensus_timestamp=at, hash=start, payer_account_id=PAYER)
    return (
        f"/contracts/results/{start.hex()}",
        f"/contracts/results/0x{start.hex()}{'ab' * 16}",
        f"/contracts/results/0.0.{PAYER}-{seconds(valid_start).replace('.', '-')}",
        f"/contracts/{TOKEN}/results/{seconds(at)}",
        f"/contracts/{address(TOKEN)}/results/{seconds(at)}",
    )


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


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_of_one_transaction_the_first_transfer_is_shown_in_any_order(api, order):
    for index in range(3):
        transfer(AT, index, token=3001 + index)
    (shown,) = api.get(f"{ALL}?order={order}").json()["results"]
    assert shown["contract_id"] == "0.0.3001"


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
    transfer(AT, 1, token=TOKEN + 1)
    transfer(AT + 1, 2, token=TOKEN + 1)
    transfer(AT + 2, 3)
    result(AT + 2)
    result(AT + 3, contract_id=TOKEN)
    of_token = f"/api/v1/contracts/{TOKEN}/results"
    assert timestamps(api.get(of_token)) == [seconds(AT + 3), seconds(AT)]
    assert timestamps(api.get(f"{of_token}?order=asc")) == [seconds(AT), seconds(AT + 3)]
    assert timestamps(api.get(f"/api/v1/contracts/{TOKEN + 1}/results")) == [seconds(AT + 1), seconds(AT)]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_of_one_contract_have_everything_once_in_the_order_of_time(api, order):
    times = []
    for second in range(9):
        at = AT + second * SECOND
        if second % 3:
            result(at, contract_id=TOKEN)
        if second % 2:
            transfer(at, second * 2)
            transfer(at, second * 2 + 1, token=TOKEN if second % 5 else TOKEN + 1)
        if second % 3 or second % 2:
            times.append(seconds(at))
    pages = api.pages(f"/api/v1/contracts/{TOKEN}/results?limit=2&order={order}", "results")
    assert [row["timestamp"] for row in pages] == (times if order == "asc" else times[::-1])


def test_a_result_that_a_list_leaves_out_has_no_synthetic_form(api):
    transfer(AT)
    result(AT, transaction_nonce=1)
    assert timestamps(api.get(ALL)) == []
    assert timestamps(api.get(f"{ALL}?internal=true")) == [seconds(AT)]


def test_a_setting_leaves_them_out(api, settings_of):
    settings_of({"rest.query.syntheticContractResults": False})
    transfer(AT)
    assert timestamps(api.get(ALL)) == []


def test_each_name_finds_what_the_list_shows_with_its_logs(api, build):
    first, second = (log_bloom.create_bloom(bytes(20), [bytes((number,))]) for number in (1, 2))
    transfer(AT, bloom=first)
    transfer(AT, 1, bloom=second, token=TOKEN + 1)
    build.block(17, end=AT, consensus_start=AT, gas_used=777)
    names = happened(build)
    (shown,) = api.get(ALL).json()["results"]
    bloom = log_bloom.union([first, second])

    assert shown["bloom"] == f"0x{bloom.hex()}"
    for name in names:
        found = api.get(f"/api/v1{name}").json()
        assert [each["contract_id"] for each in found["logs"]] == [f"0.0.{TOKEN}", f"0.0.{TOKEN + 1}"]
        assert found == shown | {"logs": found["logs"], "state_changes": []}
    assert api.get(f"/api/v1/contracts/{TOKEN}/results").json()["results"][0]["bloom"] == shown["bloom"]


def test_by_another_of_its_tokens_a_result_is_one_of_that_token(api, build):
    transfer(AT)
    transfer(AT, 1, token=TOKEN + 1)
    shown = api.get(f"/api/v1/contracts/{TOKEN + 1}/results").json()["results"][0]
    found = api.get(f"/api/v1/contracts/{TOKEN + 1}/results/{seconds(AT)}").json()

    assert shown["contract_id"] == f"0.0.{TOKEN + 1}"
    assert {name: found[name] for name in shown} == shown


def test_it_has_no_actions(api, build):
    transfer(AT)
    for name in happened(build)[:3]:
        answer = api.get(f"/api/v1{name}/actions")
        assert (answer.status, answer.json()["actions"]) == (200, [])


@pytest.mark.parametrize("synthetic", [False, None])
def test_what_no_list_shows_has_no_name(api, build, synthetic):
    transfer(AT, synthetic=synthetic)
    names = happened(build)
    assert [api.get(f"/api/v1{name}").status for name in names] == [404] * 5
    assert api.get(f"/api/v1{names[0]}/actions").status == 404


def test_of_transactions_with_the_same_hash_the_one_with_logs_is_found(api, build):
    transfer(AT)
    (name, *_) = happened(build)
    insert("transaction_hash", consensus_timestamp=AT + 1, hash=digest(AT), payer_account_id=PAYER)
    assert api.get(f"/api/v1{name}").json()["timestamp"] == seconds(AT)


def test_without_the_setting_they_are_not_found_either(api, build, settings_of):
    settings_of({"rest.query.syntheticContractResults": False})
    transfer(AT)
    assert [api.get(f"/api/v1{name}").status for name in happened(build)] == [404] * 5


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


@pytest.mark.parametrize("logged", [True, False])
def test_the_call_of_a_hook_is_listed_unless_the_logs_of_its_transfer_are(api, build, logged):
    build.transaction(AT)
    if logged:
        transfer(AT)
    for nonce, contract_id in ((1, HOOKS), (2, 5002)):
        result(AT + nonce, contract_id=contract_id, transaction_nonce=nonce)
        build.transaction(AT + nonce, nonce=nonce, type=7, parent_consensus_timestamp=AT)

    assert timestamps(api.get(ALL)) == [seconds(AT if logged else AT + 1)]
