"""Hooks (HIP-1195): the messages that create and store them, and running their code."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.core.values.hashes import keccak256
from mirror.demo.evm import sidecars
from mirror.demo.evm.execution import Execution, Request, execute
from mirror.demo.evm.ledgers import HOOK_ADDRESS, HOOK_CONTRACT, HookLedger
from mirror.demo.evm.run import place
from mirror.demo.evm.sidecars import shortest
from mirror.demo.network import Network
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Hook

# The storage of the hook's contract: two numbers and a mapping.
LIMIT, CALLS, ALLOWED = 0, 1, 2


def owner_id(owner: Account) -> dict[str, int]:
    """Return the HookEntityId of an account or contract."""
    return {"contract_id" if owner.is_contract else "account_id": owner.number}


def create(network: Network, owner: Account, number: int, *, limit: int, allowed: Iterable[Account]) -> Any:
    """Create a hook with the next transaction. Return the HookCreationDetails for its body."""
    contracts = network.world.contracts
    runs = network.choose.choice(contracts.living["AllowanceHook"])
    before = contracts.hooks.get((owner.number, number))
    hook = Hook(owner.number, number, runs, network.now, admin_key=owner.key)
    if before is not None:
        hook.slots = before.slots
    contracts.hooks[owner.number, number] = hook
    updates = write(hook, {LIMIT: limit}, {account.address: 1 for account in allowed}, network.now)
    code = {"spec": {"contract_id": runs}, "storage_updates": updates}
    return {"hook_id": number, "evm_hook": code, "admin_key": owner.key}


def write(
    hook: Hook, slots: Mapping[int, int], entries: Mapping[bytes, int], at: int
) -> list[dict[str, Any]]:
    """Write storage of a hook. Return the EvmHookStorageUpdate messages.

    `entries` are those of the mapping of allowed accounts; a key longer than an address is hashed.
    """
    updates: list[dict[str, Any]] = []
    for slot, value in slots.items():
        hook.put(shortest(slot), shortest(value), at)
        updates.append({"storage_slot": {"key": shortest(slot), "value": shortest(value)}})
    messages = []
    for name, value in entries.items():
        hashed = len(name) > 20
        key = keccak256(name) if hashed else name.rjust(32, b"\0")
        hook.put(keccak256(key + ALLOWED.to_bytes(32, "big")), shortest(value), at)
        messages.append({"preimage" if hashed else "key": name, "value": shortest(value)})
    if messages:
        updates.append({"mapping_entries": {"mapping_slot": shortest(ALLOWED), "entries": messages}})
    return updates


def run(network: Network, hook: Hook, payer: Account, data: bytes, gas: int) -> tuple[Execution, list[Any]]:
    """Run the code of a hook on its storage, which stays as it is. Return the execution and its sidecars."""
    code = network.world.contracts.deployed[hook.contract].code
    request = Request(payer.address, data, gas, to=HOOK_ADDRESS)
    done = execute(request, place(network), HookLedger(hook, code))
    return done, sidecars.of(done, {HOOK_ADDRESS: HOOK_CONTRACT}.get, payer.number)
