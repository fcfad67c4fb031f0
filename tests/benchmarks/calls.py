"""Contract calls of a demo network, over HTTP: of a contract's own ERC-20, and of the network's contracts."""

import json
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.web3sim.system_contracts.calls import data_of

_SERVICE = f"0x{0x167:040x}"
_SUCCESS = f"0x{22:064x}"
_TRANSFER = "transferToken(address,address,address,int64)"


def bodies(url: str) -> dict[str, dict[str, str]]:
    coin, holders = _coin(url)
    token, sender, receiver = _transferable(url)
    return {
        "balanceOf of a contract": _body(coin, data_of("balanceOf(address)", holders[0][-20:])),
        "balanceOf of a token": _body(_address(token), data_of("balanceOf(address)", _bytes(sender))),
        "getTokenInfo": _body(_SERVICE, data_of("getTokenInfo(address)", _bytes(token))),
        "transferToken": _transfer(token, sender, receiver),
    }


def _coin(url: str) -> tuple[str, list[bytes]]:
    """The address of the demo's busiest ERC-20, and words of the accounts whose balance is requested."""
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    logs = get(f"{url}/api/v1/contracts/results/logs?limit=100")["logs"]
    coins = Counter(
        log["contract_id"] for log in logs if log["topics"][:1] == [transfer] and len(log["topics"]) == 3
    )
    accounts = get(f"{url}/api/v1/accounts?limit=100&balance=false")["accounts"]
    holders = [bytes.fromhex(account["evm_address"][2:]).rjust(32, b"\0") for account in accounts]
    for contract, _ in coins.most_common():
        try:
            found = get(f"{url}/api/v1/contracts/{contract}")
        except OSError:
            # Tokens of the network have such logs, too.
            continue
        if found.get("runtime_bytecode", "0x") != "0x":
            return found["evm_address"], holders
    sys.exit("The demo network has no coin.")


def get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def _post(url: str, body: dict[str, str]) -> str:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["result"])


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
    for token in get(f"{url}/api/v1/tokens?type=FUNGIBLE_COMMON&limit=25")["tokens"]:
        balances: list[dict[str, Any]] = get(f"{url}/api/v1/tokens/{token['token_id']}/balances")["balances"]
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
