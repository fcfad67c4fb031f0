import pytest
from eth.exceptions import OutOfGas, ReservedBytesInCode, Revert, VMError, WriteProtection

from web3sim.engine.halts import ExceptionalHalt, get_halt
from web3sim.engine.interface import Halt


@pytest.mark.parametrize(
    ("error", "halt"),
    [
        (OutOfGas(), Halt.OUT_OF_GAS),
        (WriteProtection(), Halt.STATIC_CHANGE),
        (ExceptionalHalt(Halt.INVALID_ALIAS), Halt.INVALID_ALIAS),
        (ReservedBytesInCode(), Halt.CODE_SIZE_LIMIT),
        (VMError(), Halt.OTHER),
    ],
    ids=lambda given: given.value if isinstance(given, Halt) else type(given).__name__,
)
def test_an_error_of_the_library_is_a_halt(error, halt):
    assert get_halt(error) is halt


def test_a_revert_is_no_halt():
    with pytest.raises(TypeError, match="not a halt"):
        get_halt(Revert())
