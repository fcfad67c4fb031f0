"""Rows that contract calls read: a block, people, and contracts by their code."""

from typing import Any

from tests.build import Build, insert
from tests.web3sim.engine.world import RETURN_TOP, code
from web3sim.calls.messages import Call
from web3sim.state.blocks import LATEST

CALLER, TREASURY = 1001, 2

#: Returns the word 42.
ANSWERS = code(42, *RETURN_TOP)
#: Jumps back for as long as there is gas.
ENDLESS = code("JUMPDEST", 0, "JUMP")
#: Fails without output.
REVERTS = code(0, 0, "REVERT")


def long_zero(num: int) -> bytes:
    return num.to_bytes(20, "big")


def hex_address(num: int) -> str:
    return f"0x{long_zero(num).hex()}"


def network(build: Build) -> None:
    """A block, the treasury and a rich account."""
    build.block(7)
    build.entity(TREASURY, balance=10**18)
    build.entity(CALLER, balance=10**16)


def contract(build: Build, num: int, runtime_code: bytes, **columns: Any) -> int:
    build.entity(num, type="CONTRACT", **columns)
    insert("contract", id=num, runtime_bytecode=runtime_code)
    return num


def asked(**given: Any) -> Any:
    """A `web3sim.calls.messages.Call` with defaults."""
    defaults: dict[str, Any] = {
        "block": LATEST,
        "data": b"",
        "sender": None,
        "to": None,
        "gas": 15_000_000,
        "gas_price": 0,
        "value": 0,
        "estimate": False,
        "engine": "pyevm",
        "deadline": float("inf"),
    }
    return Call(**(defaults | given))
