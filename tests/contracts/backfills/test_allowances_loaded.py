"""Allowances spent by contracts: loaded by the older rule and upgraded, they are those of loading today."""

from typing import Any

import pytest
from django.db import connection

from tests.contracts.compose import ContractStream, function_result
from tests.ledger.compose import num
from tests.ledger.ingest.load import load
from tests.upgrading import upgrade

OWNER, PAYER, CONTRACT, RECEIVER, SYSTEM_CONTRACT = 1002, 1001, 2001, 1003, 359


def amounts(*pairs: tuple[int, int, bool]) -> list[dict[str, Any]]:
    return [
        {"accountID": num(account), "amount": amount, "is_approval": approved}
        for account, amount, approved in pairs
    ]


def stored() -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute("select spender, amount from crypto_allowance where owner = %s", [OWNER])
        return dict(cursor.fetchall())


@pytest.mark.usefixtures("ledger_tables")
def test_loading_by_the_older_rule_and_upgrading_gives_what_loading_gives_today() -> None:
    stream = ContractStream()
    granted = [{"owner": num(OWNER), "spender": num(spender), "amount": 100} for spender in (CONTRACT, PAYER)]
    stream.happen("cryptoApproveAllowance", {"cryptoAllowances": granted}, payer=OWNER)
    for amount in (20, 15):
        moved = {"accountAmounts": amounts((OWNER, -amount, True), (RECEIVER, amount, False))}
        ran = function_result(SYSTEM_CONTRACT, sender_id=num(CONTRACT))
        stream.happen(
            "cryptoTransfer",
            {"transfers": moved},
            record={"transferList": moved, "contractCallResult": ran},
            payer=PAYER,
        )
    load(stream.block())
    today = stored()
    assert today == {CONTRACT: 65, PAYER: 100}
    with connection.cursor() as cursor:
        cursor.execute(
            "update crypto_allowance set amount = case spender when %s then 100 else 65 end", [CONTRACT]
        )

    upgrade("contract_allowances")

    assert stored() == today
