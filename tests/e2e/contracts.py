"""Contracts and their storage in the API."""

from random import Random
from typing import Any

from mirror.demo.world.contracts import Contract
from mirror.demo.world.world import World
from tests.e2e.forms import NANOS_PER_SECOND, at, entity, hexed, key
from tests.e2e.life import Life
from tests.e2e.rest import Rest, same
from tests.ledger.ingest.load import stored


def check(rest: Rest, world: World, choose: Random) -> None:
    deployed = sorted(world.contracts.deployed.values(), key=lambda one: one.number)
    found = rest.all("contracts", "contracts", order="asc")
    for row in found:
        assert row.pop("timestamp")["to"] is None
    same(found, [record(world, one) for one in deployed], "/contracts")
    # The endpoint shows the file of a contract that was made from one.
    same(stored("contract", "id, initcode"), [(one.number, one.initcode) for one in deployed], "contract")
    for contract in deployed:
        path = f"contracts/{any_id(world, contract, choose)}"
        shown = rest.get(f"contracts/0.0.{contract.number}")
        expected = record(world, contract) | {"timestamp": shown["timestamp"], **bytecode(world, contract)}
        same(shown, expected, path)
        slots = sorted(contract.slots.items())
        order = choose.choice(("asc", "desc"))
        expected_slots = [slot_json(contract, slot, one.value, one.modified) for slot, one in slots]
        rows = rest.all(f"{path}/state", "state", order=order)
        same(rows, expected_slots if order == "asc" else expected_slots[::-1], path, "state")


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    """Check the storage of contracts at random times. Slots that were only read by then are 0."""
    instants = life.known(blocks)
    for instant in choose.sample(instants, min(len(instants), 4)):
        world = instant.world
        deployed = list(world.contracts.deployed.values())
        for contract in choose.sample(deployed, min(len(deployed), 3)):
            _check_contract_at(rest, world, contract, str(at(instant.any_time(choose))))


def _check_contract_at(rest: Rest, world: World, contract: Contract, time: str) -> None:
    path = f"contracts/0.0.{contract.number}"
    rows = rest.all(f"{path}/state", "state", timestamp=f"lte:{time}")
    values = {int(row["slot"], 16): int(row["value"], 16) for row in rows}
    read = {slot: 0 for slot in values if slot not in contract.slots}
    same(values, {slot: one.value for slot, one in contract.slots.items()} | read, path, "state", time)
    for row in rows:
        if slot := contract.slots.get(int(row["slot"], 16)):
            assert str(at(slot.modified)) <= row["timestamp"] <= time, (path, row)
    shown = rest.get(path, timestamp=time)
    # The nonce is the last one that this version of the contract had.
    assert shown["nonce"] >= world.accounts[contract.number].nonce, (path, time)
    expected = record(world, contract) | bytecode(world, contract)
    same(shown, expected | {"timestamp": shown["timestamp"], "nonce": shown["nonce"]}, path, time)


# JSON
def record(world: World, contract: Contract) -> dict[str, Any]:
    account = world.accounts[contract.number]
    expiration = account.expiration
    if expiration is None and account.auto_renew_period is not None:
        expiration = account.created + account.auto_renew_period * NANOS_PER_SECOND
    return {
        "admin_key": key(account.key),
        "auto_renew_account": entity(contract.auto_renew_account),
        "auto_renew_period": account.auto_renew_period,
        "contract_id": entity(contract.number),
        "created_timestamp": at(account.created),
        "deleted": account.deleted,
        "evm_address": hexed(contract.address),
        "expiration_timestamp": at(expiration),
        "file_id": entity(contract.file),
        "max_automatic_token_associations": account.max_automatic_token_associations,
        "memo": account.memo,
        "nonce": account.nonce,
        "obtainer_id": entity(contract.obtainer),
        "permanent_removal": False if account.deleted else None,
        "proxy_account_id": None,
    }


def bytecode(world: World, contract: Contract) -> dict[str, Any]:
    """Return the init code: the text of the file if there is one, which has no constructor arguments."""
    initcode = hexed(contract.initcode)
    if contract.file is not None:
        initcode = f"0x{world.files[contract.file].contents.decode()}"
    return {"bytecode": initcode, "runtime_bytecode": hexed(contract.code)}


def slot_json(contract: Contract, slot: int, value: int, modified: int) -> dict[str, Any]:
    return {
        "address": hexed(contract.address),
        "contract_id": entity(contract.number),
        "timestamp": at(modified),
        "slot": f"0x{slot:064x}",
        "value": f"0x{value:064x}",
    }


def any_id(world: World, contract: Contract, choose: Random) -> str:
    """Return a name that a client may use for a contract; a deleted one only has its number."""
    ids = [f"0.0.{contract.number}"]
    if not world.accounts[contract.number].deleted:
        ids.append(f"0x{contract.address.hex()}")
    return choose.choice(ids)
