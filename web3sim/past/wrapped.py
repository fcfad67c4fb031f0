"""The Ethereum transaction that a past transaction carried.

Source: ethereum_transaction. Its `data` is exact also in rows of an older release, whose other columns hold
tinybars.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirror.core.values import ethereum
from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR, InvalidEthereumData
from web3sim.engine.interface import Address


@dataclass(frozen=True, slots=True)
class Wrapped:
    """An Ethereum transaction. `value` is in tinybars, None if it is unknown."""

    gas_limit: int
    to_address: Address | None
    call_data: bytes | None
    call_data_id: int | None
    value: int | None
    nonce: int


def from_row(columns: Sequence[Any]) -> Wrapped:
    """Return the transaction in a row, decoded from `data`; from the other columns if that is invalid."""
    data, gas_limit, to_address, call_data, call_data_id, value, in_weibars, nonce = columns
    try:
        decoded = ethereum.decode(data)
    except InvalidEthereumData:
        unit = WEIBARS_PER_TINYBAR if in_weibars else 1
        amount = int.from_bytes(value, "big") // unit if value else None
        return Wrapped(gas_limit, to_address, call_data, call_data_id, amount, nonce)
    return Wrapped(
        decoded.gas_limit,
        decoded.to_address,
        decoded.call_data or call_data,
        call_data_id,
        decoded.value // WEIBARS_PER_TINYBAR,
        decoded.nonce,
    )
