"""The compiled contracts of `mirror/demo/contracts`, and the data that calls them."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eth_abi.abi import encode

from mirror.core.values.hashes import keccak256

FOLDER = Path(__file__).parents[1] / "contracts"


@dataclass(frozen=True, slots=True)
class CompiledContract:
    """A compiled contract.

    `creation` is its init code without constructor arguments, `runtime` the code that is deployed, and
    `selectors` maps the signature of a function to its selector in hex.
    """

    name: str
    creation: bytes
    runtime: bytes
    abi: list[dict[str, Any]]
    selectors: dict[str, str]

    def arguments(self, *values: object) -> bytes:
        parameters = [
            parameter for entry in self.abi if entry["type"] == "constructor" for parameter in entry["inputs"]
        ]
        return encode([parameter["type"] for parameter in parameters], values)


@cache
def compiled(name: str) -> CompiledContract:
    """Return a contract by its Solidity name. Errors: KeyError."""
    contract = _file()["contracts"][name]
    creation, runtime = bytes.fromhex(contract["creation"]), bytes.fromhex(contract["runtime"])
    return CompiledContract(name, creation, runtime, contract["abi"], contract["selectors"])


@cache
def kinds() -> dict[bytes, str]:
    """Map the runtime code of each contract to its Solidity name."""
    return {bytes.fromhex(contract["runtime"]): name for name, contract in _file()["contracts"].items()}


def call_data(signature: str, *arguments: object) -> bytes:
    """Return the data that calls a function such as `transfer(address,uint256)`."""
    types = signature[signature.index("(") + 1 : -1]
    return keccak256(signature.encode())[:4] + encode(types.split(",") if types else (), arguments)


@cache
def _file() -> Any:
    return json.loads((FOLDER / "compiled.json").read_text())
