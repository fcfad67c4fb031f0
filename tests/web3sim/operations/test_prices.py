"""What operations cost in gas."""

from dataclasses import replace

from web3sim.operations.prices import WITHOUT_FILES


def test_a_network_whose_gas_is_free_asks_for_as_much_of_it():
    """The price of gas is what a price in dollars is divided by."""
    free = replace(WITHOUT_FILES, scheduled=0)
    assert free.gas_of_view == WITHOUT_FILES.gas_of_view == 2607
    assert free.gas == 1
