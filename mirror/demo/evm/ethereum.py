"""Signed Ethereum transactions: legacy (EIP-155), and those with an access list (EIP-2930), a fee market
(EIP-1559) or delegations (EIP-7702).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import rlp

from mirror.core.values.ethereum import EIP_2930, EIP_7702, LEGACY, WEIBARS_PER_TINYBAR
from mirror.core.values.hashes import keccak256
from mirror.demo.evm.execution import CHAIN_ID
from mirror.demo.streams.keys import EcdsaWallet

_EIP_155 = 35 + 2 * CHAIN_ID
_AUTHORIZATION = b"\x05"  # precedes what the signature of a delegation covers


# An account that a transaction announces to use, with slots of its storage.
Access = tuple[bytes, tuple[int, ...]]


class Authorization(NamedTuple):
    """A signed delegation to the code at `address`, which holds if the signer's account has this nonce."""

    address: bytes
    nonce: int
    recovery_id: int
    r: int
    s: int


def authorize(wallet: EcdsaWallet, address: bytes, nonce: int) -> Authorization:
    """Sign a delegation to the code at an address."""
    signed = _AUTHORIZATION + rlp.encode([CHAIN_ID, address, nonce])
    return Authorization(address, nonce, *wallet.sign(keccak256(signed)))


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
    access_list: tuple[Access, ...] = ()
    authorizations: tuple[Authorization, ...] = ()

    def sign(self, wallet: EcdsaWallet) -> "SignedTransaction":
        # The signature of a legacy transaction covers the chain id as well, which is not sent.
        chain = [CHAIN_ID, b"", b""] if self.type == LEGACY else []
        digest = keccak256(_serialized(self.type, [*self.fields, *chain]))
        return SignedTransaction(self, *wallet.sign(digest))

    @property
    def fields(self) -> list[Any]:
        """The fields of the RLP list before the signature."""
        price = self.gas_price * WEIBARS_PER_TINYBAR
        prices = [price] if self.type in (LEGACY, EIP_2930) else [price // 10, price]
        value = self.value * WEIBARS_PER_TINYBAR
        fields: list[Any] = [self.nonce, *prices, self.gas, self.to, value, self.data]
        if self.type == LEGACY:
            return fields
        announced = [(to, [slot.to_bytes(32, "big") for slot in slots]) for to, slots in self.access_list]
        fields = [CHAIN_ID, *fields, announced]
        if self.type == EIP_7702:
            fields.append([(CHAIN_ID, *authorization) for authorization in self.authorizations])
        return fields


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
