"""What administrators do to the network, what it draws by chance, and what it no longer knows or not yet."""

from typing import Any

from ledger.stream.record.compose import timestamp
from mirror.demo.actions.network import files
from mirror.demo.network import Action, Network
from mirror.demo.world.accounts import FREEZE_ADMIN, SYSTEM_ADMIN
from mirror.demo.world.system import Draw, Freeze
from mirror.values.hashes import SHA_384_LENGTH, sha384
from mirror.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

UPGRADE_FILE = 150
FREEZE_ONLY, PREPARE_UPGRADE, FREEZE_UPGRADE, FREEZE_ABORT, TELEMETRY_UPGRADE = range(1, 6)

_HOUR = 3_600 * NANOS_PER_SECOND
_FIRST_NODE_ACCOUNT = 3
_MOST_DELETED = 6


def draw(network: Network) -> bool:
    """Somebody asks for a number below another, or for bytes; or for a number below none."""
    payer = network.person()
    if payer is None:
        return False
    bound = network.choose.choice((0, 6, 52, 1_000, -1))
    if bound < 0:
        network.submit("util_prng", {"range": bound}, payer=payer.number, result="INVALID_PRNG_RANGE")
        return True
    drawn: int | bytes
    drawn = network.choose.randrange(bound) if bound else network.choose.randbytes(SHA_384_LENGTH)
    network.world.system.draws.append(Draw(network.now, payer.number, bound, drawn))
    record = {"prng_number" if bound else "prng_bytes": drawn}
    network.submit("util_prng", {"range": bound}, payer=payer.number, record=record)
    return True


def freeze(network: Network) -> bool:
    """The next step of an upgrade, which never comes to its end: it is aborted an hour later."""
    system = network.world.system
    if system.is_scheduled:
        return False
    start = network.now // NANOS_PER_DAY * NANOS_PER_DAY + 7 * NANOS_PER_DAY
    match network.choose.randrange(4):
        case 0:
            _freeze(network, FREEZE_ONLY, start=start)
        case 1:
            _upload(network)
            _freeze(network, TELEMETRY_UPGRADE, start=start, file=UPGRADE_FILE)
            return True
        case _ if system.is_prepared:
            _freeze(network, FREEZE_UPGRADE, start=start, file=UPGRADE_FILE)
        case 2:
            body = {"freeze_type": FREEZE_UPGRADE, "start_time": timestamp(start)}
            result = "NO_UPGRADE_HAS_BEEN_PREPARED"
            network.submit("freeze", body, payer=FREEZE_ADMIN, result=result, fee=0)
            return True
        case _:
            _upload(network)
            _freeze(network, PREPARE_UPGRADE, file=UPGRADE_FILE)
            system.is_prepared = True
            return True
    system.is_scheduled = True
    network.at(network.now + _HOUR, abort_freeze)
    return True


def abort_freeze(network: Network) -> None:
    """What was prepared and scheduled is not any more."""
    _freeze(network, FREEZE_ABORT)
    network.world.system.is_prepared = network.world.system.is_scheduled = False


def delete_file(network: Network) -> bool:
    """The network deletes somebody's file."""
    living = [number for number, file in network.world.files.items() if number > 1_000 and not file.deleted]
    if not living or len(network.world.system.deleted_files) >= _MOST_DELETED:
        return False
    number = network.choose.choice(living)
    network.world.files[number].deleted = True
    network.world.system.deleted_files.append(number)
    expires = {"seconds": network.now // NANOS_PER_SECOND + 7 * 86_400}
    body = {"fileID": {"fileNum": number}, "expirationTime": expires}
    network.submit("systemDelete", body, payer=SYSTEM_ADMIN, fee=0)
    return True


def undelete_file(network: Network) -> bool:
    """The network takes a deletion back; or somebody else tries to."""
    deleted = network.world.system.deleted_files
    if not deleted and not delete_file(network):
        return False
    number = network.choose.choice(deleted)
    body: dict[str, Any] = {"fileID": {"fileNum": number}}
    nobody = network.person() if network.choose.random() < 0.2 else None
    if nobody:
        network.submit("systemUndelete", body, payer=nobody.number, result="AUTHORIZATION_FAILED")
        return True
    deleted.remove(number)
    network.world.files[number].deleted = False
    network.submit("systemUndelete", body, payer=SYSTEM_ADMIN, fee=0)
    return True


def submit_unchecked(network: Network) -> bool:
    """Somebody sends a transaction that is not to be checked, which the network refuses."""
    payer = network.person()
    if payer is None:
        return False
    body = {"transactionBytes": network.choose.randbytes(64)}
    network.submit("uncheckedSubmit", body, payer=payer.number, result="NOT_SUPPORTED")
    return True


def publish_reference_string(network: Network) -> bool:
    """A node contributes to what the nodes' common signatures need: a type that has no name in the API."""
    body = {"new_crs": network.choose.randbytes(96), "proof": network.choose.randbytes(64)}
    network.submit("crs_publication", body, payer=_FIRST_NODE_ACCOUNT, fee=0)
    return True


def _freeze(network: Network, kind: int, *, start: int | None = None, file: int | None = None) -> None:
    body: dict[str, Any] = {"freeze_type": kind}
    file_hash = sha384(network.world.files[file].contents) if file else b""
    if file:
        body["update_file"], body["file_hash"] = {"fileNum": file}, file_hash
    if start is not None:
        body["start_time"] = timestamp(start)
    step = Freeze(network.now, kind, FREEZE_ADMIN, start, file, file_hash)
    network.world.system.freezes.append(step)
    network.submit("freeze", body, payer=FREEZE_ADMIN, fee=0)


def _upload(network: Network) -> None:
    """Another upgrade."""
    if UPGRADE_FILE not in network.world.files:
        files.create(network, UPGRADE_FILE, "Software upgrade")
    contents = b"PK\x03\x04" + network.choose.randbytes(network.choose.randrange(500, 4_000))
    files.write(network, UPGRADE_FILE, contents)


ACTIONS = (
    Action(draw, 1),
    Action(freeze, 0),
    Action(delete_file, 0),
    Action(undelete_file, 0),
    Action(submit_unchecked, 0),
    Action(publish_reference_string, 0),
)
