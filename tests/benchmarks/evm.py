"""How fast calls are simulated: `python -m tests.benchmarks.evm [--node FOLDER]`.

One run: each case with the plain engine, with block translation (its programs translated before), and with
@ethereumjs/evm where Node and its packages are found: after `npm install` in tests/benchmarks/ethereumjs, or
in a folder named by `--node`. State is in memory; times are medians of whole calls, gas is the execution's.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from Crypto.Hash import keccak

from web3sim.engine.plain import PlainEngine
from web3sim.engine.seam import (
    AccountRecord,
    Address,
    BlockEnvironment,
    CallRequest,
    CallResult,
    Profile,
    Status,
)
from web3sim.engine.translation import TranslatedEngine

FOLDER = Path(__file__).parent
CONTRACTS = FOLDER / "evm_contracts" / "compiled.json"
NODE = FOLDER / "ethereumjs"
GAS = 30_000_000
# What is asked of block translation against the plain engine.
TOKEN_RATIO, LOOP_RATIO = 4, 10

SENDER, CONTRACT, TOKEN = (bytes([number]) * 20 for number in (0xAA, 0xC0, 0x70))
BLOCK = BlockEnvironment(1000, 1_700_000_000, b"\x98" * 20, b"\x77" * 32, 30_000_000, 298)


@dataclass
class Case:
    """A call of a function; `runs` is how often it's measured."""

    contract: str
    function: str
    arguments: tuple[int, ...]
    runs: int
    ratio: int
    slots: dict[Address, dict[int, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.contract}.{self.function.partition('(')[0]}"


def _entry(key: bytes, mapping: int) -> int:
    """The slot of a mapping's entry, as Solidity places it."""
    text = key.rjust(32, b"\0") + mapping.to_bytes(32, "big")
    return int.from_bytes(keccak.new(digest_bits=256, data=text).digest(), "big")


def cases() -> list[Case]:
    # Points: slot 0 is the supply, the mapping at 1 holds the balances.
    rich = {0: 10**12, _entry(SENDER, 1): 10**9, _entry(CONTRACT, 1): 10**9}
    return [
        Case("Points", "totalSupply()", (), 300, TOKEN_RATIO, {CONTRACT: rich}),
        Case("Points", "balanceOf(address)", (int.from_bytes(SENDER),), 300, TOKEN_RATIO, {CONTRACT: rich}),
        Case("Points", "transfer(address,uint256)", (0x77, 5), 300, TOKEN_RATIO, {CONTRACT: rich}),
        Case("Points", "spread(uint256)", (200,), 11, TOKEN_RATIO, {CONTRACT: rich}),
        Case(
            "Courier",
            "deliver(address,uint256)",
            (int.from_bytes(TOKEN), 200),
            11,
            TOKEN_RATIO,
            {TOKEN: rich},
        ),
        Case("Loops", "hashes(uint256)", (10_000,), 3, LOOP_RATIO),
        Case("Loops", "hashesAssembly(uint256)", (50_000,), 3, LOOP_RATIO),
        Case("Loops", "arithmetic(uint256)", (20_000,), 3, LOOP_RATIO),
        Case("Loops", "memoryWords(uint256)", (5_000,), 3, LOOP_RATIO),
        Case("Loops", "fibonacci(uint256)", (50_000,), 3, LOOP_RATIO),
    ]


class World:
    """The state of a case, in memory."""

    def __init__(self, case: Case) -> None:
        compiled = json.loads(CONTRACTS.read_text())["contracts"]
        code = bytes.fromhex(compiled[case.contract]["runtime"])
        token = bytes.fromhex(compiled["Points"]["runtime"])
        self.accounts = {
            SENDER: AccountRecord(balance=10**18),
            CONTRACT: AccountRecord(nonce=1, code=code),
            TOKEN: AccountRecord(nonce=1, code=token),
        }
        self.slots = case.slots
        words = b"".join(argument.to_bytes(32, "big") for argument in case.arguments)
        self.data = bytes.fromhex(compiled[case.contract]["selectors"][case.function]) + words

    def account(self, address: Address) -> AccountRecord | None:
        return self.accounts.get(address)

    def slot(self, address: Address, slot: int) -> int:
        return self.slots.get(address, {}).get(slot, 0)

    def block_hash(self, number: int) -> bytes:
        return bytes(32)


def measured(engine: PlainEngine, world: World, runs: int) -> tuple[float, CallResult]:
    request = CallRequest(SENDER, CONTRACT, world.data, GAS, profile=Profile.ETHEREUM)
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        result = engine.execute(request, BLOCK, world)
        times.append(time.perf_counter() - began)
    assert result.status is Status.SUCCESS, result
    return median(times), result


def node_results(given: list[Case], packages: Path) -> dict[str, dict[str, float]]:
    """Gas and seconds by case; a sentence and nothing when Node or its packages are absent."""
    if shutil.which("node") is None or not (packages / "node_modules" / "@ethereumjs" / "evm").is_dir():
        print(f"Without @ethereumjs/evm: there is no `node`, or no packages in {packages}.")
        return {}
    described = []
    for case in given:
        world = World(case)
        described.append(
            {
                "name": case.name,
                "sender": "0x" + SENDER.hex(),
                "to": "0x" + CONTRACT.hex(),
                "data": "0x" + world.data.hex(),
                "gas": GAS,
                "runs": case.runs,
                "accounts": {
                    "0x" + address.hex(): {
                        "balance": account.balance,
                        "nonce": account.nonce,
                        "code": "0x" + account.code.hex(),
                        "storage": {
                            f"0x{slot:064x}": f"0x{value:064x}"
                            for slot, value in case.slots.get(address, {}).items()
                        },
                    }
                    for address, account in world.accounts.items()
                },
            }
        )
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(described, file)
        file.flush()
        command = ["node", str(NODE / "run.mjs"), file.name, str(packages)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, dict[str, float]] = json.loads(printed)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", type=Path, default=NODE, help="folder with node_modules")
    given = parser.parse_args()

    plain, translated = PlainEngine(), TranslatedEngine()
    others = node_results(cases(), given.node)
    print("case                            gas       plain  translated   ratio  Mgas/s  @ethereumjs/evm")
    for case in cases():
        world = World(case)
        slow, expected = measured(plain, world, min(case.runs, 100))
        # The first runs interpret, then translate.
        measured(translated, world, 20 if case.runs > 100 else 2)
        fast, result = measured(translated, world, case.runs)
        assert result == expected
        gas, ratio = result.execution_gas, slow / fast
        line = f"{case.name:24} {gas:10,} {slow * 1e3:8.3f} ms {fast * 1e3:8.3f} ms {ratio:6.1f}x"
        line += f" {gas / fast / 1e6:7.1f}"
        if other := others.get(case.name):
            assert other["gas"] == gas
            seconds = other["seconds"]
            line += f"  {seconds * 1e3:8.3f} ms {gas / seconds / 1e6:8.1f} Mgas/s {seconds / fast:6.1f}x"
        print(line + ("" if ratio >= case.ratio else f"  LESS THAN {case.ratio}x"), flush=True)


if __name__ == "__main__":
    main()
