"""Contracts: deploying, changing and deleting them. They are called in `calls` and `coins`."""

from typing import Any, NamedTuple

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import FileID, Key
from mirror.demo.actions.accounts import people
from mirror.demo.actions.contracts import sending
from mirror.demo.actions.contracts.sending import ContractCall
from mirror.demo.actions.files import key_list, store
from mirror.demo.evm import hooks
from mirror.demo.evm.execution import Request, intrinsic_gas
from mirror.demo.evm.run import Run, contract_id
from mirror.demo.evm.solidity import compiled
from mirror.demo.network import Network, NotPossible, both, required, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, HBAR, Account
from mirror.demo.world.contracts import Contract, Result
from mirror.demo.world.files import APPEND, Change, File

COIN_UNIT = 10**8  # decimals

_GAS = 2_000_000
_INLINE_BYTES = 2_000
_CHUNK = 4_096
# The most contracts of each kind. The first of each kind are deployed in this order.
_MOST = {
    "Coin": 3, "Counter": 5, "Collectible": 2, "Factory": 2, "Exchange": 2, "Faults": 1, "AllowanceHook": 2,
    "Till": 1, "Steward": 1,
}  # fmt: skip
# The kind that is deleted sometimes, which takes an admin key.
_DELETABLE = "Counter"
_COINS = (
    ("Copper Crown", "CRWN"),
    ("Harbour Credit", "HBRC"),
    ("Orchard Point", "ORCH"),
    ("Kestrel", "KSTL"),
)
_COLLECTIONS = (
    ("Postcards of the Coast", "CARD", "ipfs://bafybeihpostcards/"),
    ("Glass Birds", "BIRD", "ipfs://bafybeiglassbirds/"),
    ("Night Maps", "NMAP", "ipfs://bafybeinightmaps/"),
)


def deploy(network: Network) -> None:
    """Deploy a contract, its code inline or in a file, or by an Ethereum transaction."""
    kind, owner = both(_wanted(network), network.find_person(at_least=300 * HBAR, settled=True))
    creation, arguments = compiled(kind).creation, compiled(kind).arguments(*_arguments(network, kind))
    by_ethereum = sending.signs_ethereum(owner) and kind != _DELETABLE
    file = None
    if len(creation) + len(arguments) > _INLINE_BYTES:
        file = upload(network, owner, creation + arguments if by_ethereum else creation)
    if by_ethereum:
        creating = ContractCall(owner, None, creation + arguments, _GAS, file=file)
        result = sending.by_ethereum(network, creating)
    else:
        result = _create(network, owner, Creation(kind, creation, arguments, file))
    _deployed(network, result, kind, owner, file)
    if file is not None:
        discard(network, owner, file)


def deploy_in_vain(network: Network) -> None:
    """Deploy a contract with too little gas for the code."""
    owner = network.person()
    creation = compiled("Counter").creation + compiled("Counter").arguments(1)
    gas = intrinsic_gas(creation, creates=True) + network.choose.randrange(20_000, 60_000)
    _create(network, owner, Creation("Counter", creation, gas=gas))


def change(network: Network) -> None:
    """Change the memo, the renewal or the automatic associations of a contract."""
    contract, admin = required(find_changeable(network))
    itself = network.world.accounts[contract.number]
    body: dict[str, Any] = {"contractID": contract_id(contract.number)}
    match network.choose.randrange(3):
        case 0:
            itself.memo = f"{contract.kind}, version {network.choose.randrange(2, 10)}"
            body["memoWrapper"] = {"value": itself.memo}
        case 1:
            itself.max_automatic_token_associations = network.choose.randrange(0, 50)
            body["max_automatic_token_associations"] = {"value": itself.max_automatic_token_associations}
        case _:
            itself.auto_renew_period = network.choose.randrange(30, 92) * 86_400
            body["autoRenewPeriod"] = {"seconds": itself.auto_renew_period}
    network.submit(
        "contractUpdateInstance",
        body,
        payer=admin.number,
        receipt={"contractID": contract_id(contract.number)},
    )


def delete(network: Network) -> None:
    """Delete a counter, whose hbars go to some person."""
    (contract, admin), obtainer = both(
        find_changeable(network, kind=_DELETABLE, unhooked=True), network.find_person()
    )
    contracts = network.world.contracts
    if len(contracts.living[_DELETABLE]) < 2:
        raise NotPossible
    itself = network.world.accounts[contract.number]
    itself.deleted = True
    contract.obtainer = obtainer.number
    contracts.leave(contract)
    held = itself.balance
    network.submit(
        "contractDeleteInstance",
        {"contractID": contract_id(contract.number), "transferAccountID": account(obtainer.number)},
        payer=admin.number,
        receipt={"contractID": contract_id(contract.number)},
        transfers={contract.number: -held, obtainer.number: held} if held else None,
    )


def upload(network: Network, owner: Account, content: bytes) -> int:
    """Store bytes in a new file as hex text, in as many transactions as it takes. Return its number."""
    number, text = network.new_number(), content.hex().encode()
    assert owner.key is not None
    stored = File(number, network.now, owner.number, key_list(owner.key), "Contract code")
    first, *others = (text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK))
    store(network, stored, first)
    for contents in others:
        stored.changes.append(Change(network.now, APPEND, contents))
        network.submit(
            "fileAppend", {"fileID": FileID(fileNum=number), "contents": contents}, payer=owner.number
        )
    return number


def discard(network: Network, owner: Account, file: int) -> None:
    """Delete a file that is no longer needed."""
    network.world.files[file].deleted = True
    network.submit("fileDelete", {"fileID": FileID(fileNum=file)}, payer=owner.number)


def _wanted(network: Network) -> str | None:
    """Return a kind of contract to deploy: one that is missing, or one with room for more."""
    living = network.world.contracts.living
    for kind in _MOST:
        if not living.get(kind):
            return kind
    if len(living[_DELETABLE]) < 2:
        return _DELETABLE
    kinds = [kind for kind, most in _MOST.items() if len(living[kind]) < most]
    return network.find(kinds)


def _arguments(network: Network, kind: str) -> tuple[object, ...]:
    """Return the constructor arguments."""
    contracts, choose = network.world.contracts, network.choose
    made = contracts.made[kind]
    if kind == "Coin":
        return (*_COINS[made % len(_COINS)], choose.randrange(1, 50) * 1_000_000 * COIN_UNIT)
    if kind == "Collectible":
        times, place = divmod(made, len(_COLLECTIONS))
        name, symbol, address = _COLLECTIONS[place]
        return (people.numbered(name, times), symbol, address)
    if kind == "Counter":
        return (choose.randrange(100),)
    if kind == "Exchange":
        return (choose.choice(contracts.of("Coin")).address,)
    return ()


class Creation(NamedTuple):
    """What a ContractCreate says: the kind of contract, its init code (in a file or inline) and arguments."""

    kind: str
    code: bytes
    arguments: bytes = b""
    file: int | None = None
    gas: int = _GAS


def _create(network: Network, owner: Account, creation: Creation) -> Result:
    """Create a contract by a ContractCreate, at its long-zero address."""
    kind, gas, data = creation.kind, creation.gas, creation.code + creation.arguments
    address = entity_id.long_zero(network.world.next_number)
    value = network.choose.randrange(1, 20) * HBAR if kind == "Counter" else 0
    run = Run(network, owner, Request(owner.address, data, gas, value, created=address), ())
    body: dict[str, Any] = {
        "gas": gas,
        "initialBalance": value,
        "autoRenewPeriod": {"seconds": AUTO_RENEW_PERIOD},
        "auto_renew_account_id": account(owner.number),
        "memo": f"{kind} of {owner.memo.partition(', ')[0]}",
    }
    if creation.file is None:
        body["initcode"] = data
    else:
        body |= {"fileID": FileID(fileNum=creation.file), "constructorParameters": creation.arguments}
    if kind == _DELETABLE or network.choose.random() < 0.7:
        assert owner.key is not None
        body["adminKey"] = Key.FromString(owner.key)
    itself = network.world.accounts[run.created[0].number] if run.created else None
    if itself is not None:
        _own(network, owner, run.created[0], itself, body)
    composed = network.submit(
        "contractCreateInstance",
        body,
        payer=owner.number,
        receipt={} if itself is None else {"contractID": contract_id(itself.number)},
        record={"contractCreateResult": run.function_result()},
        transfers=run.transfers,
        result=run.execution.result,
        fee=network.fee("contractCreateInstance") + run.gas_fee,
        sidecars=run.sidecars(bytecode=True),
    )
    return run.finish(composed, composed.record.transactionHash[:32], itself=itself, payer=owner.number)


def _own(network: Network, owner: Account, contract: Contract, itself: Account, body: dict[str, Any]) -> None:
    """Set the properties of a contract from the body of its creation; sometimes add a hook."""
    itself.memo = body["memo"]
    contract.auto_renew_account = owner.number
    network.world.bound.add(owner.number)
    if "adminKey" in body:
        itself.key, contract.admin = owner.key, owner.number
    living = network.world.contracts.living
    if living.get("AllowanceHook") and contract.kind != _DELETABLE and network.choose.random() < 0.3:
        details = hooks.create(network, itself, 1, limit=HBAR, allowed=[owner])
        body["hook_creation_details"] = [details]


def _deployed(network: Network, result: Result, kind: str, owner: Account, file: int | None) -> None:
    """Record the data of the new contract that later calls need."""
    if result.contract is None:
        raise RuntimeError(f"a {kind} can't be deployed: {result.result}")
    contract = network.world.contracts.deployed[result.contract]
    contract.file, contract.owner = file, owner.number
    if kind == "Coin":
        contract.parties.append(owner.number)
    if kind == "Exchange":
        coin = contract.slots[0].value.to_bytes(20, "big")
        contract.trades = network.world.contracts.by_address[coin]


def find_changeable(
    network: Network, kind: str | None = None, *, unhooked: bool = False
) -> tuple[Contract, Account] | None:
    """Return a contract, one without hooks if `unhooked`, and the account that may change it."""
    contracts, accounts = network.world.contracts, network.world.accounts
    able: list[Contract] = [
        contract
        for of_kind in ([kind] if kind else list(contracts.living))
        for contract in contracts.of(of_kind)
        if contract.admin is not None
        and not accounts[contract.admin].deleted
        and not (unhooked and contracts.hooks_of(contract.number))
    ]
    if not able:
        return None
    contract = network.choose.choice(able)
    assert contract.admin is not None
    admin = accounts[contract.admin]
    return (contract, admin) if admin.balance > HBAR else None


ACTIONS = weighted((2, deploy), (0, deploy_in_vain, change, delete))
