"""manage.py replay: what it prints, saves, and the exit code."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ledger.ingest.named_ranges import InvalidRange
from tests.ledger.ingest.load import load, stored
from tests.web3sim.past.lives import lived
from web3sim.state import cache

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture(scope="module")
def life():
    return lived(seed=8, blocks=8)


@pytest.fixture
def stream(life, ledger_tables):
    """A simulated network, loaded."""
    load(*life[1])
    yield life[0]
    cache.reset()


def replay(*options):
    said = StringIO()
    call_command("replay", *options, "--processes", "1", stdout=said)
    return said.getvalue()


def change_a_result():
    """Let one successful call of a contract have used another amount of gas; gives its time."""
    at = stored("contract_result", "consensus_timestamp", "transaction_result = 22 and gas_limit > 0")[-1][0]
    with connection.cursor() as cursor:
        cursor.execute("update contract_result set gas_used = 5 where consensus_timestamp = %s", [at])
    return at


def test_it_says_how_many_match_per_contract_and_function(stream):
    said = replay()

    lines = said.splitlines()
    assert lines[1].split() == ["contract", "function", "replayed", "match"]
    assert all(line.split()[-1] == "100.00%" for line in lines[2:] if line.startswith("0.0."))
    assert any("(creation)" in line for line in lines)
    assert lines[-1].startswith("All of ")
    assert "replayed contract transactions" in lines[-1]


def test_it_says_what_differs_and_fails(stream, tmp_path):
    at = change_a_result()
    said = StringIO()

    with pytest.raises(CommandError, match="^1 of [0-9]+ replayed contract transactions") as raised:
        call_command("replay", "--save", str(tmp_path / "cases"), "--processes", "1", stdout=said)

    assert raised.value.returncode == 1
    time = f"{at // 10**9}.{at % 10**9:09}"
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith(time)]
    assert "gas used: recorded 5, replayed " in line
    (saved,) = (tmp_path / "cases").iterdir()
    assert saved.name == f"{time}.json"
    assert json.loads(saved.read_text())["cases"][0]["name"] == f"replay/{time}"


def test_blocks_contracts_and_engines_can_be_chosen(stream):
    change_a_result()
    assert "All of " in replay("--from", "0", "--to", "2", "--engine", "pyevm")
    contract = next(iter(stream.world.contracts.deployed))
    lines = replay("--contract", f"0.0.{contract}", "--to", "2").splitlines()
    assert {line.split()[0] for line in lines if line.startswith("0.0.")} == {f"0.0.{contract}"}


def test_transactions_that_can_not_be_replayed_are_no_failure(stream):
    with connection.cursor() as cursor:
        cursor.execute("delete from contract_action")
        cursor.execute("delete from contract_state_change")
    lines = replay().splitlines()
    assert any(line.endswith(": its sidecars are not loaded") for line in lines)
    assert lines[-1].startswith("None of ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--contract", "abc"), "'abc' is not the id of a contract such as 0.0.1234."),
        (("--processes", "0"), "--processes has to be at least 1."),
        (("--to", "2001-01-01"), "There is no contract transaction in that range."),
    ],
)
def test_wrong_use_is_explained(options, said):
    with pytest.raises(CommandError) as raised:
        call_command("replay", *options, stdout=StringIO())
    assert (str(raised.value), raised.value.returncode) == (said, 2)


def test_invalid_bound_is_explained():
    with pytest.raises(InvalidRange, match="no block 7"):
        call_command("replay", "--from", "7", stdout=StringIO())
