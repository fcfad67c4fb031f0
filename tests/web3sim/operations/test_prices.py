"""What operations cost in gas."""

from dataclasses import replace

from web3sim.operations.prices import WITHOUT_FILES


def test_free_gas_does_not_change_the_gas_of_operations():
    """The price of gas is what a price in dollars is divided by."""
    free = replace(WITHOUT_FILES, scheduled=0)
    assert free.gas_of_view == WITHOUT_FILES.gas_of_view == 2607
    assert free.gas == 1
