"""The account service, 0x16a (HIP-632, HIP-904, HIP-906), and an account at its own address.

Functions that only read halt in a static frame all the same, but for allowances.
"""

from typing import Any

from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64
from mirror.core.values import entity_id
from mirror.core.values.hashes import keccak256
from web3sim.operations import crypto
from web3sim.operations.holdings import UNLIMITED, existing_account, get_account
from web3sim.operations.prices import APPROVE, UPDATE_ACCOUNT
from web3sim.operations.rejections import Rejected, Rejection, reject_if
from web3sim.operations.signatures import (
    SIGNATURE_LENGTH,
    is_signed,
    is_signed_by_ecdsa,
    is_signed_by_ed25519,
    parse_key,
    signature_pairs,
    signatures_of,
    simple_keys,
)
from web3sim.state.tables.rows import Entity
from web3sim.system_contracts.abi import InvalidArguments
from web3sim.system_contracts.functions import Function, Invocation, by_selector, costs, flat

#: Of one signature.
_VERIFICATION_GAS = 3_000
_MAX_ECDSA_LENGTH = SIGNATURE_LENGTH + 8
_DIGEST_LENGTH = 32

# ADDRESSES


def _alias_of_number(invocation: Invocation, address: bytes) -> bytes:
    """The argument is long-zero, of an account with an address of its own."""
    account = _any_account(invocation, address)
    is_number = entity_id.num_of_long_zero(address) is not None
    if account is None or not is_number or account.own_address is None:
        raise Rejected("INVALID_ACCOUNT_ID")
    return account.own_address


def _number_of_alias(invocation: Invocation, address: bytes) -> bytes:
    return entity_id.long_zero(existing_account(invocation.ledger, address, "INVALID_SOLIDITY_ADDRESS").id)


def _is_valid_alias(invocation: Invocation, address: bytes) -> bool:
    return _any_account(invocation, address) is not None


def _any_account(invocation: Invocation, address: bytes) -> Entity | None:
    """Return an account, also by the long-zero address that another one replaces."""
    ledger, num = invocation.ledger, entity_id.num_of_long_zero(address)
    if num is None:
        return ledger.account_at(address)
    return get_account(ledger, ledger.state.encoded(num))


# ALLOWANCES AND ASSOCIATIONS


def _allowance(invocation: Invocation, owner_address: bytes, spender_address: bytes) -> int:
    ledger = invocation.ledger
    ledger.state.load([owner_address, spender_address])
    owner = existing_account(ledger, owner_address, "INVALID_ALLOWANCE_OWNER_ID").id
    spender = ledger.account_id_at(spender_address)
    return 0 if spender is None else max(ledger.hbar_allowance(owner, spender), 0)


def _own_approve(invocation: Invocation, target: bytes, spender: bytes, tinybars: int) -> None:
    """Where no account is, the caller is the owner."""
    exists = invocation.ledger.account_at(target) is not None
    _approve(invocation, target if exists else invocation.call.sender, spender, tinybars)


def _approve(invocation: Invocation, owner: bytes, spender: bytes, tinybars: int) -> None:
    if not MIN_INT64 <= tinybars <= MAX_INT64:
        raise InvalidArguments(f"{tinybars} are more tinybars than a transaction can name")
    crypto.approve_hbar(invocation.ledger, owner, spender, tinybars, invocation.sender_id)


def _set_unlimited(invocation: Invocation, target: bytes, unlimited: bool) -> None:
    """Unlimited, or none."""
    limit = UNLIMITED if unlimited else 0
    crypto.set_automatic_associations(invocation.ledger, target, limit, invocation.sender_id)


# SIGNATURES


def _is_authorized_raw(invocation: Invocation, address: bytes, message: bytes, signature: bytes) -> bool:
    """The length of the signature decides: ED25519 without a recovery id, else ECDSA of a hash."""
    is_ecdsa = SIGNATURE_LENGTH < len(signature) <= _MAX_ECDSA_LENGTH
    reject_if(not is_ecdsa and len(signature) != SIGNATURE_LENGTH, "INVALID_TRANSACTION_BODY")
    reject_if(invocation.call.gas < _VERIFICATION_GAS, "INSUFFICIENT_GAS")
    is_digest = len(message) == _DIGEST_LENGTH
    reject_if(is_ecdsa and not is_digest, "INVALID_TRANSACTION_BODY")
    account = existing_account(invocation.ledger, address)
    reject_if(is_ecdsa and entity_id.num_of_long_zero(address) is not None, "INVALID_ACCOUNT_ID")
    key = parse_key(account.key)
    field = None if key is None else key.WhichOneof("key")
    if is_ecdsa:
        is_simple = key is not None and field == "ECDSA_secp256k1"
        return is_simple and is_signed_by_ecdsa(key.ECDSA_secp256k1, message, signature)
    reject_if(field in (None, "keyList", "thresholdKey"), "INVALID_TRANSACTION_BODY")
    reject_if(field != "ed25519", "INVALID_SIGNATURE_TYPE_MISMATCHING_KEY")
    if not is_digest:
        raise InvalidArguments(f"a hash has {_DIGEST_LENGTH} bytes, not {len(message)}")
    return is_signed_by_ed25519(key.ed25519, message, signature)


def _is_authorized(invocation: Invocation, address: bytes, message: bytes, signatures: bytes) -> bool:
    key = parse_key(existing_account(invocation.ledger, address).key)
    pairs = signature_pairs(signatures)
    if key is None or pairs is None:
        raise Rejected("INVALID_TRANSACTION_BODY")
    invocation.extra_gas = sum(1 for _ in simple_keys(key)) * _VERIFICATION_GAS
    return is_signed(key, message, keccak256(message), signatures_of(pairs))


_ALIAS: Any = {"returns": "(int64,address)", "static": False}
_VALID: Any = {"returns": "(bool)", "has_code": False, "static": False}
_ALLOWANCE: Any = {"returns": "(int64,int256)", "rejection": Rejection.TEXT}
_APPROVAL: Any = {"gas": costs(APPROVE), "writes": True, "rejection": Rejection.WORD}
_BY_KEYS = flat(0, f"{_VERIFICATION_GAS:,} for each key")
_SIGNED: Any = {
    "returns": "(int64,bool)",
    "gas": _BY_KEYS,
    "rejection": Rejection.COSTLY_CODE,
    "static": False,
}
_SIGNED_RAW = _VALID | {"gas": flat(_VERIFICATION_GAS), "rejection": Rejection.COSTLY_TEXT}

FUNCTIONS = by_selector(
    Function("getEvmAddressAlias(address)", _alias_of_number, **_ALIAS),
    Function("getHederaAccountNumAlias(address)", _number_of_alias, **_ALIAS),
    Function("isValidAlias(address)", _is_valid_alias, **_VALID),
    Function("hbarAllowance(address,address)", _allowance, **_ALLOWANCE),
    Function("hbarApprove(address,address,int256)", _approve, **_APPROVAL),
    Function("isAuthorized(address,bytes,bytes)", _is_authorized, **_SIGNED),
    Function("isAuthorizedRaw(address,bytes,bytes)", _is_authorized_raw, **_SIGNED_RAW),
)
_LIMIT: Any = {"gas": costs(UPDATE_ACCOUNT), "writes": True}
PROXY_FUNCTIONS = by_selector(
    Function("hbarAllowance(address)", _allowance, needs_target=True, **_ALLOWANCE),
    Function("hbarApprove(address,int256)", _own_approve, needs_target=True, **_APPROVAL),
    Function("setUnlimitedAutomaticAssociations(bool)", _set_unlimited, needs_target=True, **_LIMIT),
)
