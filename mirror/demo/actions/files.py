"""Files of people: creating, appending to, updating and deleting them."""

import json
from typing import Any

from mirror.core.values.hapi.messages import KeyList
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND
from mirror.demo.network import Network, NotPossible, required, weighted
from mirror.demo.streams.plain import serialized
from mirror.demo.world.files import APPEND, CREATE, UPDATE, Change, File

_MAX_FILES = 60
_GOODS = ("Apples", "Bread", "Coffee", "Dates", "Eggs", "Figs", "Honey", "Olives", "Rice", "Tea", "Walnuts")
_PLACES = ("Accra", "Bergen", "Cusco", "Dhaka", "Edirne", "Fukuoka", "Ghent", "Havana")


def create(network: Network) -> None:
    """Create a price list or a log of temperatures."""
    owner = network.person()
    if owner.key is None or len(_living(network)) >= _MAX_FILES:
        raise NotPossible
    created = File(network.new_number(), network.now, owner.number, key_list(owner.key))
    place = network.choose.choice(_PLACES)
    if network.choose.random() < 0.5:
        created.memo, contents = f"Prices, {place}", _price_list(network)
    else:
        created.memo, contents = f"Temperatures, {place}", b"time,celsius\n"
    created.expiration = _in_days(network, 90)
    store(network, created, contents)


def store(network: Network, created: File, contents: bytes, fee: int | None = None) -> None:
    created.changes.append(Change(network.now, CREATE, contents))
    network.world.files[created.number] = created
    body: dict[str, Any] = {"keys": created.keys, "memo": created.memo, "contents": contents}
    body["expirationTime"] = created.expiration
    network.submit("fileCreate", body, payer=created.owner, receipt={"fileID": created.number}, fee=fee)


def add(network: Network, file: File, contents: bytes) -> None:
    file.changes.append(Change(network.now, APPEND, contents))
    network.submit("fileAppend", {"fileID": file.number, "contents": contents}, payer=file.owner)


def remove(network: Network, file: File) -> None:
    file.deleted = True
    network.submit("fileDelete", {"fileID": file.number}, payer=file.owner)


def key_list(key: bytes) -> bytes:
    return serialized(KeyList, {"keys": [key]})


def append(network: Network) -> None:
    file = required(find_file(network))
    lines = (
        f"{(network.now // NANOS_PER_SECOND) - 60 * step},{network.choose.uniform(-9, 35):.1f}\n"
        for step in range(network.choose.randrange(2, 8), 0, -1)
    )
    add(network, file, "".join(lines).encode())


def update(network: Network) -> None:
    """Replace the contents, the memo or the expiry of a file."""
    file = required(find_file(network))
    body: dict[str, Any] = {"fileID": file.number}
    match network.choose.randrange(3):
        case 0:
            body["contents"] = _price_list(network)
        case 1:
            version = network.choose.randrange(2, 99)
            file.memo = body["memo"] = f"{file.memo.partition(' (')[0]} (version {version})"
        case _:
            file.expiration = body["expirationTime"] = _in_days(network, 180)
    # A change of something else leaves a row without contents.
    file.changes.append(Change(network.now, UPDATE, body.get("contents", b"")))
    network.submit("fileUpdate", body, payer=file.owner)


def delete(network: Network) -> None:
    remove(network, required(find_file(network)))


def change_invalid(network: Network) -> None:
    """Append to a deleted file, update a file of the network, or delete one that never was."""
    payer = network.person()
    deleted = [file for file in network.world.files.values() if file.deleted]
    body: dict[str, Any] = {"fileID": network.world.next_number + 1_000_000}
    kind, result = "fileDelete", "INVALID_FILE_ID"
    match network.choose.randrange(3):
        case 0 if deleted:
            body = {"fileID": network.pick(deleted).number, "contents": b"too late"}
            kind, result = "fileAppend", "FILE_DELETED"
        case 1:
            body = {"fileID": 112, "contents": b"hbar to the moon"}
            kind, result = "fileUpdate", "AUTHORIZATION_FAILED"
    network.submit(kind, body, payer=payer.number, result=result)


def _living(network: Network) -> list[File]:
    """Return the files of people that are not deleted and whose owner is not deleted."""
    files, accounts = network.world.files.values(), network.world.accounts
    return [
        file for file in files if file.number > 1000 and not file.deleted and not accounts[file.owner].deleted
    ]


def find_file(network: Network) -> File | None:
    """Return a file whose owner can pay for a change; None if there is none."""
    return network.find([file for file in _living(network) if network.can_pay(file.owner)])


def _price_list(network: Network) -> bytes:
    goods = network.choose.sample(_GOODS, 4)
    prices = {name: f"{network.choose.randrange(5, 400) / 10:.2f}" for name in goods}
    return json.dumps({"currency": "HBAR", "prices": prices}, indent=2).encode()


def _in_days(network: Network, days: int) -> int:
    return (network.now // NANOS_PER_SECOND + 1) * NANOS_PER_SECOND + days * NANOS_PER_DAY


ACTIONS = weighted((1, create, append, update), (0, delete, change_invalid))
