"""The ledger's rules from version 0.70 on: BLS12-381, and code delegations (EIP-7702, HIP-1340)."""

from typing import Any

from eth.abc import ComputationAPI
from eth.vm import mnemonics
from eth.vm import opcode_values as op
from eth.vm.forks.berlin import logic
from eth.vm.forks.prague.computation import PragueComputation
from eth_typing import Address

from web3sim.engine.interface import get_delegate
from web3sim.engine.ledger.bls12_381 import BLS12_381
from web3sim.engine.ledger.computation import LedgerComputation
from web3sim.engine.ledger.ledger_operations import CheckedCall
from web3sim.engine.precompiles import PRECOMPILES
from web3sim.engine.state import LedgerEngineState
from web3sim.engine.versions import V070, V077, EvmVersion

VERSIONS = (V070, V077)


class _Delegating(logic.BaseCallEIP2929):
    """A call that also pays for access to the delegate, whose code its frame runs."""

    def get_code_at_address(
        self, computation: ComputationAPI, code_source: Address
    ) -> tuple[bytes, Address | None]:
        code, _ = super().get_code_at_address(computation, code_source)
        if (delegate := get_delegate(code)) is not None:
            self.consume_account_load_gas(computation, Address(delegate))
        return code, None


def _delegating(code: int, mnemonic: str, operation: type) -> CheckedCall:
    call: Any = type(operation.__name__, (_Delegating, operation), {})
    return CheckedCall(call.configure(__name__=f"opcode:{mnemonic}", mnemonic=mnemonic, gas_cost=0)())


_CALLS = {
    code: _delegating(code, mnemonic, kind)
    for code, mnemonic, kind in (
        (op.CALL, mnemonics.CALL, logic.CallEIP2929),
        (op.CALLCODE, mnemonics.CALLCODE, logic.CallCodeEIP2929),
        (op.DELEGATECALL, mnemonics.DELEGATECALL, logic.DelegateCallEIP2929),
        (op.STATICCALL, mnemonics.STATICCALL, logic.StaticCallEIP2929),
    )
}


def prague(base: type[LedgerComputation], version: EvmVersion) -> type[LedgerComputation]:
    """Return the frames of a version from 0.70 on."""
    state = type(
        "PragueState",
        (LedgerEngineState,),
        # The library's computation only names the precompiled contracts, which are warm.
        {"version": version, "follows_delegations": True, "computation_class": PragueComputation},
    )
    return type(
        base.__name__,
        (base,),
        {"opcodes": base.opcodes | _CALLS, "_precompiles": PRECOMPILES | BLS12_381, "state_class": state},
    )
