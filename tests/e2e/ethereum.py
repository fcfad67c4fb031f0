"""Ethereum transactions in the API, decoded from the bytes that were signed."""

from typing import Any

import rlp

WEIBARS = 10_000_000_000  # in a tinybar
_EIP_155 = 35
# The names of the elements by type.
_FEE_MARKET = (
    "chain_id",
    "nonce",
    "max_priority_fee_per_gas",
    "max_fee_per_gas",
    "gas",
    "to",
    "value",
    "data",
)
_ELEMENTS = {
    0: ("nonce", "gas_price", "gas", "to", "value", "data", "v", "r", "s"),
    1: ("chain_id", "nonce", "gas_price", "gas", "to", "value", "data", "access_list", "parity", "r", "s"),
    2: (*_FEE_MARKET, "access_list", "parity", "r", "s"),
    4: (*_FEE_MARKET, "access_list", "authorization_list", "parity", "r", "s"),
}


def record(raw: bytes, *, hbar: bool, single: bool) -> dict[str, Any]:
    """Return the members of a contract result that its Ethereum transaction decides.

    Amounts are tinybars if `hbar`, else weibars. Only a `single` result shows the delegations.
    """
    kind = raw[0] if raw[0] in _ELEMENTS else 0
    sent = dict(zip(_ELEMENTS[kind], rlp.decode(raw[1:] if kind else raw), strict=True))
    unit = WEIBARS if hbar else 1
    v = _number(sent.get("v", b""))
    chain = _number(sent["chain_id"]) if kind else (v - _EIP_155) // 2
    shown = {
        "type": kind,
        "chain_id": hex(chain),
        "nonce": _number(sent["nonce"]),
        "amount": _number(sent["value"]) // unit,
        "gas_limit": _number(sent["gas"]),
        "access_list": [
            {"address": _hex(address, 40), "storage_keys": [_hex(key, 64) for key in keys]}
            for address, keys in sent.get("access_list", [])
        ],
        "r": _hex(sent["r"], 0),
        "s": _hex(sent["s"], 0),
    }
    for name in ("gas_price", "max_fee_per_gas", "max_priority_fee_per_gas"):
        shown[name] = hex(_number(sent[name]) // unit) if name in sent else "0x"
    if sent["to"]:
        shown["to"] = _hex(sent["to"], 40)
    if single:
        shown["authorization_list"] = [
            {
                "address": _hex(address, 40),
                "chain_id": hex(_number(chain_id)),
                "nonce": _number(nonce),
                "r": _hex(r, 64),
                "s": _hex(s, 64),
                "y_parity": hex(_number(parity)),
            }
            for chain_id, address, nonce, parity, r, s in sent.get("authorization_list", [])
        ]
    return shown


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _hex(data: bytes, digits: int) -> str:
    return f"0x{data.hex():0>{digits}}"
