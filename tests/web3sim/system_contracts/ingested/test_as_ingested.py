"""Each function that changes something leaves the rows that ingesting its transaction makes."""

import pytest

from tests.web3sim.system_contracts.ingested.changes import APPROVALS, CHANGES
from tests.web3sim.system_contracts.ingested.comparison import differences
from tests.web3sim.system_contracts.ingested.entities import ACCOUNTS, CREATIONS, OLDER_CHANGES, SCHEDULES
from tests.web3sim.system_contracts.ingested.moves import AIRDROPS, SUPPLY, TRANSFERS
from web3sim.system_contracts.contracts import SERVICES

CASES = [
    *(*CHANGES, *OLDER_CHANGES, *APPROVALS, *SUPPLY, *TRANSFERS, *AIRDROPS),
    *(*CREATIONS, *SCHEDULES, *ACCOUNTS),
]
#: Compared with what its keys have signed: tests of the schedule service.
_NOT_COMPARED = "signSchedule(address,bytes)"


@pytest.mark.usefixtures("ledger_tables")
def test_a_call_changes_the_rows_that_its_transaction_does() -> None:
    assert differences(CASES) == {}


def test_each_function_that_changes_something_is_compared() -> None:
    writing = {
        (address, function.signature, bool(at_own_address))
        for address, service in SERVICES.items()
        for at_own_address, functions in enumerate((service.functions, service.proxy_functions))
        for function in functions.values()
        if function.writes and function.signature != _NOT_COMPARED
    }

    assert {(case.service, case.signature, case.target is not None) for case in CASES} == writing
