"""Keys of a token as contracts name them: a list of pairs of the kinds of keys and a value.

A value is one of: the key of the caller, the id of a contract, an ED25519 or ECDSA public key, or the id of a
contract that may be delegated. With none of them, or several, no key can be made of it.
"""

from collections.abc import Sequence
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, Key
from web3sim.state.tables.interface import Entity
from web3sim.system_contracts.functions import Invocation

#: Bits of the kinds of keys, in their order, and the columns of Token.
KINDS = {
    1: "admin_key",
    2: "kyc_key",
    4: "freeze_key",
    8: "wipe_key",
    16: "supply_key",
    32: "fee_schedule_key",
    64: "pause_key",
    128: "metadata_key",
}
_ED25519_LENGTH, _ECDSA_LENGTH = 32, 33


def keys_of(invocation: Invocation, token_keys: Sequence[tuple[int, tuple[Any, ...]]]) -> dict[str, bytes]:
    """Return the serialized keys by column; an empty one can't be used. A later one of a kind counts."""
    keys: dict[str, bytes] = {}
    for kinds, value in token_keys:
        key = _key(invocation, value)
        keys |= {column: key for bit, column in KINDS.items() if kinds & bit}
    return keys


def contract_key(invocation: Invocation, account: Entity | None, address: bytes) -> Any:
    """Return the id of a contract as a key names it."""
    if account is None:
        return ContractID(evm_address=address)
    shard, realm, num = entity_id.decode(account.id)
    return ContractID(shardNum=shard, realmNum=realm, contractNum=num)


def _key(invocation: Invocation, value: tuple[Any, ...]) -> bytes:
    inherits, contract, ed25519, ecdsa, delegatable = value
    members = [bool(inherits), any(contract), bool(ed25519), bool(ecdsa), any(delegatable)]
    if members.count(True) != 1:
        return b""
    if inherits:
        return _key_of_sender(invocation)
    if any(contract):
        named = contract_key(invocation, invocation.ledger.account_at(contract), contract)
        return bytes(Key(contractID=named).SerializeToString())
    if any(delegatable):
        named = contract_key(invocation, invocation.ledger.account_at(delegatable), delegatable)
        return bytes(Key(delegatable_contract_id=named).SerializeToString())
    if len(ed25519) == _ED25519_LENGTH:
        return bytes(Key(ed25519=ed25519).SerializeToString())
    if len(ecdsa) == _ECDSA_LENGTH:
        return bytes(Key(ECDSA_secp256k1=ecdsa).SerializeToString())
    return b""


def _key_of_sender(invocation: Invocation) -> bytes:
    """A contract without a key of its own is named by its id."""
    sender = invocation.sender()
    if sender.key:
        return sender.key
    if sender.type != "CONTRACT":
        return b""
    named = contract_key(invocation, sender, invocation.call.sender)
    return bytes(Key(contractID=named).SerializeToString())
