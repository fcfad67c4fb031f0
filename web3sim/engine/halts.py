"""Exceptional halts: those of the library as the interface names them, and those that ledger rules cause."""

from eth import exceptions
from eth.exceptions import VMError

from web3sim.engine.interface import Halt

_HALTS: dict[type[VMError], Halt] = {
    exceptions.OutOfGas: Halt.OUT_OF_GAS,
    exceptions.InsufficientStack: Halt.STACK_UNDERFLOW,
    exceptions.FullStack: Halt.STACK_OVERFLOW,
    exceptions.InvalidJumpDestination: Halt.INVALID_JUMP,
    exceptions.InvalidInstruction: Halt.INVALID_OPCODE,
    exceptions.WriteProtection: Halt.STATIC_CHANGE,
    exceptions.OutOfBoundsRead: Halt.RETURN_DATA_OUT_OF_BOUNDS,
    exceptions.ContractCreationCollision: Halt.CREATION_COLLISION,
    # Code that may not be deployed, as too large code (EIP-3541).
    exceptions.ReservedBytesInCode: Halt.CODE_SIZE_LIMIT,
}


class ExceptionalHalt(VMError):
    """A halt with its reason. With `ends_call` every frame above halts for the same reason."""

    def __init__(self, halt: Halt, *, ends_call: bool = False) -> None:
        super().__init__(halt.value)
        self.halt = halt
        self.ends_call = ends_call


def get_halt(error: VMError) -> Halt:
    """Return why a frame halted. Errors: TypeError for a revert, which is no halt."""
    if isinstance(error, exceptions.Revert):
        raise TypeError("A revert is not a halt.")
    if isinstance(error, ExceptionalHalt):
        return error.halt
    return _HALTS.get(type(error), Halt.OTHER)
