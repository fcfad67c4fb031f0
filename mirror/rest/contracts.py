"""The contract in the path: `contracts/{contractIdOrAddress}` and what is below it.

A number and a long-zero address stand for themselves, whether or not there is such a contract. Another EVM
address stands for the one contract that bears it now.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.queries import entities
from mirror.db.sql import Comparison
from mirror.rest.entities import NotAnEntityId, read_entity_id
from mirror.rest.errors import InternalError, InvalidEntityId, InvalidParameter, NotFound
from mirror.rest.views import ReadView
from mirror.values import entity_id

_CONTRACT = "contractid"
_ADDRESS = re.compile(r"(?:0x|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.)?([0-9a-fA-F]{40})")


class ContractAddress(NamedTuple):
    """An EVM address that is not long-zero, and its digits as they were typed."""

    evm_address: bytes
    digits: str


#: What a request can call a contract by.
ContractName = int | ContractAddress


def read_contract(text: str) -> ContractName:
    """What a text calls a contract by; shard and realm before an address that is looked up don't count.

    Errors: NotAnEntityId, InvalidEntityId.
    """
    if match := _ADDRESS.fullmatch(text):
        address = bytes.fromhex(match[1])
        if entity_id.num_of_long_zero(address) is None:
            return ContractAddress(address, match[1])
    found = read_entity_id(text)
    assert isinstance(found, int)
    return found


def find_contract(name: ContractName) -> int:
    """The encoded id of the contract of that name. Errors: NotFound for an address of no contract."""
    (found,) = find_contracts([Comparison("eq", name)])
    return int(found.value)


def find_contracts(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with encoded ids in the place of names. Errors: as find_contract."""
    typed = {name.evm_address: name for _, name in comparisons if isinstance(name, ContractAddress)}
    known = entities.contracts_of_evm_addresses(list(typed)) if typed else {}
    for evm_address, name in typed.items():
        if evm_address not in known:
            raise NotFound(f"No contract with the given evm address 0x{name.digits} has been found.")
    return [
        Comparison(operator, only(known[name.evm_address]) if isinstance(name, ContractAddress) else name)
        for operator, name in comparisons
    ]


def only(ids: Sequence[int]) -> int:
    """The one id. Errors: InternalError if there are several."""
    if len(ids) > 1:
        raise InternalError
    return ids[0]


class OfContract(ReadView):
    """An endpoint of one contract or below it. Its path part is `{contractIdOrAddress}`.

    `read` gets its name as `contract`, and turns it into an id by find_contract once everything else in the
    request has proved right.
    """

    path_first = True

    def resolve(self, **path: str) -> dict[str, Any]:
        text = path.pop("contract_id_or_address")
        try:
            return {**path, "contract": read_contract(text)}
        except (NotAnEntityId, InvalidEntityId):
            raise InvalidParameter(_CONTRACT) from None
