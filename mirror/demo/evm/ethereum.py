"""Signed Ethereum transactions: legacy (EIP-155), with access list (EIP-2930), with fee market (EIP-1559)."""

from dataclasses import dataclass, replace

from mirror.demo.evm.state import CHAIN_ID
from mirror.demo.keys.wallet import EcdsaWallet
from mirror.values import rlp
from mirror.values.ethereum import EIP_1559, LEGACY, WEIBARS_PER_TINYBAR
from mirror.values.hashes import keccak256
from mirror.values.rlp import Element

_EIP_155 = 35 + 2 * CHAIN_ID
_NO_ACCESS = Element(True, b"")
_Value = int | bytes | Element


@dataclass(frozen=True, slots=True)
class EthereumTransaction:
    """What somebody signs. `to` is b"" for a creation; `value` and `gas_price` are tinybars."""

    type: int
    nonce: int
    gas_price: int
    gas: int
    to: bytes
    value: int
    data: bytes

    def sign(self, wallet: EcdsaWallet) -> "SignedTransaction":
        digest = keccak256(_whole(self.type, [*self._fields(), *self._chain()]))
        return SignedTransaction(self, *wallet.sign(digest))

    def _fields(self) -> list[_Value]:
        price = self.gas_price * WEIBARS_PER_TINYBAR
        prices = [price // 10, price] if self.type == EIP_1559 else [price]
        value = self.value * WEIBARS_PER_TINYBAR
        fields: list[_Value] = [self.nonce, *prices, self.gas, self.to, value, self.data]
        return fields if self.type == LEGACY else [CHAIN_ID, *fields, _NO_ACCESS]

    def _chain(self) -> list[_Value]:
        """What only the signature of a legacy transaction covers."""
        return [CHAIN_ID, b"", b""] if self.type == LEGACY else []


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A transaction with its signature: recovery id, r and s."""

    transaction: EthereumTransaction
    recovery_id: int
    r: int
    s: int

    @property
    def raw(self) -> bytes:
        """As it is sent: a byte for the type unless it is a legacy one, then RLP."""
        sent = self.transaction
        parity = self.recovery_id + _EIP_155 if sent.type == LEGACY else self.recovery_id
        return _whole(sent.type, [*sent._fields(), parity, self.r, self.s])

    @property
    def hash(self) -> bytes:
        return keccak256(self.raw)

    def without_data(self) -> "SignedTransaction":
        """As it is submitted while its call data is in a file."""
        return replace(self, transaction=replace(self.transaction, data=b""))


def _whole(type: int, values: list[_Value]) -> bytes:
    encoded = rlp.encode(Element(True, b"".join(map(_encoded, values))))
    return encoded if type == LEGACY else bytes((type,)) + encoded


def _encoded(value: _Value) -> bytes:
    if isinstance(value, int):
        value = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return rlp.encode(Element(False, value) if isinstance(value, bytes) else value)
