"""How fast calls are simulated: `python -m tests.benchmarks.evm [--only NAME] [--node FOLDER]`.

One run: each case with the plain engine, with block translation (the first call of a code, and one whose
programs were translated before), and with @ethereumjs/evm where Node and its packages are found: after
`npm install` in tests/benchmarks/ethereumjs, or in a folder named by `--node`. State is in memory; times are
medians of whole calls, in seconds of a processor; gas is the execution's. Then the traps: the first call and
a later one may each take a tenth longer than plain, and no longer than @ethereumjs/evm.
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

from tests.benchmarks.evm_traps import CONTRACT, SENDER, Trap, traps
from web3sim.engine.interface import (
    AccountRecord,
    Address,
    BlockEnvironment,
    CallRequest,
    CallResult,
    Profile,
    Status,
)
from web3sim.engine.pyevm import PlainEngine
from web3sim.engine.translation.engine import TranslatedEngine

FOLDER = Path(__file__).parent
CONTRACTS = FOLDER / "evm_contracts" / "compiled.json"
NODE = FOLDER / "ethereumjs"
GAS, INTRINSIC = 30_000_000, 21_000
# What block translation has to reach against the plain engine.
TOKEN_RATIO, LOOP_RATIO = 4, 10
# How many times as long as the plain engine a trap may take.
TRAP_LIMIT = 1.1

TOKEN = bytes([0x70]) * 20
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


def run(engine: PlainEngine, world: World | Trap, gas: int = GAS) -> tuple[float, CallResult]:
    request = CallRequest(SENDER, CONTRACT, world.data, gas, profile=Profile.ETHEREUM)
    began = time.process_time()
    result = engine.execute(request, BLOCK, world)
    return time.process_time() - began, result


def measured(engine: PlainEngine, world: World, runs: int) -> tuple[float, CallResult]:
    times, results = zip(*(run(engine, world) for _ in range(runs)), strict=True)
    assert results[0].status is Status.SUCCESS, results[0]
    return median(times), results[0]


def described(name: str, world: World | Trap, gas: int, runs: int) -> dict[str, object]:
    """A case for `run.mjs`."""
    return {
        "name": name,
        "sender": "0x" + SENDER.hex(),
        "to": "0x" + CONTRACT.hex(),
        "data": "0x" + world.data.hex(),
        "gas": gas,
        "runs": runs,
        "accounts": {
            "0x" + address.hex(): {
                "balance": account.balance,
                "nonce": account.nonce,
                "code": "0x" + account.code.hex(),
                "storage": {
                    f"0x{slot:064x}": f"0x{value:064x}"
                    for slot, value in world.slots.get(address, {}).items()
                },
            }
            for address, account in world.accounts.items()
        },
    }


def node_results(given: list[dict[str, object]], packages: Path) -> dict[str, dict[str, float]]:
    """Gas and seconds by case; a sentence and nothing when Node or its packages are absent."""
    if shutil.which("node") is None or not (packages / "node_modules" / "@ethereumjs" / "evm").is_dir():
        print(f"Without @ethereumjs/evm: there is no `node`, or no packages in {packages}.")
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(given, file)
        file.flush()
        command = ["node", str(NODE / "run.mjs"), file.name, str(packages)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, dict[str, float]] = json.loads(printed)
    return found


def show_cases(given: list[Case], packages: Path) -> None:
    plain, translated = PlainEngine(), TranslatedEngine()
    others = node_results([described(case.name, World(case), GAS, case.runs) for case in given], packages)
    print("case                            gas       plain  translated   ratio  Mgas/s  @ethereumjs/evm")
    for case in given:
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


def show_traps(given: list[Trap], packages: Path) -> None:
    """Times of plain, of first calls, of later ones, and of @ethereumjs/evm, in turns."""
    plain = PlainEngine()
    cases = [described(trap.name, trap, trap.gas - INTRINSIC, trap.runs) for trap in given]
    others = node_results(cases, packages)
    print("trap                                   gas       plain   first call       later  @ethereumjs/evm")
    for trap in given:
        later = TranslatedEngine()
        times: dict[str, list[float]] = {"plain": [], "first": [], "later": []}
        for _ in range(trap.runs):
            engines = {"plain": plain, "first": TranslatedEngine(), "later": later}
            results = []
            for name, engine in engines.items():
                seconds, result = run(engine, trap, trap.gas)
                times[name].append(seconds)
                results.append(result)
            assert results[0] == results[1] == results[2], trap.name
        # The first of the later ones was a first call, too.
        slow, first, fast = (median(times["plain"]), median(times["first"]), median(times["later"][1:]))
        gas, slowest = results[0].execution_gas, max(first, fast)
        line = f"{trap.name:30} {gas:11,}" + "".join(f"{each * 1e3:9.1f} ms" for each in (slow, first, fast))
        verdict = "" if slowest <= slow * TRAP_LIMIT else f"  {slowest / slow:.2f} OF PLAIN"
        if other := others.get(trap.name):
            assert other["gas"] == gas, (trap.name, other["gas"])
            line += f"  {other['seconds'] * 1e3:9.1f} ms"
            if slowest > other["seconds"]:
                verdict += f"  {slowest / other['seconds']:.2f} OF @ethereumjs/evm"
        print(line + verdict, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", type=Path, default=NODE, help="folder with node_modules")
    parser.add_argument("--only", default="", help="cases and traps whose names have this in them")
    given = parser.parse_args()
    if chosen := [case for case in cases() if given.only in case.name]:
        show_cases(chosen, given.node)
    if found := [trap for trap in traps() if given.only in trap.name]:
        show_traps(found, given.node)


if __name__ == "__main__":
    main()
