"""The different values of a column."""

import pytest

from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.scans import distinct_values
from mirror.core.db.reading.sql import Where
from tests.build import insert


@pytest.fixture
def _results(db):
    for at, (contract, sender) in enumerate([(7, 3), (7, 3), (7, 5), (8, 4), (8, 9), (7, 9), (7, None)]):
        insert(
            "contract_result",
            consensus_timestamp=at,
            contract_id=contract,
            sender_id=sender,
            function_parameters=b"",
            gas_limit=1,
            payer_account_id=1,
            transaction_result=22,
        )


@pytest.mark.usefixtures("_results")
@pytest.mark.parametrize(
    ("within", "values"),
    [
        (Bounds(), [3, 4, 5, 9]),
        (Bounds(4, 5), [4, 5]),
        (Bounds(lower=6), [9]),
        (Bounds(upper=2), []),
        (Bounds(3, 9, unequal=frozenset({4})), [3, 5, 9]),
    ],
)
def test_values_within_a_range_are_found_once(within, values):
    assert distinct_values("contract_result", "sender_id", within, 4) == values


@pytest.mark.usefixtures("_results")
def test_values_may_be_those_of_some_rows():
    where = Where(("contract_id = %s",), (7,))
    assert distinct_values("contract_result", "sender_id", Bounds(), 4, where=where) == [3, 5, 9]


@pytest.mark.usefixtures("_results")
def test_too_many_values_are_not_named():
    assert distinct_values("contract_result", "sender_id", Bounds(), 3) is None
