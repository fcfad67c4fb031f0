"""Freezes and upgrades, system deletes, pseudorandom numbers, and transactions that networks refuse."""

from typing import Any

from mirror.core.values.hashes import SHA_384_LENGTH, sha384
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND
from mirror.demo.actions import system_files
from mirror.demo.network import Network, require, weighted
from mirror.demo.streams.keys import nodes
from mirror.demo.world.accounts import FREEZE_ADMIN, SYSTEM_ADMIN
from mirror.demo.world.network import Draw, Freeze

UPGRADE_FILE = 150
FREEZE_ONLY, PREPARE_UPGRADE, FREEZE_UPGRADE, FREEZE_ABORT, TELEMETRY_UPGRADE = range(1, 6)

_HOUR = 3_600 * NANOS_PER_SECOND
_FIRST_NODE_ACCOUNT = 3
_MAX_DELETED = 6


def draw(network: Network) -> None:
    """Draw a pseudorandom number, or bytes; sometimes with an invalid bound."""
    payer = network.person()
    bound = network.choose.choice((0, 6, 52, 1_000, -1))
    drawn: dict[str, int | bytes] = {}
    if bound > 0:
        drawn["prng_number"] = network.choose.randrange(bound)
    elif bound == 0:
        drawn["prng_bytes"] = network.choose.randbytes(SHA_384_LENGTH)
    for value in drawn.values():
        network.world.system.draws.append(Draw(network.now, payer.number, bound, value))
    result = None if drawn else "INVALID_PRNG_RANGE"
    network.submit("util_prng", {"range": bound}, payer=payer.number, record=drawn, result=result)


def freeze(network: Network) -> None:
    """Take the next step of a freeze or an upgrade, which is aborted an hour later."""
    system = network.world.system
    require(not system.is_scheduled)
    start = network.now // NANOS_PER_DAY * NANOS_PER_DAY + 7 * NANOS_PER_DAY
    match network.choose.randrange(4):
        case 0:
            _freeze(network, FREEZE_ONLY, start=start)
        case 1:
            _upload(network)
            _freeze(network, TELEMETRY_UPGRADE, start=start, file=UPGRADE_FILE)
            return
        case _ if system.is_prepared:
            _freeze(network, FREEZE_UPGRADE, start=start, file=UPGRADE_FILE)
        case 2:
            body = {"freeze_type": FREEZE_UPGRADE, "start_time": start}
            result = "NO_UPGRADE_HAS_BEEN_PREPARED"
            network.submit("freeze", body, payer=FREEZE_ADMIN, result=result, fee=0)
            return
        case _:
            _upload(network)
            _freeze(network, PREPARE_UPGRADE, file=UPGRADE_FILE)
            system.is_prepared = True
            return
    system.is_scheduled = True
    network.call_at(network.now + _HOUR, abort_freeze)


def abort_freeze(network: Network) -> None:
    """Abort the freeze or upgrade that was prepared or scheduled."""
    _freeze(network, FREEZE_ABORT)
    network.world.system.is_prepared = network.world.system.is_scheduled = False


def _freeze(network: Network, kind: int, *, start: int | None = None, file: int | None = None) -> None:
    body: dict[str, Any] = {"freeze_type": kind, "start_time": start}
    file_hash = sha384(network.world.files[file].contents) if file else b""
    if file:
        body["update_file"], body["file_hash"] = file, file_hash
    network.world.system.freezes.append(Freeze(network.now, kind, FREEZE_ADMIN, start, file, file_hash))
    network.submit("freeze", body, payer=FREEZE_ADMIN, fee=0)


def _upload(network: Network) -> None:
    if UPGRADE_FILE not in network.world.files:
        system_files.create(network, UPGRADE_FILE, "Software upgrade")
    contents = b"PK\x03\x04" + network.choose.randbytes(network.choose.randrange(500, 4_000))
    system_files.write(network, UPGRADE_FILE, contents)


def delete_file(network: Network) -> None:
    living = [number for number, file in network.world.files.items() if number > 1_000 and not file.deleted]
    require(len(network.world.system.deleted_files) < _MAX_DELETED)
    number = network.pick(living)
    network.world.files[number].deleted = True
    network.world.system.deleted_files.append(number)
    expires = {"seconds": network.now // NANOS_PER_SECOND + 7 * 86_400}
    network.submit("systemDelete", {"fileID": number, "expirationTime": expires}, payer=SYSTEM_ADMIN, fee=0)


def undelete_file(network: Network) -> None:
    """Let the network undelete a file; sometimes a person tries to."""
    deleted = network.world.system.deleted_files
    if not deleted:
        delete_file(network)
    number = network.choose.choice(deleted)
    person = network.find_person() if network.choose.random() < 0.2 else None
    if person:
        result = "AUTHORIZATION_FAILED"
        network.submit("systemUndelete", {"fileID": number}, payer=person.number, result=result)
        return
    deleted.remove(number)
    network.world.files[number].deleted = False
    network.submit("systemUndelete", {"fileID": number}, payer=SYSTEM_ADMIN, fee=0)


def submit_unchecked(network: Network) -> None:
    """Submit an unchecked transaction, which the network refuses."""
    payer, body = network.person(), {"transactionBytes": network.choose.randbytes(64)}
    network.submit("uncheckedSubmit", body, payer=payer.number, result="NOT_SUPPORTED")


def prove_history(network: Network) -> None:
    """Let a node take part in proofs of the network's history. The mirror stores only the transactions."""
    random, step = network.choose.randbytes, network.world.system.proof_steps
    construction = {"construction_id": 1}
    kinds: tuple[tuple[str, dict[str, Any]], ...] = (
        ("crs_publication", {"new_crs": random(96), "proof": random(64)}),
        ("hints_key_publication", {"party_id": 1, "num_parties": 4, "hints_key": random(96)}),
        ("hints_preprocessing_vote", construction),
        ("hints_partial_signature", {"message": random(48), "partial_signature": random(96)} | construction),
        ("history_proof_key_publication", {"proof_key": random(32)} | construction),
        ("history_proof_signature", construction),
        ("history_proof_vote", construction),
        ("state_signature_transaction", {"round": step + 1, "signature": random(96), "hash": random(48)}),
        (
            "migration_root_hash_vote",
            {
                "previous_wrapped_record_block_root_hash": random(48),
                "wrapped_intermediate_block_roots_leaf_count": step + 1,
            },
        ),
    )
    kind, body = kinds[step % len(kinds)]
    network.world.system.proof_steps += 1
    network.submit(kind, body, payer=_FIRST_NODE_ACCOUNT + step % len(nodes()), fee=0)


ACTIONS = weighted((1, draw), (0, freeze, delete_file, undelete_file, submit_unchecked), (1, prove_history))
