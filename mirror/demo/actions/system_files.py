"""The files of the network: address books, fees, exchange rates, properties, permissions.

Its administrator updates the exchange rates every hour, for free.
"""

from mirror.core import config
from mirror.core.values.hapi import messages
from mirror.core.values.hashes import sha384
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions.files import key_list, store
from mirror.demo.network import Network
from mirror.demo.streams.keys import Ed25519Wallet, nodes
from mirror.demo.streams.plain import compose, serialized
from mirror.demo.streams.record_files import place
from mirror.demo.world.accounts import HBAR, SYSTEM_ADMIN
from mirror.demo.world.fees import EXCHANGE_RATES, SIMPLE_FEES, schedule
from mirror.demo.world.files import APPEND, UPDATE, Change, File

ADDRESS_BOOK, NODE_DETAILS = 101, 102
FEE_SCHEDULE = 111
PROPERTIES, PERMISSIONS = 121, 122

_HOUR = 3600 * NANOS_PER_SECOND
_PORTS = 50_211, 50_212
_PART = 2_048  # bytes a transaction carries
_HBARS = 30_000
_FIRST_CENTS = 360_000
_MIN_CENTS, _MAX_CENTS = 90_000, 900_000
# Price of a unit of gas in thousandths of a tinycent, for the functions that use gas: call, create, Ethereum.
GAS, _WITH_GAS = 852_000, (6, 7, 84)
_FEE_SCHEDULE_YEARS = 10 * 365 * 24 * 3600
_PROPERTIES = {
    "ledger.id": "0x03",
    "contracts.chainId": "298",
    "contracts.maxGasPerSec": "15000000",
    "staking.rewardRate": "6849",
    "scheduling.longTermEnabled": "true",
    "tokens.maxPerAccount": "1000",
}
_PERMISSIONS = {"createAccount": "0-*", "cryptoTransfer": "0-*", "freeze": "2-58", "systemDelete": "2-59"}


def begin(network: Network) -> None:
    files = (
        (ADDRESS_BOOK, "Address book", address_book()),
        (NODE_DETAILS, "Node details", address_book()),
        (FEE_SCHEDULE, "Fee schedule", _fee_schedule(network)),
        (EXCHANGE_RATES, "Exchange rates", _rates(network, _FIRST_CENTS, _FIRST_CENTS)),
        (SIMPLE_FEES, "Simple fees", schedule()),
        (PROPERTIES, "Network properties", _settings(_PROPERTIES)),
        (PERMISSIONS, "Permissions", _settings(_PERMISSIONS)),
    )
    for number, memo, contents in files:
        create(network, number, memo)
        write(network, number, contents)
    network.call_at(_next_hour(network), change_rates)


def create(network: Network, number: int, memo: str) -> None:
    keys = key_list(Ed25519Wallet(SYSTEM_ADMIN).key)
    store(network, File(number, network.now, SYSTEM_ADMIN, keys, memo), b"", fee=0)


def write(network: Network, number: int, contents: bytes) -> None:
    """Replace the contents of a file, in as many transactions as it takes."""
    changes = network.world.files[number].changes
    for start in range(0, len(contents), _PART):
        part = contents[start : start + _PART]
        changes.append(Change(network.now, APPEND if start else UPDATE, part))
        # The network knows that a fee schedule is not complete yet.
        partial = number in (FEE_SCHEDULE, SIMPLE_FEES) and start + _PART < len(contents)
        network.submit(
            "fileAppend" if start else "fileUpdate",
            {"fileID": number, "contents": part},
            payer=SYSTEM_ADMIN,
            result="FEE_SCHEDULE_FILE_PART_UPLOADED" if partial else None,
            fee=0,
        )


def change_rates(network: Network) -> None:
    """Begin a new hour: the next rate becomes the current one."""
    file = network.world.files[EXCHANGE_RATES]
    current = messages.ExchangeRateSet.FromString(file.contents).nextRate.centEquiv
    following = round(current * network.choose.uniform(0.97, 1.03))
    rates = _rates(network, current, min(max(following, _MIN_CENTS), _MAX_CENTS))
    write(network, EXCHANGE_RATES, rates)
    network.call_at(_next_hour(network), change_rates)


def address_book() -> bytes:
    """Return the serialized NodeAddressBook of the nodes that sign."""
    entries = [
        {
            "nodeId": node.node_id,
            "nodeAccountId": node.account_id,
            "RSA_PubKey": node.address_book_node.public_key,
            "nodeCertHash": sha384(f"certificate of node {node.node_id}".encode()).hex().encode(),
            "memo": node.account_text.encode(),
            "description": f"Demo node {node.node_id}",
            "serviceEndpoint": [
                {"ipAddressV4": bytes((127, 0, 0, node.account_id)), "port": port} for port in _PORTS
            ],
        }
        for node in nodes()
    ]
    book = compose(messages.NodeAddressBook, {"nodeAddress": entries})
    place(book, *config.shard_and_realm())
    content: bytes = book.SerializeToString()
    return content


def _rates(network: Network, current: int, following: int) -> bytes:
    """Return the serialized ExchangeRateSet: cents for `_HBARS` hbars, in this hour and the next."""
    ends = _next_hour(network) // NANOS_PER_SECOND
    first, then = (
        {"hbarEquiv": _HBARS, "centEquiv": cents, "expirationTime": {"seconds": seconds}}
        for cents, seconds in ((current, ends), (following, ends + 3600))
    )
    return serialized(messages.ExchangeRateSet, {"currentRate": first, "nextRate": then})


def _next_hour(network: Network) -> int:
    return (network.now // _HOUR + 1) * _HOUR


def _fee_schedule(network: Network) -> bytes:
    """Return the serialized fee schedule: functions without gas have a price of their own."""
    priced = [
        {"hederaFunctionality": function, "fees": [{"servicedata": {"gas": GAS}}]} for function in _WITH_GAS
    ]
    for function in range(1, 60):
        if function not in _WITH_GAS:
            components = {"constant": HBAR * function, "bpt": 1_000 * function, "vpt": 25_000 * function}
            fees = [{"nodedata": components, "networkdata": components, "servicedata": components}]
            priced.append({"hederaFunctionality": function, "fees": fees})
    expiry = {"seconds": network.now // NANOS_PER_SECOND + _FEE_SCHEDULE_YEARS}
    schedule = {"transactionFeeSchedule": priced, "expiryTime": expiry}
    both = {"currentFeeSchedule": schedule, "nextFeeSchedule": schedule}
    return serialized(messages.CurrentAndNextFeeSchedule, both)


def _settings(values: dict[str, str]) -> bytes:
    named = [{"name": name, "value": value} for name, value in values.items()]
    return serialized(messages.ServicesConfigurationList, {"nameValue": named})
