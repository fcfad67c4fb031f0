"""Calls of the network's system contracts over HTTP, next to an ERC-20 that is a contract of its own.

`python -m tests.benchmarks.system_contracts` starts a node with the demo network on a port of its own. One
client calls in turn: `balanceOf` of the demo's coin, the same of a token of the network, `getTokenInfo`, a
transfer through the token service. How many statements a view takes is tested next to the system contracts.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks.calls import _coin, _get, _node, _post
from tests.web3sim.system_contracts.calls import data_of

_TURNS, _UNTIMED = 400, 40
_SERVICE = f"0x{0x167:040x}"
_SUCCESS = f"0x{22:064x}"
_TRANSFER = "transferToken(address,address,address,int64)"


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        with _node(folder / "data") as (url, _):
            measure(url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(url: str) -> None:
    bodies = _bodies(url)
    took: dict[str, list[float]] = {name: [] for name in bodies}
    client = HTTPConnection(urlsplit(url).netloc)
    for lease in range(_TURNS + _UNTIMED):
        for name, body in bodies.items():
            began = time.perf_counter()
            client.request(
                "POST", "/api/v1/contracts/call", json.dumps(body), {"Content-Type": "application/json"}
            )
            answer = client.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            if lease >= _UNTIMED:
                took[name].append(time.perf_counter() - began)
    client.close()
    for name, times in took.items():
        p99 = statistics.quantiles(times, n=100)[98]
        print(f"{name:28} p50 {1000 * statistics.median(times):6.2f} ms   p99 {1000 * p99:6.2f} ms")


def _bodies(url: str) -> dict[str, dict[str, str]]:
    coin, holders = _coin(url)
    token, sender, receiver = _transferable(url)
    return {
        "balanceOf of a contract": _body(coin, data_of("balanceOf(address)", holders[0][-20:])),
        "balanceOf of a token": _body(_address(token), data_of("balanceOf(address)", _bytes(sender))),
        "getTokenInfo": _body(_SERVICE, data_of("getTokenInfo(address)", _bytes(token))),
        "transferToken": _transfer(token, sender, receiver),
    }


def _transferable(url: str) -> tuple[str, str, str]:
    """A token, a holder, and an account that may receive it."""
    for token, sender, receiver in _candidates(url):
        try:
            if _post(f"{url}/api/v1/contracts/call", _transfer(token, sender, receiver)) == _SUCCESS:
                return token, sender, receiver
        except OSError:
            # Such as custom fees that the sender can't pay.
            continue
    sys.exit("The demo network has no token that can be transferred.")


def _candidates(url: str) -> Iterator[tuple[str, str, str]]:
    for token in _get(f"{url}/api/v1/tokens?type=FUNGIBLE_COMMON&limit=25")["tokens"]:
        balances: list[dict[str, Any]] = _get(f"{url}/api/v1/tokens/{token['token_id']}/balances")["balances"]
        for held in balances:
            for other in balances:
                if held["balance"] and held is not other:
                    yield token["token_id"], held["account"], other["account"]


def _transfer(token: str, sender: str, receiver: str) -> dict[str, str]:
    data = data_of(_TRANSFER, _bytes(token), _bytes(sender), _bytes(receiver), 1)
    return _body(_SERVICE, data) | {"from": _address(sender)}


def _body(to: str, data: bytes) -> dict[str, str]:
    return {"to": to, "data": f"0x{data.hex()}"}


def _bytes(entity: str) -> bytes:
    return int(entity.rpartition(".")[2]).to_bytes(20)


def _address(entity: str) -> str:
    return f"0x{_bytes(entity).hex()}"


if __name__ == "__main__":
    main()
