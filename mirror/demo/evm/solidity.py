"""The compiled contracts of the simulated network; their sources are in `contracts/`, one folder up."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "contracts"


@dataclass(frozen=True, slots=True)
class Compiled:
    """`creation` is the init code, to which constructor arguments are appended; `runtime` what it leaves.

    `selectors` maps signatures to the four bytes calls begin with, in hex.
    """

    name: str
    creation: bytes
    runtime: bytes
    abi: list[dict[str, Any]]
    selectors: dict[str, str]


@cache
def compiled(name: str) -> Compiled:
    """A contract by its Solidity name. Errors: KeyError."""
    given = _file()["contracts"][name]
    return Compiled(
        name,
        bytes.fromhex(given["creation"]),
        bytes.fromhex(given["runtime"]),
        given["abi"],
        given["selectors"],
    )


@cache
def kinds() -> dict[bytes, str]:
    """The Solidity name of a contract by its runtime code."""
    return {bytes.fromhex(given["runtime"]): name for name, given in _file()["contracts"].items()}


@cache
def _file() -> Any:
    return json.loads((FOLDER / "compiled.json").read_text())
