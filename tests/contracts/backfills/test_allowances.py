"""Allowances that contracts have spent are taken from the contract and given back to the payer, once."""

import pytest
from django.db import connection

from tests.build import START, Build
from tests.contracts.backfills.test_logs import result
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

OWNER, CONTRACT, PAYER, SYSTEM_CONTRACT = 1001, 2001, 1002, 359


def spend(
    build: Build, at: int, amount: int, *, approved: bool = True, contract: int = SYSTEM_CONTRACT
) -> None:
    build.transaction(at, payer=PAYER, transfers=[])
    build.crypto_transfer(at, OWNER, -amount, payer=PAYER, is_approval=approved)
    build.crypto_transfer(at, 1003, amount, payer=PAYER, is_approval=False)
    result(at, contract_id=contract, sender_id=CONTRACT)


def allow(build: Build, spender: int, left: int, *, granted: int = 100, since: int = START) -> None:
    build.allowance("crypto", owner=OWNER, spender=spender, amount=left, amount_granted=granted, since=since)


def left() -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute("select spender, amount from crypto_allowance")
        return dict(cursor.fetchall())


def test_what_a_contract_has_spent_moves_from_the_payers_allowance_to_the_contracts(build: Build) -> None:
    allow(build, CONTRACT, 100)
    allow(build, PAYER, 65)
    spend(build, START + 1, 20)
    spend(build, START + 2, 15)

    upgrade("contract_allowances")

    assert left() == {CONTRACT: 65, PAYER: 100}


def test_allowances_stay_between_nothing_and_what_was_granted(build: Build) -> None:
    allow(build, CONTRACT, 10)
    allow(build, PAYER, 95)
    spend(build, START + 1, 20)

    upgrade("contract_allowances")

    assert left() == {CONTRACT: 0, PAYER: 100}


def test_what_was_spent_before_a_grant_does_not_count_against_it(build: Build) -> None:
    allow(build, CONTRACT, 100, since=START + 5)
    spend(build, START + 1, 20)

    upgrade("contract_allowances")

    assert left() == {CONTRACT: 100}


def test_only_approved_transfers_of_the_token_system_contract_count(build: Build) -> None:
    allow(build, CONTRACT, 100)
    spend(build, START + 1, 20, approved=False)
    spend(build, START + 2, 20, contract=CONTRACT)

    upgrade("contract_allowances")

    assert left() == {CONTRACT: 100}


def test_many_are_moved_once_each_in_many_pieces(build: Build) -> None:
    allow(build, CONTRACT, 1000, granted=1000)
    for number in range(300):
        spend(build, START + 1 + number, 1)

    upgrade("contract_allowances")

    assert left() == {CONTRACT: 700}
