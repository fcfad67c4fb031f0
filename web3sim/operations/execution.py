"""The execution of schedules: who has to sign one, and what it does once all of them have.

Executed are calls of contracts, and creations and changes of tokens. Who has to sign other transactions is
not known here: their schedules only collect signatures.
"""

from dataclasses import replace
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import DecodeError, Key, SchedulableTransactionBody
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import ScheduledCall
from web3sim.operations.refusals import Refused
from web3sim.operations.signatures import contract_key, key_of, satisfied
from web3sim.operations.tokens.create import create_token
from web3sim.operations.tokens.update import update_token
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Schedule

_MOST_GAS = 15_000_000
#: A key that nobody has.
_NO_KEY = Key()


def required_keys(ledger: Overlay, schedule: Schedule) -> list[Any]:
    """Return the Key messages that must sign; None in place of that of a missing account or token."""
    keys = [_key_of_account(ledger, schedule.payer_account_id)]
    message = _message(schedule)
    kind = message.WhichOneof("data")
    if kind not in ("tokenCreation", "tokenUpdate"):
        return keys if kind == "contractCall" else [*keys, _NO_KEY]
    body = getattr(message, kind)
    for account in ("treasury", "autoRenewAccount"):
        if body.HasField(account):
            keys.append(_key_of_account(ledger, entity_id.of_account(getattr(body, account))))
    if body.HasField("adminKey"):
        keys.append(body.adminKey)
    if kind == "tokenUpdate":
        token = ledger.token(entity_id.of_token(body.token))
        keys.append(None if token is None else key_of(token.admin_key) or _NO_KEY)
    return keys


def is_executable(schedule: Schedule, keys: list[Any], signatories: frozenset[bytes]) -> bool:
    """Return whether a schedule doesn't wait for its expiry, and has signatures by all required keys."""
    if schedule.wait_for_expiry or None in keys:
        return False
    prefixes = tuple(filter(None, signatories))
    return all(satisfied(key, lambda simple: _has_signed(simple, prefixes)) for key in keys)


def execute(ledger: Overlay, schedule: Schedule, now: int) -> ScheduledCall | None:
    """Execute a schedule, or return the call that the engine has to make; `now` is in seconds.

    What is refused changes nothing; the schedule is executed all the same.
    """
    ledger.put_schedule(replace(schedule, executed_timestamp=now * NANOS_PER_SECOND))
    message = _message(schedule)
    if message.WhichOneof("data") == "contractCall":
        return _call(ledger, schedule, message.contractCall)
    checkpoint = ledger.journal.checkpoint()
    try:
        if message.WhichOneof("data") == "tokenCreation":
            create_token(ledger, message.tokenCreation, now, schedule.payer_account_id)
        else:
            address = entity_id.long_zero(entity_id.of_token(message.tokenUpdate.token))
            update_token(ledger, address, message.tokenUpdate, schedule.payer_account_id)
    except Refused:
        ledger.journal.go_back(checkpoint)
    return None


def _call(ledger: Overlay, schedule: Schedule, body: Any) -> ScheduledCall | None:
    if body.gas > _MOST_GAS:
        return None
    to = body.contractID.evm_address or ledger.address_of(entity_id.of_contract(body.contractID))
    payer = ledger.address_of(schedule.payer_account_id)
    return ScheduledCall(payer, to, body.amount, body.functionParameters, body.gas)


def _message(schedule: Schedule) -> Any:
    try:
        return SchedulableTransactionBody.FromString(schedule.transaction_body)
    except DecodeError:
        return SchedulableTransactionBody()


def _key_of_account(ledger: Overlay, account_id: int) -> Any:
    """A contract without a key of its own signs by its id."""
    entity = ledger.entity(account_id)
    if entity is None:
        return None
    by_id = contract_key(entity.id, delegated=False) if entity.type == "CONTRACT" else None
    return key_of(entity.key or by_id) or _NO_KEY


def _has_signed(key: Any, prefixes: tuple[bytes, ...]) -> bool:
    """A key that may be delegated has also signed where its contract did without a delegate call."""
    kind = key.WhichOneof("key")
    if kind == "contractID":
        return key.SerializeToString() in prefixes
    if kind == "delegatable_contract_id":
        plain = Key(contractID=key.delegatable_contract_id)
        return not {key.SerializeToString(), plain.SerializeToString()}.isdisjoint(prefixes)
    return kind in ("ed25519", "ECDSA_secp256k1") and getattr(key, kind).startswith(prefixes)
