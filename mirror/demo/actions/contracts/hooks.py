"""Hooks (HIP-1195): attaching them to accounts and contracts, storing, running and detaching them."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.core.values.ethereum import stripped
from mirror.core.values.hashes import keccak256
from mirror.demo.actions import people
from mirror.demo.actions.contracts.sending import find_changeable, submit_change
from mirror.demo.evm import sidecars
from mirror.demo.evm.execution import HOOK_ADDRESS, HOOK_CONTRACT, HookState, execute
from mirror.demo.evm.run import NO_BLOOM, block_of
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Network, pair, require, required, weighted
from mirror.demo.streams.record_files import ComposedTransaction
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import MAX_HOOKS_OF_ONE, Hook, Result
from web3sim.engine.interface import CallRequest, Profile

_MAX_HOOKS = 60
_GAS = 80_000
# The storage of the hook's contract: two numbers and a mapping.
LIMIT, CALLS, ALLOWED = 0, 1, 2


def attach(network: Network) -> None:
    owner = payer = network.person()
    require(_may_attach(network))
    if network.counts["hook_dispatch"] and network.choose.random() < 0.3:
        contract, payer = required(find_changeable(network))
        owner = network.world.accounts[contract.number]
    taken = {hook.hook_id for hook in network.world.contracts.hooks_of(owner.number)}
    free = (number for number in range(1, MAX_HOOKS_OF_ONE + 1) if number not in taken)
    details = _details(network, owner, required(next(free, None)))
    parent = _submit_change(network, owner, {"hook_creation_details": [details]}, payer=payer.number)
    if parent:
        creation = {"entity_id": owner_id(owner), "details": details}
        network.submit("hook_dispatch", {"creation": creation}, payer=payer.number, parent=parent, nonce=1)


def _submit_change(
    network: Network, owner: Account, body: dict[str, Any], *, payer: int
) -> ComposedTransaction | None:
    """Change a contract, or an account; return the transaction of that."""
    if owner.is_contract:
        submit_change(network, owner.number, body, payer=payer)
        return None
    return network.submit("cryptoUpdateAccount", {"accountIDToUpdate": owner.number, **body}, payer=payer)


def open_account(network: Network) -> None:
    """Open an account that has a hook from the start."""
    payer = network.person(at_least=1_000 * HBAR)
    require(people.has_room(network) and _may_attach(network))
    people.open_account(
        network,
        name=people.next_name(network),
        ecdsa=False,
        payer=payer.number,
        hooks=lambda opened: [_details(network, opened, 1)],
    )


def store(network: Network) -> None:
    """Change the limit of a hook, sometimes twice, or the accounts that it always allows."""
    hook, payer = required(_find(network))
    slots, entries, updates = {}, {}, []
    match network.choose.randrange(5):
        case 0:
            slots[LIMIT] = network.choose.randrange(1, 200) * HBAR
        case 1:
            slots |= {LIMIT: network.choose.randrange(1, 200) * HBAR, CALLS: 0}
        case 2:
            updates = write(hook, {LIMIT: HBAR}, {}, network.now)
            slots[LIMIT] = network.choose.randrange(1, 200) * HBAR
        case 3:
            entries[f"friends of {payer.memo}, list {network.choose.randrange(99)}".encode()] = 1
        case _:
            friend = network.person(at_least=0)
            entries[friend.address] = network.choose.randrange(2)
    _store(network, hook, payer, [*updates, *write(hook, slots, entries, network.now)])


def detach(network: Network) -> None:
    """Delete a hook, after freeing its storage, as the network requires."""
    hook, payer = required(_find(network))
    used = [key for key, slot in hook.slots.items() if slot.value]
    if used:
        for key in used:
            hook.put(key, b"", network.now)
        _store(network, hook, payer, [{"storage_slot": {"key": key, "value": b""}} for key in used])
    hook.deleted = True
    owner = network.world.accounts[hook.owner]
    _submit_change(network, owner, {"hook_ids_to_delete": [hook.hook_id]}, payer=payer.number)


def pull_hbars(network: Network) -> None:
    """Take hbars from an account whose hook permits it."""
    (hook, owner), recipient = pair(_find(network), network.find_person())
    require(owner.number == hook.owner and recipient is not owner)
    stored = hook.slots.get(LIMIT.to_bytes(32, "big"))
    limit = int.from_bytes(stored.value, "big") if stored else 0
    require(limit)
    amount = network.choose.randrange(1, min(limit, owner.balance // 20) + 1)
    data = call_data("permits(address,uint256)", recipient.address, amount)
    called = {"hook_id": hook.hook_id, "evm_hook_call": {"data": data, "gas_limit": _GAS}}
    debit = {"accountID": owner.number, "amount": -amount, "pre_tx_allowance_hook": called}
    credit = {"accountID": recipient.number, "amount": amount}
    parent = network.submit(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": [debit, credit]}},
        payer=recipient.number,
        transfers={owner.number: -amount, recipient.number: amount},
    )
    _run(network, hook, recipient, data, parent)


def _run(network: Network, hook: Hook, payer: Account, data: bytes, parent: ComposedTransaction) -> None:
    """Run the hook of a transfer, as a child of it: a call of the system contract that runs hooks."""
    # The storage stays as it is until then.
    code = network.world.contracts.deployed[hook.contract].code
    # By plain Cancun: the network's own rules hide code at such an address.
    request = CallRequest(payer.address, HOOK_ADDRESS, data, _GAS, profile=Profile.ETHEREUM)
    done = execute(request, block_of(network), HookState(hook, code))
    at = network.now
    for (_, slot), change in done.call.slots.items():
        if change.written is not None:
            hook.put(slot.to_bytes(32, "big"), change.written.to_bytes(32, "big"), at)
    called = {"contractID": HOOK_CONTRACT}
    result = {
        **called,
        "contractCallResult": done.call.output,
        "bloom": NO_BLOOM,
        "gasUsed": done.call.gas_used,
        "sender_id": payer.number,
    }
    composed = network.submit(
        "contractCall",
        {**called, "gas": _GAS, "functionParameters": data},
        payer=payer.number,
        receipt=called,
        record={"contractCallResult": result},
        parent=parent,
        nonce=1,
        sidecars=sidecars.create_sidecars(done, {HOOK_ADDRESS: HOOK_CONTRACT}.get, payer.number),
    )
    known = (composed.consensus_timestamp, HOOK_CONTRACT, payer.number, composed.hash, done.result, _GAS)
    network.world.contracts.results.append(
        Result(*known, done.call.gas_used, parameters=data, output=done.call.output)
    )


def owner_id(owner: Account) -> dict[str, int]:
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
        hook.put(stripped(slot), stripped(value), at)
        updates.append({"storage_slot": {"key": stripped(slot), "value": stripped(value)}})
    messages = []
    for name, value in entries.items():
        hashed = len(name) > 20
        key = keccak256(name) if hashed else name.rjust(32, b"\0")
        hook.put(keccak256(key + ALLOWED.to_bytes(32, "big")), stripped(value), at)
        messages.append({"preimage" if hashed else "key": name, "value": stripped(value)})
    if messages:
        updates.append({"mapping_entries": {"mapping_slot": stripped(ALLOWED), "entries": messages}})
    return updates


def _details(network: Network, owner: Account, number: int) -> Any:
    limit = network.choose.randrange(1, 100) * HBAR
    friend = network.find_person(at_least=0)
    return create(network, owner, number, limit=limit, allowed=[friend] if friend else [])


def _store(network: Network, hook: Hook, payer: Account, updates: list[dict[str, Any]]) -> None:
    entity = owner_id(network.world.accounts[hook.owner])
    body = {"hook_id": {"entity_id": entity, "hook_id": hook.hook_id}, "storage_updates": updates}
    network.submit("hook_store", body, payer=payer.number)


def _living(network: Network) -> list[Hook]:
    return [hook for hook in network.world.contracts.hooks.values() if not hook.deleted]


def _may_attach(network: Network) -> bool:
    """Return whether there is a hook contract, and room for one more hook."""
    return bool(network.world.contracts.all("AllowanceHook")) and len(_living(network)) < _MAX_HOOKS


def _find(network: Network) -> tuple[Hook, Account] | None:
    """Return a hook that is not deleted, and the account that may change it."""
    contracts, accounts = network.world.contracts, network.world.accounts
    hook = network.find(_living(network))
    if hook is None:
        return None
    owner = accounts[hook.owner]
    if owner.is_contract:
        admin = contracts.deployed[hook.owner].admin
        if admin is None or owner.deleted:
            return None
        owner = accounts[admin]
    return None if owner.deleted or owner.balance < HBAR else (hook, owner)


ACTIONS = weighted((0, attach, open_account), (1, store), (0, detach), (1, pull_hbars))
