"""Execution of schedules: the required signers, and the scheduled transaction.

Executed are calls of contracts, and creations and changes of tokens. Who has to sign other transactions is
not known here: their schedules only collect signatures.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import (
    DecodeError,
    Key,
    KeyList,
    SchedulableTransactionBody,
    ThresholdKey,
)
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import ZERO_ADDRESS, ScheduledCall
from web3sim.operations.rejections import Rejected
from web3sim.operations.signatures import is_satisfied, parse_key, signing_key
from web3sim.operations.tokens.create import KEYS, check_keys, check_supply, create_token, keys_of
from web3sim.operations.tokens.update import needs_admin_key, update_token
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Schedule, Token

_MAX_GAS = 15_000_000
#: A key that no signature satisfies.
_NO_KEY = Key()


def check_body(message: Any) -> None:
    """Make the checks of a creation or change of a token that need no ledger. Errors: Rejected."""
    field = message.WhichOneof("data")
    if field == "tokenCreation":
        check_supply(message.tokenCreation)
    elif field == "tokenUpdate":
        check_keys(message.tokenUpdate)


def required_keys(ledger: Overlay, payer: int, message: Any) -> list[Any]:
    """Return the Key messages that must sign; None in place of one that is missing or can't sign.

    The treasury of a change must sign even if it is account 0, which stands for no change in a direct call.
    """
    entity = ledger.entity(payer)
    keys = [None if entity is None else signing_key(entity) or _NO_KEY]
    field = message.WhichOneof("data")
    if field not in ("tokenCreation", "tokenUpdate"):
        return keys if field == "contractCall" else [*keys, _NO_KEY]
    body = getattr(message, field)
    for account in ("treasury", "autoRenewAccount"):
        if body.HasField(account):
            keys.append(_account_key(ledger, getattr(body, account)))
    if body.HasField("adminKey"):
        keys.append(body.adminKey)
    if field == "tokenUpdate":
        return keys + _token_keys(ledger.token(entity_id.from_token(body.token)), body)
    return [*keys, *_collector_keys(ledger, body)]


def is_executable(schedule: Schedule, keys: list[Any], signatories: frozenset[bytes]) -> bool:
    """Return whether a schedule doesn't wait for its expiry, and has signatures by all required keys."""
    if schedule.wait_for_expiry or None in keys:
        return False
    prefixes = tuple(filter(None, signatories))
    return all(is_satisfied(key, lambda simple: _has_signed(simple, prefixes)) for key in keys)


def execute(ledger: Overlay, schedule: Schedule, message: Any, now: int) -> ScheduledCall | None:
    """Execute a schedule, or return the call that the engine has to make; `now` is in seconds.

    What is refused changes nothing; the schedule is executed all the same.
    """
    ledger.put_schedule(replace(schedule, executed_timestamp=now * NANOS_PER_SECOND))
    if message.WhichOneof("data") == "contractCall":
        return _call(ledger, schedule, message.contractCall)
    checkpoint = ledger.journal.checkpoint()
    try:
        if message.WhichOneof("data") == "tokenCreation":
            create_token(ledger, message.tokenCreation, now, schedule.payer_account_id)
        else:
            update_token(ledger, message.tokenUpdate, now, schedule.payer_account_id)
    except Rejected:
        ledger.journal.revert_to(checkpoint)
    return None


def _call(ledger: Overlay, schedule: Schedule, body: Any) -> ScheduledCall | None:
    to = body.contractID.evm_address or ledger.address_of(entity_id.from_contract(body.contractID))
    if body.gas > _MAX_GAS or body.amount < 0 or len(to) != len(ZERO_ADDRESS):
        return None
    payer = ledger.address_of(schedule.payer_account_id)
    return ScheduledCall(payer, to, body.amount, body.functionParameters, body.gas)


def parse_body(schedule: Schedule) -> Any:
    """Return the SchedulableTransactionBody of a schedule; an empty one if it can't be read."""
    try:
        return SchedulableTransactionBody.FromString(schedule.transaction_body)
    except DecodeError:
        return SchedulableTransactionBody()


def _account_key(ledger: Overlay, account: Any) -> Any:
    """An account that has no key yet may still get one; one with an empty key never signs."""
    entity = ledger.entity(entity_id.from_account(account))
    if entity is None:
        return None
    is_immutable = entity.key is not None and entity.own_address is None
    return signing_key(entity) or (None if is_immutable else _NO_KEY)


def _collector_keys(ledger: Overlay, body: Any) -> Iterator[Any]:
    """The keys of those who collect fees in the new token; None for each collector that is missing."""
    for fee in body.custom_fees:
        key = _account_key(ledger, fee.fee_collector_account_id)
        fixed = fee.fixed_fee
        is_own = fixed.HasField("denominating_token_id") and not fixed.denominating_token_id.tokenNum
        if key is None or fee.HasField("fractional_fee") or is_own:
            yield key


def _token_keys(token: Token | None, body: Any) -> list[Any]:
    """The keys of a token that must sign an update: its admin key, or each one that is changed (HIP-540).

    With a key that is changed its new form must sign.
    """
    if token is None:
        return [None]
    admin = parse_key(token.admin_key)
    keys = [admin] if needs_admin_key(body) else []
    for column in keys_of(body).keys() - {"admin_key"}:
        key, new = parse_key(getattr(token, column)), getattr(body, KEYS[column][0])
        if key is None or admin is None:
            keys += [key, new]
        else:
            both = Key(keyList=KeyList(keys=[key, new]))
            keys.append(Key(thresholdKey=ThresholdKey(threshold=1, keys=KeyList(keys=[both, admin]))))
    return keys


def _has_signed(key: Any, prefixes: tuple[bytes, ...]) -> bool:
    """A key that may be delegated has also signed where its contract did without a delegate call."""
    field = key.WhichOneof("key")
    if field == "contractID":
        return key.SerializeToString() in prefixes
    if field == "delegatable_contract_id":
        plain = Key(contractID=key.delegatable_contract_id)
        return not {key.SerializeToString(), plain.SerializeToString()}.isdisjoint(prefixes)
    return field in ("ed25519", "ECDSA_secp256k1") and getattr(key, field).startswith(prefixes)
