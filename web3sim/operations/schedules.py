"""ScheduleCreate, ScheduleSign and ScheduleDelete (HIP-755, HIP-756, HIP-1215)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hashes import keccak256
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import AccountKind, ScheduledCall
from web3sim.operations.execution import check_body, execute, is_executable, parse_body, required_keys
from web3sim.operations.rejections import reject_if, required
from web3sim.operations.signatures import verify
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Entity, Schedule

#: How far ahead a schedule may expire, and how far without a word on it.
MAX_LIFE_SECONDS, DEFAULT_LIFE_SECONDS = 5_356_800, 1_800


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`message` is a SchedulableTransactionBody, `expires` in seconds since the epoch.

    `key` is the one by which the creator signs, `admin_key` a serialized Key.
    """

    message: Any
    creator: Entity
    payer: Entity
    key: bytes | None
    expires: int
    wait_for_expiry: bool = False
    admin_key: bytes | None = None


def create_schedule(ledger: Overlay, new: NewSchedule, now: int) -> tuple[Schedule, ScheduledCall | None]:
    """Create a schedule, signed by the caller, and execute it if that is enough.

    `now` is in seconds. Also returned is the call that the execution makes.

    Checks, in this order: when it expires; the call itself has made no such schedule yet; the body of the
    transaction; whose keys have to sign it.
    """
    check_expiry(new.expires, now)
    body = bytes(new.message.SerializeToString())
    identity = (body, new.payer.id, new.expires * NANOS_PER_SECOND, new.admin_key)
    for row in ledger.journal.rows().values():
        if isinstance(row, Schedule):
            existing = (row.transaction_body, row.payer_account_id, row.expiration_time, row.admin_key)
            reject_if(existing == identity, "IDENTICAL_SCHEDULE_ALREADY_CREATED")
    check_body(new.message)
    signers = required_keys(ledger, new.payer.id, new.message)
    reject_if(None in signers, "UNRESOLVABLE_REQUIRED_SIGNERS")
    entity = ledger.add_entity(
        AccountKind.SCHEDULE, created_timestamp=now * NANOS_PER_SECOND, key=new.admin_key
    )
    schedule = Schedule(
        entity.id,
        new.creator.id,
        new.payer.id,
        body,
        executed_timestamp=None,
        expiration_time=new.expires * NANOS_PER_SECOND,
        wait_for_expiry=new.wait_for_expiry,
        consensus_timestamp=now * NANOS_PER_SECOND,
        admin_key=new.admin_key,
        memo="",
    )
    ledger.put_schedule(schedule)
    signatories = frozenset({new.key} if new.key else ())
    ledger.put_signatories(entity.id, signatories)
    is_complete = is_executable(schedule, signers, signatories)
    return schedule, execute(ledger, schedule, new.message, now) if is_complete else None


def check_expiry(expires: int, now: int) -> None:
    reject_if(expires <= now, "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME")
    reject_if(expires > now + MAX_LIFE_SECONDS, "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE")


def has_capacity(expires: int, now: int) -> bool:
    """Return whether a call could be scheduled, of any gas; what others have scheduled is not counted."""
    return now < expires <= now + MAX_LIFE_SECONDS


def schedule_at(ledger: Overlay, address: bytes, code: str = "INVALID_SCHEDULE_ID") -> Schedule:
    """Return the schedule whose number ends an address, also one that the call has deleted."""
    num = int.from_bytes(address[-8:])
    reject_if(num > entity_id.MAX_NUM, code)
    encoded = ledger.state.encoded(num)
    entity = ledger.entity(encoded)
    is_schedule = entity is not None and entity.type == AccountKind.SCHEDULE.name
    return required(ledger.schedule(encoded) if is_schedule or ledger.is_removed(encoded) else None, code)


def sign_schedule(
    ledger: Overlay, schedule: Schedule, keys: frozenset[bytes], now: int
) -> ScheduledCall | None:
    """Add signatures by keys, as `contract_key` has them or raw, and execute a schedule that has all of them.

    Of a key that has signed a transaction the ledger knows the prefix that this had of it. Returned is the
    call that the execution makes. Errors: Rejected, also if there is nothing to add or to execute.
    """
    reject_if(schedule.executed_timestamp is not None, "SCHEDULE_ALREADY_EXECUTED")
    reject_if(ledger.entity(schedule.id) is None, "SCHEDULE_ALREADY_DELETED")
    message = parse_body(schedule)
    signers = required_keys(ledger, schedule.payer_account_id, message)
    reject_if(None in signers, "UNRESOLVABLE_REQUIRED_SIGNERS")
    signatories = ledger.signatories(schedule.id)
    prefixes = tuple(filter(None, signatories))
    is_complete = is_executable(schedule, signers, signatories | keys)
    reject_if(not is_complete and all(key.startswith(prefixes) for key in keys), "NO_NEW_VALID_SIGNATURES")
    ledger.put_signatories(schedule.id, signatories | keys)
    return execute(ledger, schedule, message, now) if is_complete else None


def signing_keys(ledger: Overlay, schedule: Schedule, pairs: Iterable[Any]) -> frozenset[bytes]:
    """Return the public keys of the SignaturePair messages that sign a schedule.

    Its id is signed, as three numbers. Only whole keys count, since it is not known who may sign.
    """
    message = b"".join(part.to_bytes(8, "big") for part in entity_id.decode(schedule.id))
    digest = keccak256(message)
    keys = set()
    for pair in pairs:
        ledger.state.check_deadline()
        key, field = bytes(pair.pubKeyPrefix), pair.WhichOneof("signature")
        if verify(field, key, message, digest, getattr(pair, field) if field else b""):
            keys.add(key)
    return frozenset(keys)


def delete_schedule(ledger: Overlay, schedule: Schedule) -> None:
    """Delete a schedule that has an admin key, which counts as signed."""
    reject_if(not schedule.admin_key, "SCHEDULE_IS_IMMUTABLE")
    reject_if(schedule.executed_timestamp is not None, "SCHEDULE_ALREADY_EXECUTED")
    reject_if(ledger.entity(schedule.id) is None, "SCHEDULE_ALREADY_DELETED")
    ledger.remove_entity(schedule.id)
