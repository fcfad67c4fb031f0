"""The contract in the path: `contracts/{contractIdOrAddress}` and what is below it.

A number and a long-zero address stand for themselves, whether or not there is such a contract. Another EVM
address stands for the one contract or account that bears it now.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.queries import entities
from mirror.db.sql import Comparison
from mirror.rest.answers import absent
from mirror.rest.answers.errors import InternalError, InvalidParameter, NotFound
from mirror.rest.answers.views import ReadView
from mirror.rest.parameters.entity_ids import is_entity_id, read_entity_id
from mirror.values import entity_id

#: What errors call it.
CONTRACT = "contractid"

_ADDRESS = re.compile(r"(?:0x|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.)?([0-9a-fA-F]{40})")


class ContractAddress(NamedTuple):
    """An EVM address that is not long-zero, and its digits as they were typed."""

    evm_address: bytes
    digits: str


#: What a request can call a contract by.
ContractName = int | ContractAddress


def read_contract(text: str) -> ContractName:
    """Return the contract's name in a text; shard and realm before an address that is looked up are ignored.

    Errors: NotAnEntityId, InvalidEntityId.
    """
    if match := _ADDRESS.fullmatch(text):
        address = bytes.fromhex(match[1])
        if entity_id.num_of_long_zero(address) is None:
            return ContractAddress(address, match[1])
    contract_id = read_entity_id(text)
    assert isinstance(contract_id, int)
    return contract_id


def find_contract(text: str) -> int:
    """Return the encoded id of the contract or account that a text names.

    Errors: InvalidEntityId; UnknownAddress.
    """
    (contract_id,) = find_contracts([Comparison("eq", read_contract(text))])
    return int(contract_id.value)


def known_contract(text: str) -> int | None:
    """Return the same, but None for an address of no contract or account. Errors: InvalidEntityId."""
    try:
        return find_contract(text)
    except UnknownAddress:
        return None


class UnknownAddress(NotFound):
    """No contract or account bears an EVM address."""


def find_contracts(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with encoded ids in place of names. Errors: as find_contract."""
    typed = {name.evm_address: name for _, name in comparisons if isinstance(name, ContractAddress)}
    ids = entities.contracts_and_accounts_of_evm_addresses(list(typed)) if typed else {}
    for evm_address, name in typed.items():
        if evm_address not in ids:
            raise UnknownAddress(
                f"No contract with the given evm address 0x{name.digits} has been found.",
                detail=absent.entity(),
            )
        if len(ids[evm_address]) > 1:
            raise InternalError(
                f"More than one contract or account with the evm address 0x{name.digits} have been found."
            )
    return [
        Comparison(operator, ids[name.evm_address][0] if isinstance(name, ContractAddress) else name)
        for operator, name in comparisons
    ]


def only(ids: Sequence[int]) -> int:
    """Return the only id. Errors: InternalError if there are several."""
    if len(ids) > 1:
        raise InternalError("several entities have this alias or EVM address")
    return ids[0]


class OfContract(ReadView):
    """An endpoint of one contract or below it. Its path part is `{contractIdOrAddress}`.

    `read` gets as `contract` a text that has the form of a name, and turns it into an id by find_contract
    once everything else in the request has proved right.
    """

    path_first = True

    def resolve(self, **path: str) -> dict[str, Any]:
        text = path.pop("contract_id_or_address")
        if not is_entity_id(text):
            raise InvalidParameter(CONTRACT)
        return {**path, "contract": text}
