"""ScheduleCreate, ScheduleSign and ScheduleDelete (HIP-755, HIP-756, HIP-1215).

A schedule that has all its signatures stays as it is: what the network would execute then is not simulated.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, DecodeError, Key
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import AccountKind
from web3sim.operations.refusals import Refused, refuse_if
from web3sim.operations.signatures import is_signed, signatures_of
from web3sim.operations.signers import Signers
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Entity, Schedule

#: How far ahead a schedule may expire, and how far without a word on it.
MOST_LIFE_SECONDS, USUAL_LIFE_SECONDS = 5_356_800, 1_800
#: The gas that a scheduled call may have.
MOST_GAS = 15_000_000


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`body` is a serialized SchedulableTransactionBody, `expires` in seconds since the epoch."""

    body: bytes
    creator: Entity
    payer: Entity
    expires: int
    waits: bool = False
    memo: str = ""


def create_schedule(ledger: Overlay, new: NewSchedule, now: int) -> Schedule:
    """Create a schedule, signed by whoever calls; `now` is in seconds. Errors: Refused.

    Checks, in this order: when it expires, and that the call itself has made no such schedule yet.
    """
    check_expiry(new.expires, now)
    for row in ledger.journal.rows().values():
        is_schedule = isinstance(row, Schedule) and row.payer_account_id == new.payer.id
        if is_schedule and row.transaction_body == new.body and row.memo == new.memo:
            raise Refused("IDENTICAL_SCHEDULE_ALREADY_CREATED")
    entity = ledger.add_entity(AccountKind.SCHEDULE, memo=new.memo, created_timestamp=now * NANOS_PER_SECOND)
    schedule = Schedule(
        entity.id,
        new.creator.id,
        new.payer.id,
        new.body,
        executed_timestamp=None,
        expiration_time=new.expires * NANOS_PER_SECOND,
        wait_for_expiry=new.waits,
        consensus_timestamp=now * NANOS_PER_SECOND,
        admin_key=None,
        memo=new.memo,
    )
    ledger.put_schedule(schedule)
    ledger.put_signatories(entity.id, frozenset({key_of(new.creator)}))
    return schedule


def check_expiry(expires: int, now: int) -> None:
    """Errors: Refused."""
    refuse_if(expires <= now, "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME")
    refuse_if(expires > now + MOST_LIFE_SECONDS, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE")


def has_capacity(expires: int, gas: int, now: int) -> bool:
    """Return whether a call of so much gas could be scheduled; what others have scheduled is not counted."""
    return now < expires <= now + MOST_LIFE_SECONDS and 0 <= gas <= MOST_GAS


def open_schedule(ledger: Overlay, address: bytes) -> Schedule:
    """Return the schedule at an address that was not executed. Errors: Refused."""
    schedule = schedule_at(ledger, address)
    refuse_if(schedule.executed_timestamp is not None, "SCHEDULE_ALREADY_EXECUTED")
    return schedule


def schedule_at(ledger: Overlay, address: bytes) -> Schedule:
    """Errors: Refused."""
    entity = ledger.entity_at(address)
    is_schedule = entity is not None and entity.type == AccountKind.SCHEDULE.name
    schedule = ledger.schedule(entity.id) if entity is not None and is_schedule else None
    if schedule is None:
        raise Refused("INVALID_SCHEDULE_ID")
    return schedule


def sign_schedule(ledger: Overlay, schedule: Schedule, keys: frozenset[bytes]) -> None:
    """Add signatures by keys, as `key_of` has them. Errors: Refused if all of them were there.

    Of a key that has signed a transaction the ledger knows the prefix that this had of it.
    """
    signatories = ledger.signatories(schedule.id)
    prefixes = tuple(filter(None, signatories))
    refuse_if(all(key.startswith(prefixes) for key in keys), "NO_NEW_VALID_SIGNATURES")
    ledger.put_signatories(schedule.id, signatories | keys)


def keys_that_signed(ledger: Overlay, schedule: Schedule, pairs: Iterable[Any]) -> frozenset[bytes]:
    """Return the public keys of the SignaturePair messages that sign a schedule.

    Its id is signed, as three numbers. Only whole keys count, since it is not known who may sign.
    """
    message = b"".join(part.to_bytes(8, "big") for part in entity_id.decode(schedule.id))
    keys = set()
    for pair in pairs:
        ledger.state.check_deadline()
        kind = pair.WhichOneof("signature")
        if kind not in ("ed25519", "ECDSA_secp256k1"):
            continue
        key: Any = Key(**{kind: pair.pubKeyPrefix})
        if is_signed(key, message, signatures_of([pair])):
            keys.add(bytes(pair.pubKeyPrefix))
    return frozenset(keys)


def delete_schedule(ledger: Overlay, signers: Signers, schedule: Schedule) -> None:
    """Delete a schedule. Errors: Refused.

    Checks, in this order: that it has an admin key, and that this key has signed.
    """
    refuse_if(not schedule.admin_key, "SCHEDULE_IS_IMMUTABLE")
    refuse_if(not signers.is_active(schedule.admin_key), "INVALID_SIGNATURE")
    ledger.remove_schedule(schedule.id)
    ledger.remove_entity(schedule.id)


def key_of(account: Entity) -> bytes:
    """Return the public key by which an account signs; a key of several, and a contract's id, serialized."""
    if account.type != "CONTRACT" and account.key:
        return _public_key(account.key)
    shard, realm, num = entity_id.decode(account.id)
    contract: Any = ContractID(shardNum=shard, realmNum=realm, contractNum=num)
    return bytes(Key(contractID=contract).SerializeToString())


def _public_key(serialized: bytes) -> bytes:
    """Return a key as signatures of transactions name it."""
    try:
        key: Any = Key.FromString(serialized)
    except DecodeError:
        return serialized
    kind = key.WhichOneof("key")
    return bytes(getattr(key, kind)) if kind in ("ed25519", "ECDSA_secp256k1") else serialized
