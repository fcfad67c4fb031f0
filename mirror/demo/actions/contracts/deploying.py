"""Contracts: deploying, changing and deleting them. They are called in `calls` and `coins`."""

from typing import Any, NamedTuple

from mirror.core.values import entity_id
from mirror.demo.actions import files, people
from mirror.demo.actions.contracts import hooks, sending
from mirror.demo.actions.contracts.sending import ContractCall, find_changeable, submit_change
from mirror.demo.evm.run import Run
from mirror.demo.evm.solidity import compiled
from mirror.demo.network import Network, pair, require, required, weighted
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, HBAR, Account
from mirror.demo.world.contracts import Contract, Result
from mirror.demo.world.files import File
from web3sim.engine.interface import CallRequest
from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas

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
    kind, owner = pair(_wanted(network), network.find_person(at_least=300 * HBAR, settled=True))
    creation, arguments = compiled(kind).creation, compiled(kind).arguments(*_arguments(network, kind))
    by_ethereum = sending.signs_ethereum(owner) and kind != _DELETABLE
    file = None
    if len(creation) + len(arguments) > _INLINE_BYTES:
        file = _upload(network, owner, creation + arguments if by_ethereum else creation)
    number = file.number if file else None
    if by_ethereum:
        creating = ContractCall(owner, None, creation + arguments, _GAS, file=number)
        result = sending.by_ethereum(network, creating)
    else:
        result = _create(network, owner, Creation(kind, creation, arguments, number))
    if result.contract is None:
        raise RuntimeError(f"a {kind} can't be deployed: {result.result}")
    # What later calls need.
    contract = network.world.contracts.deployed[result.contract]
    contract.file, contract.owner = number, owner.number
    if kind == "Coin":
        contract.parties.append(owner.number)
    if kind == "Exchange":
        coin = contract.slots[0].value.to_bytes(20, "big")
        contract.trades = network.world.contracts.by_address[coin]
    if file is not None:
        files.remove(network, file)


def deploy_invalid(network: Network) -> None:
    """Deploy a contract with too little gas for the code."""
    owner = network.person()
    creation = compiled("Counter").creation + compiled("Counter").arguments(1)
    gas = intrinsic_gas(creation, creates=True) + network.choose.randrange(20_000, 60_000)
    _create(network, owner, Creation("Counter", creation, gas=gas))


def change(network: Network) -> None:
    contract, admin = required(find_changeable(network))
    itself = network.world.accounts[contract.number]
    body: dict[str, Any] = {}
    match network.choose.randrange(3):
        case 0:
            version = network.choose.randrange(2, 10)
            itself.memo = body["memoWrapper"] = f"{contract.kind}, version {version}"
        case 1:
            limit = network.choose.randrange(0, 50)
            itself.max_automatic_token_associations = body["max_automatic_token_associations"] = limit
        case _:
            itself.auto_renew_period = body["autoRenewPeriod"] = network.choose.randrange(30, 92) * 86_400
    submit_change(network, contract.number, body, payer=admin.number)


def delete(network: Network) -> None:
    """Delete a counter, whose hbars go to some person."""
    (contract, admin), obtainer = pair(
        find_changeable(network, kind=_DELETABLE, unhooked=True), network.find_person()
    )
    contracts = network.world.contracts
    require(len(contracts.living[_DELETABLE]) >= 2)
    itself = network.world.accounts[contract.number]
    itself.deleted = True
    contract.obtainer = obtainer.number
    contracts.retire(contract)
    balance = itself.balance
    network.submit(
        "contractDeleteInstance",
        {"contractID": contract.number, "transferAccountID": obtainer.number},
        payer=admin.number,
        receipt={"contractID": contract.number},
        transfers={contract.number: -balance, obtainer.number: balance} if balance else None,
    )


def _upload(network: Network, owner: Account, content: bytes) -> File:
    """Store bytes in a new file as hex text, in as many transactions as it takes."""
    text = content.hex().encode()
    assert owner.key is not None
    keys = files.key_list(owner.key)
    file = File(network.new_number(), network.now, owner.number, keys, "Contract code")
    first, *others = (text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK))
    files.store(network, file, first)
    for contents in others:
        files.add(network, file, contents)
    return file


def _wanted(network: Network) -> str | None:
    """Return a kind of contract to deploy: one that is missing, or one with room for more."""
    living = network.world.contracts.living
    for kind in _MOST:
        if not living.get(kind):
            return kind
    if len(living[_DELETABLE]) < 2:
        return _DELETABLE
    return network.find([kind for kind, most in _MOST.items() if len(living[kind]) < most])


def _arguments(network: Network, kind: str) -> tuple[object, ...]:
    contracts, choose = network.world.contracts, network.choose
    made = contracts.made[kind]
    match kind:
        case "Coin":
            return (*_COINS[made % len(_COINS)], choose.randrange(1, 50) * 1_000_000 * COIN_UNIT)
        case "Collectible":
            times, index = divmod(made, len(_COLLECTIONS))
            name, symbol, address = _COLLECTIONS[index]
            return (people.numbered(name, times), symbol, address)
        case "Counter":
            return (choose.randrange(100),)
        case "Exchange":
            return (choose.choice(contracts.all("Coin")).address,)
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
    request = CallRequest(owner.address, None, data, gas, value, new_contract_address=address)
    run = Run(network, owner, request, ())
    body: dict[str, Any] = {
        "gas": gas,
        "initialBalance": value,
        "autoRenewPeriod": AUTO_RENEW_PERIOD,
        "auto_renew_account_id": owner.number,
        "memo": f"{kind} of {owner.memo.partition(', ')[0]}",
    }
    if creation.file is None:
        body["initcode"] = data
    else:
        body |= {"fileID": creation.file, "constructorParameters": creation.arguments}
    if kind == _DELETABLE or network.choose.random() < 0.7:
        body["adminKey"] = owner.key
    itself = network.world.accounts[run.created[0].number] if run.created else None
    if itself is not None:
        _own(network, owner, run.created[0], itself, body)
    outcome = run.outcome("contractCreateResult", fee=network.fee("contractCreateInstance"))
    composed = network.submit("contractCreateInstance", body, payer=owner.number, **outcome)
    return run.finish(composed, itself=itself, payer=owner.number)


def _own(network: Network, owner: Account, contract: Contract, itself: Account, body: dict[str, Any]) -> None:
    """Set the properties of a contract from the body of its creation; sometimes add a hook."""
    itself.memo = body["memo"]
    contract.auto_renew_account = owner.number
    network.world.bound.add(owner.number)
    if "adminKey" in body:
        itself.key, contract.admin = owner.key, owner.number
    living = network.world.contracts.living
    if living.get("AllowanceHook") and contract.kind != _DELETABLE and network.choose.random() < 0.3:
        body["hook_creation_details"] = [hooks.create(network, itself, 1, limit=HBAR, allowed=[owner])]


ACTIONS = weighted((2, deploy), (0, deploy_invalid, change, delete))
