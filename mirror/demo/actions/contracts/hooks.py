"""Hooks (HIP-1195): attaching them to accounts and contracts, storing, running and detaching them."""

from typing import Any

from mirror.demo.actions.accounts import people
from mirror.demo.actions.contracts.deploying import find_changeable
from mirror.demo.evm import hooks
from mirror.demo.evm.hooks import CALLS, LIMIT
from mirror.demo.evm.ledgers import HOOK_ADDRESS, HOOK_CONTRACT
from mirror.demo.evm.run import NO_BLOOM, contract_id
from mirror.demo.evm.solidity import call_data
from mirror.demo.network import Network, NotPossible, both, required, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.contracts import MOST_HOOKS_OF_ONE, Hook, Result

_MOST_HOOKS = 60
_GAS = 80_000


def attach(network: Network) -> None:
    """Attach a hook to an account or a contract."""
    payer = network.person()
    if not _may_attach(network):
        raise NotPossible
    owner = payer
    if network.counts["hook_dispatch"] and network.choose.random() < 0.3:
        contract, admin = required(find_changeable(network))
        owner, payer = network.world.accounts[contract.number], admin
    number = _free(network, owner)
    if number is None:
        raise NotPossible
    details = _details(network, owner, number)
    if owner.is_contract:
        changed = contract_id(owner.number)
        network.submit(
            "contractUpdateInstance",
            {"contractID": changed, "hook_creation_details": [details]},
            payer=payer.number,
            receipt={"contractID": changed},
        )
        return
    parent = network.submit(
        "cryptoUpdateAccount",
        {"accountIDToUpdate": account(owner.number), "hook_creation_details": [details]},
        payer=payer.number,
    )
    network.submit(
        "hook_dispatch",
        {"creation": {"entity_id": hooks.owner_id(owner), "details": details}},
        payer=payer.number,
        parent=parent,
        nonce=1,
    )


def open_account(network: Network) -> None:
    """Open an account that has a hook from the start."""
    payer = network.person(at_least=1_000 * HBAR)
    if not people.has_room(network) or not _may_attach(network):
        raise NotPossible
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
            updates = hooks.write(hook, {LIMIT: HBAR}, {}, network.now)
            slots[LIMIT] = network.choose.randrange(1, 200) * HBAR
        case 3:
            entries[f"friends of {payer.memo}, list {network.choose.randrange(99)}".encode()] = 1
        case _:
            friend = network.person(at_least=0)
            entries[friend.address] = network.choose.randrange(2)
    _store(network, hook, payer, [*updates, *hooks.write(hook, slots, entries, network.now)])


def detach(network: Network) -> None:
    """Delete a hook, after freeing its storage, as the network requires."""
    hook, payer = required(_find(network))
    used = [key for key, slot in hook.slots.items() if slot.value]
    if used:
        for key in used:
            hook.put(key, b"", network.now)
        _store(network, hook, payer, [{"storage_slot": {"key": key, "value": b""}} for key in used])
    hook.deleted = True
    if network.world.accounts[hook.owner].is_contract:
        body = {"contractID": contract_id(hook.owner), "hook_ids_to_delete": [hook.hook_id]}
        receipt = {"contractID": contract_id(hook.owner)}
        network.submit("contractUpdateInstance", body, payer=payer.number, receipt=receipt)
    else:
        body = {"accountIDToUpdate": account(hook.owner), "hook_ids_to_delete": [hook.hook_id]}
        network.submit("cryptoUpdateAccount", body, payer=payer.number)


def collect(network: Network) -> None:
    """Take hbars from an account whose hook permits it."""
    (hook, owner), taker = both(_find(network), network.find_person())
    if owner.number != hook.owner or taker is owner:
        raise NotPossible
    limit = hook.slots.get(LIMIT.to_bytes(32, "big"))
    if limit is None or not limit.value:
        raise NotPossible
    amount = network.choose.randrange(1, min(int.from_bytes(limit.value, "big"), owner.balance // 20) + 1)
    data = call_data("permits(address,uint256)", taker.address, amount)
    called = {"hook_id": hook.hook_id, "evm_hook_call": {"data": data, "gas_limit": _GAS}}
    debit = {"accountID": account(owner.number), "amount": -amount, "pre_tx_allowance_hook": called}
    credit = {"accountID": account(taker.number), "amount": amount}
    parent = network.submit(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": [debit, credit]}},
        payer=taker.number,
        transfers={owner.number: -amount, taker.number: amount},
    )
    _run(network, hook, taker, data, parent)


def _run(network: Network, hook: Hook, payer: Account, data: bytes, parent: Any) -> None:
    """Run the hook of a transfer, as a child of it: a call of the system contract that runs hooks."""
    done, sidecars = hooks.run(network, hook, payer, data, _GAS)
    at = network.now
    for slot, change in done.slots[HOOK_ADDRESS].items():
        if change.written is not None:
            hook.put(slot.to_bytes(32, "big"), change.written.to_bytes(32, "big"), at)
    called = contract_id(HOOK_CONTRACT)
    composed = network.submit(
        "contractCall",
        {"contractID": called, "gas": _GAS, "functionParameters": data},
        payer=payer.number,
        receipt={"contractID": called},
        record={
            "contractCallResult": {
                "contractID": called,
                "contractCallResult": done.output,
                "bloom": NO_BLOOM,
                "gasUsed": done.gas_used,
                "sender_id": account(payer.number),
            }
        },
        parent=parent,
        nonce=1,
        sidecars=sidecars,
    )
    parties = (HOOK_CONTRACT, payer.number, composed.record.transactionHash[:32])
    gas = (done.result, _GAS, done.gas_used)
    result = Result(composed.consensus_timestamp, *parties, *gas, parameters=data, output=done.output)
    network.world.contracts.results.append(result)


def _details(network: Network, owner: Account, number: int) -> Any:
    limit = network.choose.randrange(1, 100) * HBAR
    friend = network.find_person(at_least=0)
    return hooks.create(network, owner, number, limit=limit, allowed=[friend] if friend else [])


def _store(network: Network, hook: Hook, payer: Account, updates: list[dict[str, Any]]) -> None:
    owner = network.world.accounts[hook.owner]
    network.submit(
        "hook_store",
        {"hook_id": hooks.hook_id(owner, hook.hook_id), "storage_updates": updates},
        payer=payer.number,
    )


def _living(network: Network) -> list[Hook]:
    return [hook for hook in network.world.contracts.hooks.values() if not hook.deleted]


def _may_attach(network: Network) -> bool:
    """Return whether there is a hook contract, and room for one more hook."""
    return bool(network.world.contracts.of("AllowanceHook")) and len(_living(network)) < _MOST_HOOKS


def _free(network: Network, owner: Account) -> int | None:
    """Return a hook id that the owner does not use; None if all are used."""
    taken = {hook.hook_id for hook in network.world.contracts.hooks_of(owner.number)}
    return next((number for number in range(1, MOST_HOOKS_OF_ONE + 1) if number not in taken), None)


def _find(network: Network) -> tuple[Hook, Account] | None:
    """Return a hook that is not deleted, and the account that may change it."""
    contracts, accounts = network.world.contracts, network.world.accounts
    living = _living(network)
    if not living:
        return None
    hook = network.choose.choice(living)
    owner = accounts[hook.owner]
    if owner.is_contract:
        admin = contracts.deployed[hook.owner].admin
        if admin is None or owner.deleted:
            return None
        owner = accounts[admin]
    return None if owner.deleted or owner.balance < HBAR else (hook, owner)


ACTIONS = weighted((0, attach, open_account), (1, store), (0, detach), (1, collect))
