"""A history in blocks, or in record files and then in blocks, makes the same rows as in record files.

`MIRROR_TEST_SEEDS=20` compares so many histories.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror.core.values import log_bloom
from mirror.demo.streams.record_files import timestamp
from tests.ledger.compose import Stream, num
from tests.ledger.ingest.both_forms import EVERYTHING, Tables, differences, load, play, stored_tables
from tests.ledger.ingest.tables import empty_tables

pytestmark = pytest.mark.usefixtures("ledger_tables")

BLOCKS = 12
SEEDS = int(os.environ.get("MIRROR_TEST_SEEDS", "1"))


@pytest.mark.parametrize("seed", range(3, 3 + SEEDS))
def test_a_history_makes_the_same_rows_in_both_forms(
    seed: int, tmp_path: Path, settings_of: Callable[..., None]
) -> None:
    settings_of(EVERYTHING)
    history = play(BLOCKS, 40, seed)

    load(history, tmp_path / "records", blocks_from=BLOCKS)
    of_records = stored_tables()
    assert all(of_records[table] for table in ("contract_log", "contract_state", "ethereum_transaction"))
    for blocks_from in (0, BLOCKS // 2):
        empty_tables()
        done = load(history, tmp_path / str(blocks_from), blocks_from=blocks_from)

        assert done.verified == BLOCKS
        of_blocks = stored_tables()
        assert [str(each) for each in differences(of_records, of_blocks)] == []
    assert_differences_are_found(of_records)


def test_so_do_contracts_of_a_release_whose_nodes_do_not_log_their_token_transfers(tmp_path: Path) -> None:
    stream, contract, address = Stream(), {"contractNum": 2001}, bytes(range(1, 21))
    log = {"contractID": contract, "topic": [b"\7" * 32], "data": b"data"}
    log["bloom"] = log_bloom.create_bloom(address, [b"\7" * 32])
    created = {"contractID": contract, "evm_address": {"value": address}, "createdContractIDs": [contract]}
    stream.happen(
        "contractCreateInstance",
        {},
        {"receipt": {"contractID": contract}, "contractCreateResult": created | {"bloom": bytes(256)}},
    )
    history = [stream.block()]
    called = {"contractID": contract, "gasUsed": 5, "logInfo": [log], "bloom": log["bloom"]}
    record = {"receipt": {"contractID": contract}, "contractCallResult": called}
    call = stream.happen("contractCall", {"contractID": contract}, record)
    amounts = [{"accountID": num(1001), "amount": -7}, {"accountID": num(1002), "amount": 7}]
    caused = {
        "tokenTransferLists": [{"token": {"tokenNum": 5001}, "transfers": amounts}],
        "contractCallResult": {"contractID": {"contractNum": 359}, "gasUsed": 1},
        "parent_consensus_timestamp": timestamp(call),
    }
    stream.happen("cryptoTransfer", {}, caused)
    history.append(stream.block())

    load(history, tmp_path / "records", blocks_from=len(history), signed=False)
    of_records = stored_tables()
    empty_tables()
    load(history, tmp_path / "blocks", blocks_from=0, signed=False)

    assert [log["synthetic"] for log in of_records["contract_log"]] == [False, True]
    assert len({log["bloom"] for log in of_records["contract_log"]}) == 2
    assert [str(each) for each in differences(of_records, stored_tables())] == []


def assert_differences_are_found(tables: Tables) -> None:
    first, second, *others = tables["contract_log"]
    (difference,) = differences(tables, {**tables, "contract_log": [second | {"bloom": ""}, *others]})
    assert (difference.missing, difference.added, difference.columns) == (1, 0, {"bloom": 1})
    (difference,) = differences(
        {**tables, "contract_log": others}, {**tables, "contract_log": [first, *others]}
    )
    assert (difference.missing, difference.added, difference.columns) == (0, 1, {})
