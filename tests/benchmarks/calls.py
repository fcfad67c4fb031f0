"""Contract calls over HTTP, ours next to @ethereumjs/evm on the same database.

`python -m tests.benchmarks.calls` starts a node with the demo network on ports of its own; then one client,
and sixteen at once, call `balanceOf` of the demo's coin on both servers. Needs `wrk`, Node, and `npm install`
in tests/benchmarks/ethereumjs.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from tests.node import free_port

ROOT = Path(__file__).resolve().parents[2]
COMPARISON = Path(__file__).parent / "ethereumjs"
SECONDS = 8
_BALANCE_OF = bytes.fromhex("70a08231")
_POST = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local bodies = {%s}
local turn = 0
request = function()
  turn = turn %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[turn])
end
"""


def main() -> None:
    for program in ("wrk", "node"):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: install it first.")
    if not (COMPARISON / "node_modules").is_dir():
        sys.exit(f"The packages of the comparison are missing: npm install --prefix {COMPARISON}")
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        with _node(folder / "data") as (url, server), _comparison(server) as other:
            measure(url, other)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(url: str, other: str) -> None:
    coin, holders = _coin(url)
    bodies = [{"to": coin, "data": "0x" + (_BALANCE_OF + holder).hex()} for holder in holders]
    script = Path(tempfile.mkstemp(suffix=".lua")[1])
    script.write_text(_POST % ",".join(f"'{json.dumps(body)}'" for body in bodies))
    targets = {"ours": f"{url}/api/v1/contracts/call", "@ethereumjs/evm": f"{other}/"}
    for body in bodies[:3]:
        answers = {name: _post(target, body) for name, target in targets.items()}
        assert len(set(answers.values())) == 1, answers
    print(f"balanceOf of {len(bodies)} holders of {coin}, {SECONDS} s each")
    for clients in (1, 16):
        for name, target in targets.items():
            _wrk(script, target, clients, 2)
            rate, p50, p99 = _wrk(script, target, clients, SECONDS)
            print(f"{clients:3} clients {name:16} {rate:8,.0f} requests/s   p50 {p50:>8}   p99 {p99:>8}")
    script.unlink()


def _wrk(script: Path, target: str, clients: int, seconds: int) -> tuple[float, str, str]:
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency", "-s", str(script), target]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    found = [
        re.search(pattern, said)
        for pattern in (r"Requests/sec:\s+(\S+)", r"\s50%\s+(\d\S+)", r"\s99%\s+(\d\S+)")
    ]
    rate, p50, p99 = (match[1] if match else "" for match in found)
    return float(rate), p50, p99


def _coin(url: str) -> tuple[str, list[bytes]]:
    """The address of the demo's busiest ERC-20, and words of the accounts whose balance is requested."""
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    logs = _get(f"{url}/api/v1/contracts/results/logs?limit=100")["logs"]
    coins = Counter(
        log["contract_id"] for log in logs if log["topics"][:1] == [transfer] and len(log["topics"]) == 3
    )
    accounts = _get(f"{url}/api/v1/accounts?limit=100&balance=false")["accounts"]
    holders = [bytes.fromhex(account["evm_address"][2:]).rjust(32, b"\0") for account in accounts]
    for contract, _ in coins.most_common():
        try:
            found = _get(f"{url}/api/v1/contracts/{contract}")
        except OSError:
            # Tokens of the network have such logs, too.
            continue
        if found.get("runtime_bytecode", "0x") != "0x":
            return found["evm_address"], holders
    sys.exit("The demo network has no coin.")


def _get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def _post(url: str, body: dict[str, str]) -> str:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["result"])


@contextmanager
def _node(data: Path) -> Iterator[tuple[str, Server]]:
    data.mkdir(mode=0o755)
    port = free_port()
    environment = os.environ | {
        "SVC_MIRROR_DATA": str(data),
        "PORT": str(port),
        "SVC_MIRROR_WEB3_THROTTLE_REQUESTSPERSECOND": "1000000",
        # Of the gas that a call reserves almost all is given back, but many are under way at once.
        "SVC_MIRROR_WEB3_THROTTLE_GASUNIT": "1000",
    }
    with (data / "output").open("wb") as output:
        node = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    try:
        deadline = time.monotonic() + 60
        while "Ctrl-C stops" not in (data / "output").read_text():
            if node.poll() is not None or time.monotonic() > deadline:
                sys.exit((data / "output").read_text())
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", Server(server_paths(data))
    finally:
        node.terminate()
        node.wait(60)


@contextmanager
def _comparison(server: Server) -> Iterator[str]:
    port = free_port()
    arguments = [str(server.paths.socket), DATABASE, ROLE, str(port)]
    process = subprocess.Popen(["node", "server.mjs", *arguments], cwd=COMPARISON)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
