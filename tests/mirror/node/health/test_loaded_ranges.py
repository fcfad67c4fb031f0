"""What is loaded, as `manage.py status`, health and metrics tell it."""

from typing import Any

import pytest
from django.test import Client

from ledger import loaded_ranges
from mirror.node.health import checks as judging
from mirror.node.health import gauges, inventory, status
from mirror.node.health.loaded_ranges import loaded_text
from mirror.web.monitoring import health
from tests.build import SECOND, START, Build, insert
from tests.ledger.api.test_not_loaded import block, load

pytestmark = pytest.mark.django_db

SITUATIONS: dict[str, tuple[list[tuple[int, int, dict[str, Any]]], str]] = {
    "all": (
        [(0, 99, {"rests_on": "genesis"}), (100, 199, {"rests_on": "range"})],
        "blocks 0 to 199; from the network's first one on; all signatures were verified",
    ),
    "middle": (
        [(100, 199, {"signed": False})],
        "blocks 100 to 199; nothing is known from before 2023-11-14T22:15:00Z, so balances count from zero "
        "there; signatures were not verified everywhere",
    ),
    "balances": (
        [(100, 199, {"rests_on": "balances", "basis": "2023-11-14T22_15_00Z_Balances.pb.gz"})],
        "blocks 100 to 199; from before 2023-11-14T22:15:00Z only the balances of "
        "2023-11-14T22_15_00Z_Balances.pb.gz are known; all signatures were verified",
    ),
    "gap": (
        [(0, 99, {"rests_on": "genesis"}), (110, 119, {}), (121, 199, {"signed": None})],
        "blocks 0 to 99 and 110 to 119 and 121 to 199; from the network's first one on; nobody knows "
        "whether all signatures were verified; missing: blocks 100 to 109 (2023-11-14T22:15:00Z to "
        "2023-11-14T22:15:10Z), block 120 (2023-11-14T22:15:20Z to 2023-11-14T22:15:21Z)",
    ),
    "gaps": (
        [(first, first, {"rests_on": "unknown", "signed": None}) for first in (10, 20, 30, 40, 50)],
        "blocks 10 to 50, not all of them; an older release began at 2023-11-14T22:13:30Z; nobody knows "
        "whether all signatures were verified; missing: 1 earlier gap, blocks 21 to 29 "
        "(2023-11-14T22:13:41Z to 2023-11-14T22:13:50Z), blocks 31 to 39 (2023-11-14T22:13:51Z to "
        "2023-11-14T22:14:00Z), blocks 41 to 49 (2023-11-14T22:14:01Z to 2023-11-14T22:14:10Z)",
    ),
    "part": (
        [(0, 99, {"rests_on": "genesis", "filters": '{"importer.parser.include": []}'})],
        "blocks 0 to 99; from the network's first one on; all signatures were verified; only a part is "
        "stored, as importer.parser.include says",
    ),
    "unknown": ([], ""),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_loaded_ranges_are_described(name: str) -> None:
    ranges, words = SITUATIONS[name]
    for first, last, columns in ranges:
        load(first, last, **columns)

    assert loaded_text(loaded_ranges.read()) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("all", ""),
        (
            "middle",
            "supply and staking rewards count from nothing at 2023-11-14T22:15:00Z, so they are not "
            "those of the network",
        ),
        (
            "balances",
            "supply rests on the balances of 2023-11-14T22_15_00Z_Balances.pb.gz, and staking rewards "
            "count only stakes that were chosen since",
        ),
        ("gap", "supply and staking rewards lack what is missing"),
        (
            "gaps",
            "nobody knows what supply and staking rewards of before 2023-11-14T22:13:30Z rest on; supply "
            "and staking rewards lack what is missing",
        ),
        ("unknown", ""),
    ],
)
def test_basis_of_supply_and_rewards_is_described(name: str, words: str) -> None:
    for first, last, columns in SITUATIONS[name][0]:
        load(first, last, **columns)

    now = status.read()
    lines = dict(inventory.read(now).lines(now))

    assert lines.get("Supply", "") == words
    assert ((now.json["loaded"] or {}).get("supply") or "") == words


def test_dropped_rows_are_described() -> None:
    load(0, 99, rests_on="genesis")
    for table, before in (("transaction", 10), ("contract_log", 20), ("crypto_transfer", 10)):
        insert("dropped_rows", table_name=table, before=block(before))

    assert loaded_text(loaded_ranges.read()).endswith(
        "; rows from before 2023-11-14T22:13:30Z were dropped (crypto_transfer, transaction); "
        "rows from before 2023-11-14T22:13:40Z were dropped (contract_log)"
    )


def test_loaded_ranges_are_in_the_json() -> None:
    assert status.read().json["loaded"] is None
    load(1, 2, rests_on="balances", basis="a.csv")
    load(4, 5)

    assert status.read().json["loaded"] == {
        "blocks": [
            {
                "first": first,
                "last": first + 1,
                "from": f"170000000{first}.000000000",
                "to": f"170000000{first + 2}.000000000",
                "signed": True,
                "filters": [],
            }
            for first in (1, 4)
        ],
        "gaps": 1,
        "rests_on": "balances",
        "basis": "a.csv",
        "supply": "supply rests on the balances of a.csv, and staking rewards count only stakes that were "
        "chosen since; supply and staking rewards lack what is missing",
        "dropped": {},
    }


def test_gaps_are_in_health_and_do_not_affect_it(
    client: Client, settings_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of({"clock.now": START / SECOND})
    Build().block(5, end=START)
    load(1, 2)
    load(4, 5)
    now = judging.check_database()
    monkeypatch.setattr(health._health_check, "check", lambda: now)

    assert client.get("/health/lag").json()["loaded"] == {"first_block": 1, "gaps": 1}
    assert not any("missing" in reason for reason in now.reasons)


def test_gaps_are_in_metrics() -> None:
    load(1, 2)
    load(4, 5)
    now = judging.check_database()

    said = {gauge.name: value for gauge, _, value in gauges._health_values(now)}

    assert (said["mirror_first_block"], said["mirror_gaps"]) == (1, 1)
