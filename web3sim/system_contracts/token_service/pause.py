"""Tokens as a whole: pausing and deleting them."""

from collections.abc import Callable

from web3sim.engine.interface import Address
from web3sim.operations.prices import TOKEN_OPERATION
from web3sim.operations.signers import Signers
from web3sim.operations.tokens.pause import delete, pause, unpause
from web3sim.state.overlay import Overlay
from web3sim.system_contracts.abi import address_at
from web3sim.system_contracts.functions import SUCCESS, Function, Handler, Invocation, costs


def _of_token(operation: Callable[[Overlay, Signers, Address], None]) -> Handler:
    """Return the handler of an operation on the token that the only argument names."""

    def handler(invocation: Invocation) -> bytes:
        operation(invocation.ledger, invocation.signers, address_at(invocation.arguments, 0))
        return SUCCESS

    return handler


FUNCTIONS = tuple(
    Function(f"{name}(address)", _of_token(operation), gas=costs(TOKEN_OPERATION), writes=True)
    for name, operation in (("pauseToken", pause), ("unpauseToken", unpause), ("deleteToken", delete))
)
