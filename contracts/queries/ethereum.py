"""The Ethereum transaction that a contract transaction wraps, in weibars.

Rows of an older release are in tinybars and without the lists until they are converted. Their `data` has
both, so that readers get the same of a row before and after that.
"""

from typing import NamedTuple

from mirror.core.db.reading.sql import Row
from mirror.core.values import ethereum
from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR, Access, Authorization, InvalidEthereumData

COLUMNS = """
    t.access_list, t.authorization_list, t.chain_id, t.gas_price, t.max_fee_per_gas,
    t.max_priority_fee_per_gas, t.nonce, t.recovery_id, t.signature_r, t.signature_s, t.signature_v,
    t.to_address, t.type, t.value, case when not t.in_weibars then t.data end
"""
COLUMNS_OF_ONE = "t.call_data, t.call_data_id, t.gas_limit"


class Ethereum(NamedTuple):
    """A row of ethereum_transaction; prices are unsigned, the value is signed.

    `unconverted` is the raw transaction of a row of an older release; the last three are only read for one
    result.
    """

    access_list: list[Access] | None
    authorization_list: list[Authorization] | None
    chain_id: bytes | None
    gas_price: bytes | None
    max_fee_per_gas: bytes | None
    max_priority_fee_per_gas: bytes | None
    nonce: int | None
    recovery_id: int | None
    signature_r: bytes
    signature_s: bytes
    signature_v: bytes | None
    to_address: bytes | None
    type: int
    value: bytes | None
    unconverted: bytes | None
    call_data: bytes | None = None
    call_data_id: int | None = None
    gas_limit: int | None = None


_TYPE = Ethereum._fields.index("type")


def from_row(row: Row) -> Ethereum | None:
    """Return the transaction in these columns of a left join; None if it found no row."""
    if row[_TYPE] is None:
        return None
    transaction = Ethereum(*row)
    return (
        transaction if transaction.unconverted is None else _converted(transaction, transaction.unconverted)
    )


def _converted(old: Ethereum, data: bytes) -> Ethereum:
    """Return a row of an older release as it is stored now."""
    try:
        decoded = ethereum.decode(data)
    except InvalidEthereumData:
        return old._replace(
            gas_price=_price(old.gas_price),
            max_fee_per_gas=_price(old.max_fee_per_gas),
            max_priority_fee_per_gas=_price(old.max_priority_fee_per_gas),
            value=ethereum.signed_bytes(_weibars(old.value)) if old.value else old.value,
        )
    return old._replace(
        access_list=decoded.access_list,
        authorization_list=decoded.authorization_list,
        gas_price=decoded.gas_price,
        max_fee_per_gas=decoded.max_fee_per_gas,
        max_priority_fee_per_gas=decoded.max_priority_fee_per_gas,
        value=ethereum.signed_bytes(decoded.value),
    )


def _price(tinybars: bytes | None) -> bytes | None:
    """Return a price in weibars; an absent or empty one stays so."""
    if not tinybars:
        return tinybars
    weibars = _weibars(tinybars)
    return weibars.to_bytes(max((weibars.bit_length() + 7) // 8, 1), "big")


def _weibars(tinybars: bytes) -> int:
    return int.from_bytes(tinybars, "big") * WEIBARS_PER_TINYBAR
