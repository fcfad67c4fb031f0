"""The Ethereum transaction that a past transaction carried.

Source: ethereum_transaction. Its `data` tells all exactly, also in rows of an older release, whose other
columns hold tinybars.
"""

from dataclasses import dataclass

from mirror.values import ethereum
from mirror.values.ethereum import WEIBARS_PER_TINYBAR, InvalidEthereumData
from web3sim.engine.interface import Address


@dataclass(frozen=True, slots=True)
class Wrapped:
    """`value` is in tinybars; None where nothing tells it."""

    gas_limit: int
    to_address: Address | None
    call_data: bytes | None
    call_data_id: int | None
    value: int | None
    nonce: int


def wrapped_of(
    data: bytes,
    gas_limit: int,
    to_address: bytes | None,
    call_data: bytes | None,
    call_data_id: int | None,
    value: bytes | None,
    in_weibars: bool,
    nonce: int,
) -> Wrapped:
    """From the columns of a row: what the bytes tell, or where they can't be read what the others do."""
    try:
        told = ethereum.decode(data)
    except InvalidEthereumData:
        unit = WEIBARS_PER_TINYBAR if in_weibars else 1
        amount = int.from_bytes(value, "big") // unit if value else None
        return Wrapped(gas_limit, to_address, call_data, call_data_id, amount, nonce)
    return Wrapped(
        told.gas_limit,
        told.to_address,
        told.call_data or call_data,
        call_data_id,
        told.value // WEIBARS_PER_TINYBAR,
        told.nonce,
    )
