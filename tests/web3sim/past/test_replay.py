"""Loaded contract transactions, run again, come to what was recorded; what does not is found.

The stream is that of a simulated network, whose own EVM shares nothing with the engines.
`MIRROR_TEST_BLOCKS=300` replays so many of its blocks.
"""

import json
import os

import pytest
from django.db import connection

from mirror.core.values.hapi.result_codes import NUMBERS
from tests.ledger.ingest.load import load, stored
from tests.web3sim.past.lives import lived
from web3sim.calls.messages import Trace
from web3sim.past import replay, trace
from web3sim.past import transactions as past
from web3sim.past.comparison import Replayed
from web3sim.past.replay import Range
from web3sim.state import cache
from web3sim.state.database import Reading

BLOCKS = int(os.environ.get("MIRROR_TEST_BLOCKS", "30"))
SEED = 5

# Of contract_result.
NOT_ETHEREUM = "consensus_timestamp not in (select consensus_timestamp from ethereum_transaction)"

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture(scope="module")
def life():
    return lived(SEED, BLOCKS)


@pytest.fixture(scope="module")
def short_life():
    return lived(SEED, 12)


@pytest.fixture
def long_stream(life, ledger_tables):
    load(*life[1])
    return life[0]


@pytest.fixture
def stream(short_life, ledger_tables):
    load(*short_life[1])
    return short_life[0]


def replayed(range=None, engine="pyevm-blocks", processes=1):
    """All of them, and the sums."""
    told: list[Replayed] = []
    totals = replay.replay(range or Range(), engine, processes, told.append)
    return told, totals


def execute(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount


def transactions(where="true"):
    """The times of those that ran."""
    return [
        at
        for (at,) in stored(
            "contract_result",
            "consensus_timestamp",
            "function_result is not null and transaction_nonce = 0 "
            f"and transaction_result <> {NUMBERS['WRONG_NONCE']} and {where}",
        )
    ]


def differences(at):
    (one,) = replayed(Range(at, at))[0]
    return [str(each) for each in one.differences]


# MATCHES


def test_every_contract_transaction_of_a_simulated_network_matches(long_stream):
    told, totals = replayed()

    assert [(one.function, [*map(str, one.differences)]) for one in told if one.differences] == []
    assert totals.matching == totals.replayed
    assert totals.replayed.total() == len(transactions()) > BLOCKS * 3
    functions = {function for _, function in totals.replayed}
    assert {"(creation)", "(no function)", "transfer(address,uint256)"} <= functions
    assert set(totals.skipped) <= {"a part of another transaction", *_never_run(totals)}
    assert set(totals.services) >= {
        "airdropTokens(TokenTransferListV2[])",
        "associateToken(address,address)",
        "balanceOf(address)",
        "createFungibleToken(HederaTokenV3,int64,int32)",
        "cryptoTransfer(TransferList,TokenTransferListV2[])",
        "executeCallOnPayerSignature(address,address,uint256,uint256,uint64,bytes)",
        "getPseudorandomSeed()",
        "tinycentsToTinybars(uint256)",
        "transfer(address,uint256)",
        "transferToken(address,address,address,int64)",
    }
    assert "it was never run (WRONG_NONCE)" in totals.skipped
    results = {result for (result,) in stored("contract_result", "transaction_result")}
    assert {22, 33} <= results


def _never_run(totals):
    return {reason for reason in totals.skipped if reason.startswith("it was never run")}


def test_several_processes_come_to_the_same(long_stream):
    # Fewer are not worth several.
    assert replay.count(Range()) > 100
    assert replayed(processes=2) == replayed()


def test_a_trace_of_a_simulated_transaction_is_what_its_record_says(long_stream):
    compared = 0
    for at in transactions()[::8]:
        pieces: list[bytes] = []
        answer = trace.answer(Trace(at, True, True, True, float("inf"), float("inf")), pieces.append)
        assert answer.status == 200
        told = json.loads(b"".join(pieces))
        found = past.transaction_at(at, Reading())
        assert found is not None
        actions = stored("contract_action", "index, call_depth, gas, gas_used", f"consensus_timestamp = {at}")
        outermost = [each for each in told["opcodes"] if each["depth"] == 0]
        assert (told["gas"], told["failed"]) == (found.gas_used, found.transaction_result != 22)
        assert told["return_value"] == f"0x{(found.call_result or b'').hex()}"
        assert max(each["depth"] for each in told["opcodes"]) == max(depth for _, depth, _, _ in actions)
        assert outermost[0]["gas"] + outermost[0]["gas_cost"] == actions[0][2]
        # The price of a new contract's code is that of no operation; a halt takes the rest.
        if found.result in ("SUCCESS", "CONTRACT_REVERT_EXECUTED") and not found.creates:
            assert actions[0][2] - outermost[-1]["gas"] == actions[0][3]
        compared += 1
    assert compared > 20


def test_older_networks_gave_back_less_gas(stream):
    at, limit, used = stored(
        "contract_result",
        "consensus_timestamp, gas_limit, gas_used",
        f"transaction_result = 22 and gas_limit * 4 > gas_used * 5 and {NOT_ETHEREUM}",
    )[0]
    execute(
        "update contract_result set gas_used = %s, gas_consumed = %s where consensus_timestamp = %s",
        *(limit - limit // 5, used, at),
    )
    assert differences(at) == []
    execute("update contract_result set gas_consumed = gas_used where consensus_timestamp = %s", at)
    assert [each.partition(":")[0] for each in differences(at)] == ["gas used", "gas consumed"]


# RANGES


def test_a_range_is_replayed_alone(stream):
    first, _, third, *_ = transactions()
    told = [one.consensus_timestamp for one in replayed(Range(first, third))[0]]
    assert (told[0], told[-1], len(told)) == (first, third, replay.count(Range(first, third)))
    assert told == sorted(told)
    assert replayed(Range(1, 2))[0] == []


def test_one_contract_is_replayed_alone(stream):
    contract = next(iter(stream.world.contracts.deployed))
    told, totals = replayed(Range(contract_id=contract))
    assert {one.contract for one in told} == {f"0.0.{contract}"}
    assert totals.replayed.total() + totals.skipped.total() == replay.count(Range(contract_id=contract))


# MISMATCHES


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("call_result = '\\x01'", "output: recorded 0x01, replayed 0x"),
        ("gas_used = 7", "gas used: recorded 7, replayed "),
        ("gas_consumed = 9", "gas consumed: recorded 9, replayed "),
        ("transaction_result = 33", "result: recorded CONTRACT_REVERT_EXECUTED, replayed SUCCESS"),
        ("created_contract_ids = '{1001}'", "created contracts: recorded 0x"),
    ],
)
def test_another_result_is_a_mismatch(stream, change, said):
    at = transactions("transaction_result = 22 and created_contract_ids = '{}'")[0]
    assert differences(at) == []
    execute(f"update contract_result set {change} where consensus_timestamp = %s", at)
    (difference,) = differences(at)
    assert difference.startswith(said)


def test_another_error_is_a_mismatch(stream):
    at = transactions("transaction_result = 33 and error_message <> '0x'")[0]
    assert differences(at) == []
    execute("update contract_result set error_message = '0xff' where consensus_timestamp = %s", at)
    (difference,) = differences(at)
    assert difference.startswith("error: recorded '0xff', replayed 0x")
    name = "CONTRACT_REVERT_EXECUTED"
    execute("update contract_result set error_message = %s where consensus_timestamp = %s", name, at)
    assert differences(at) == []


def test_other_logs_are_a_mismatch(stream):
    ((at, index),) = stored("contract_log", "consensus_timestamp, index")[:1]
    execute("update contract_log set data = '\\x05' where consensus_timestamp = %s and index = %s", at, index)
    (difference,) = differences(at)
    assert difference.startswith("log 0: recorded 0x")
    execute("delete from contract_log where consensus_timestamp = %s", at)
    assert differences(at)[0].startswith("log 0: recorded none, replayed 0x")


def test_other_storage_is_a_mismatch(stream):
    ((at,),) = stored(
        "contract_state_change", "consensus_timestamp", "value_written is not null and value_read <> ''"
    )[-1:]
    execute("update contract_state_change set value_written = '\\x77' where consensus_timestamp = %s", at)
    assert any("0x77, replayed 0x" in difference for difference in differences(at))
    execute("delete from contract_state_change where consensus_timestamp = %s", at)
    assert all(": recorded untouched, replayed 0x" in difference for difference in differences(at))


def test_mismatch_can_be_stored_as_a_case(stream):
    at = transactions("transaction_result = 22 and created_contract_ids = '{}'")[0]
    execute("update contract_result set gas_used = 7 where consensus_timestamp = %s", at)
    (one,) = replayed(Range(at, at))[0]
    kept = json.loads(json.dumps(one.case))
    assert (kept["format"], kept["profile"], kept["block"]["chainId"]) == (1, "ledger", hex(298))
    (case,) = kept["cases"]
    assert case["call"]["from"] in case["pre"]
    assert case["expect"]["gasUsed"] == 7
    assert case["expect"]["status"] == "success"
    assert case["differences"][0].startswith("gas used: recorded 7")


# LEFT OUT


def skipped(at):
    (one,) = replayed(Range(at, at))[0]
    assert one.differences == ()
    return one.skipped


def test_without_sidecars_nothing_can_be_said(stream):
    at = transactions()[0]
    for table in ("contract_action", "contract_state_change"):
        execute(f"delete from {table}")
    assert skipped(at) == "its sidecars are not loaded"


def test_without_code_nothing_can_be_said(stream):
    at = transactions("transaction_result = 22 and created_contract_ids = '{}' and gas_used > 22000")[-1]
    execute("update contract set runtime_bytecode = null")
    cache.reset()
    assert skipped(at) == "the code of a contract is not stored"
    execute("delete from entity where type = 'CONTRACT'")
    execute("delete from ethereum_transaction")
    cache.reset()
    assert skipped(at) == "the code of a contract is not stored"


def test_without_init_code_nothing_can_be_said(stream):
    at = transactions(f"created_contract_ids <> '{{}}' and {NOT_ETHEREUM}")[0]
    execute("update contract set initcode = null, file_id = null")
    execute("update contract_result set function_parameters = ''")
    assert skipped(at) == "its init code, or the file with its data, is not stored"


def test_without_its_block_nothing_can_be_said(stream):
    at = transactions()[0]
    execute("delete from record_file")
    assert skipped(at) == "its block is not stored"


def test_before_the_first_stored_block_the_state_is_not_known(stream):
    ((at, contract),) = stored(
        "contract_state_change",
        "consensus_timestamp, contract_id",
        "value_written is not null and value_read <> ''",
    )[-1:]
    execute("update entity set created_timestamp = 1, timestamp_range = '[1,)' where type = 'CONTRACT'")
    execute("delete from contract_state_change where consensus_timestamp < %s", at)
    execute("delete from record_file where index = 0")
    assert skipped(at) is None
    assert differences(at) == []
    execute(
        "delete from contract_state_change where consensus_timestamp = %s and contract_id = %s", at, contract
    )
    assert skipped(at) == "the state of a contract is older than the first block stored"


def test_missing_account_may_precede_the_first_stored_block(stream):
    ((at, receiver),) = stored(
        "contract_action",
        "consensus_timestamp, recipient_account",
        "call_depth = 0 and recipient_account <> caller",
    )[-1:]
    execute("update entity_history set deleted = true")
    execute("delete from entity where id = %s", receiver)
    execute("delete from record_file where index = 0")
    assert skipped(at) == "an account may be older than the first block stored"


def test_unrun_and_child_transactions_are_left_out(stream):
    at = transactions()[0]
    execute("update contract_result set transaction_nonce = 1 where consensus_timestamp = %s", at)
    assert skipped(at) == "a part of another transaction"
    execute(
        "update contract_result set transaction_nonce = 0, function_result = null, transaction_result = 10 "
        "where consensus_timestamp = %s",
        at,
    )
    assert skipped(at) == "it was never run (INSUFFICIENT_PAYER_BALANCE)"
