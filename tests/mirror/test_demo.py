"""The demo stream, loaded and asked: there is something of every kind to look at."""

from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.pipeline import Pipeline
from ledger.stream.source import find_record_files
from mirror import demo
from tests.api import Api


@pytest.fixture
def network(tmp_path: Path, ledger_tables: None) -> Any:
    nodes = demo.write(tmp_path / "stream")
    demo.store_address_book(nodes)
    Pipeline().run(find_record_files([tmp_path / "stream"]))
    return lambda path: Api().get(f"/api/v1/{path}").json()


def test_the_demo_has_something_of_every_kind(network: Any) -> None:
    (coin,) = network("tokens?type=fungible_common")["tokens"]
    assert (coin["name"], coin["decimals"]) == ("Demo Coin", 2)
    assert network(f"tokens/{coin['token_id']}")["total_supply"] == "100000000"
    held = network(f"tokens/{coin['token_id']}/balances?order=asc")["balances"]
    assert [one["balance"] for one in held] == [99_400_000, 100_000, 200_000, 300_000]
    (art,) = network("tokens?type=non_fungible_unique")["tokens"]
    pieces = network(f"tokens/{art['token_id']}/nfts?order=asc")["nfts"]
    assert [piece["account_id"] for piece in pieces] == ["0.0.1006", "0.0.1008", "0.0.1006"]
    messages = network("topics/0.0.2003/messages?encoding=utf-8")["messages"]
    assert [message["message"] for message in messages] == ["Hello", "This is a topic", "Bye"]
    (schedule,) = network("schedules")["schedules"]
    assert schedule["executed_timestamp"] is not None
    (allowance,) = network("accounts/0.0.1008/allowances/crypto")["allowances"]
    assert allowance["amount"] == 500_000_000


def test_all_hbars_of_the_demo_are_accounted_for(network: Any) -> None:
    balances = network("balances?limit=100")["balances"]
    assert sum(one["balance"] for one in balances) == 50_000_000_000 * 100_000_000
