"""Who has signed a simulated operation.

A simulation has no signatures. All keys of people count as having signed; the id of a contract
counts where the contract itself called, and one that may be delegated also where the contract ran the code of
another one.
"""

from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import DecodeError, Key
from web3sim.state.tables.interface import Entity

_OF_PEOPLE = frozenset({"ed25519", "ECDSA_secp256k1", "ECDSA_384", "RSA_3072"})


class Signers:
    """`sender_id` is the account or contract that called; None if it is not known."""

    def __init__(self, sender_id: int | None, sender_address: bytes, *, delegated: bool) -> None:
        self.sender_id, self._address, self._delegated = sender_id, sender_address, delegated

    def has_signed(self, account: Entity) -> bool:
        """Return whether an account agrees: the one that called does; one without a key does, too."""
        if account.id == self.sender_id:
            return True
        if account.key is None:
            return account.type != "CONTRACT"
        return self.is_active(account.key)

    def is_active(self, key: bytes | None) -> bool:
        """Return whether a serialized key has signed; none and an empty one never have."""
        if not key:
            return False
        try:
            return self._is_active(Key.FromString(key))
        except DecodeError:
            return False

    def _is_active(self, key: Any) -> bool:
        kind = key.WhichOneof("key")
        if kind in _OF_PEOPLE:
            return True
        if kind == "contractID":
            return not self._delegated and self._is_sender(key.contractID)
        if kind == "delegatable_contract_id":
            return self._is_sender(key.delegatable_contract_id)
        if kind == "keyList":
            return bool(key.keyList.keys) and all(map(self._is_active, key.keyList.keys))
        if kind == "thresholdKey":
            active = sum(map(self._is_active, key.thresholdKey.keys.keys))
            return bool(active >= max(key.thresholdKey.threshold, 1))
        return False

    def _is_sender(self, contract: Any) -> bool:
        if contract.WhichOneof("contract") == "evm_address":
            return bool(contract.evm_address == self._address)
        return entity_id.of_contract(contract) == self.sender_id
