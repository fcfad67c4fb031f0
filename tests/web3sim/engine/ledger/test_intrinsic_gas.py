import pytest

from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas


@pytest.mark.parametrize(
    ("data", "creates", "gas"),
    [
        (b"", False, 21_000),
        (b"\0\1\0\2", False, 21_000 + 2 * 4 + 2 * 16),
        (b"", True, 53_000),
        (b"\1", True, 53_000 + 16 + 2),
        (bytes(32), True, 53_000 + 32 * 4 + 2),
        (bytes(33), True, 53_000 + 33 * 4 + 4),
    ],
)
def test_data_and_creation_are_paid_before_the_call(data, creates, gas):
    assert intrinsic_gas(data, creates=creates) == gas
