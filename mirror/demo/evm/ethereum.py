"""Signed Ethereum transactions: legacy (EIP-155), with access list (EIP-2930), with fee market (EIP-1559)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import rlp

from mirror.demo.evm.state import CHAIN_ID
from mirror.demo.keys.wallet import EcdsaWallet
from mirror.values.ethereum import EIP_1559, LEGACY, WEIBARS_PER_TINYBAR
from mirror.values.hashes import keccak256

_EIP_155 = 35 + 2 * CHAIN_ID


@dataclass(frozen=True, slots=True)
class EthereumTransaction:
    """An unsigned transaction. `to` is b"" for a creation; `value` and `gas_price` are tinybars."""

    type: int
    nonce: int
    gas_price: int
    gas: int
    to: bytes
    value: int
    data: bytes

    def sign(self, wallet: EcdsaWallet) -> "SignedTransaction":
        # The signature of a legacy transaction covers the chain id as well, which is not sent.
        chain = [CHAIN_ID, b"", b""] if self.type == LEGACY else []
        digest = keccak256(_serialized(self.type, [*self.fields, *chain]))
        return SignedTransaction(self, *wallet.sign(digest))

    @property
    def fields(self) -> list[Any]:
        """The fields of the RLP list before the signature."""
        price = self.gas_price * WEIBARS_PER_TINYBAR
        prices = [price // 10, price] if self.type == EIP_1559 else [price]
        value = self.value * WEIBARS_PER_TINYBAR
        fields: list[Any] = [self.nonce, *prices, self.gas, self.to, value, self.data]
        access_list: list[Any] = []
        return fields if self.type == LEGACY else [CHAIN_ID, *fields, access_list]


@dataclass(frozen=True)
class SignedTransaction:
    """A transaction with its signature: recovery id, r and s."""

    transaction: EthereumTransaction
    recovery_id: int
    r: int
    s: int

    @cached_property
    def raw(self) -> bytes:
        """The bytes that are sent: a byte for the type, unless it is a legacy transaction, then RLP."""
        sent = self.transaction
        parity = self.recovery_id + _EIP_155 if sent.type == LEGACY else self.recovery_id
        return _serialized(sent.type, [*sent.fields, parity, self.r, self.s])

    @property
    def hash(self) -> bytes:
        return keccak256(self.raw)

    def without_data(self) -> "SignedTransaction":
        """Return the transaction as it is submitted while its call data is in a file."""
        return replace(self, transaction=replace(self.transaction, data=b""))


def _serialized(type: int, fields: list[Any]) -> bytes:
    encoded: bytes = rlp.encode(fields)
    return encoded if type == LEGACY else bytes((type,)) + encoded
