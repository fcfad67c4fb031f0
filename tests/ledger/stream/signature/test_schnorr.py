"""The curve of the keys that a ledger's nodes prove their first address book with."""

from ledger.stream.signature.verify_proof import FIELD, GENERATOR, GROUP, NEUTRAL, add, times


def test_a_multiple_of_a_point_is_its_sum():
    total = NEUTRAL
    for factor in range(20):
        assert times(GENERATOR, factor) == total
        total = add(total, GENERATOR)


def test_multiples_repeat_after_the_order_of_the_group():
    assert times(GENERATOR, GROUP) == NEUTRAL
    assert times(GENERATOR, GROUP + 3) == times(GENERATOR, 3)
    assert times((0, FIELD - 1), 2) == NEUTRAL
