"""The contract in the path: `contracts/{contractIdOrAddress}` and what is below it.

A number and a long-zero address stand for themselves, whether or not there is such a contract. Another EVM
address stands for the one contract or account that bears it now.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.queries import entities
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import InternalError
from mirror.core.rest.parameters.entity_ids import is_entity_id, read_entity_id, read_in_path, require_form
from mirror.core.rest.views import ReadView
from mirror.core.values import entity_id

#: What errors call it.
CONTRACT = "contractid"

_ADDRESS = re.compile(r"(?:0x|(?:[0-9]{1,4}\.)?[0-9]{1,5}\.)?([0-9a-fA-F]{40})")


class ContractAddress(NamedTuple):
    """An EVM address that is not long-zero, and its text, maybe with shard and realm."""

    evm_address: bytes
    text: str


#: What a request can call a contract by.
ContractName = int | ContractAddress


def read_contract(text: str) -> ContractName:
    """Return the contract's name, whatever shard and realm. Errors: NotAnEntityId, InvalidEntityId."""
    if match := _ADDRESS.fullmatch(text):
        address = bytes.fromhex(match[1])
        if entity_id.num_of_long_zero(address) is None:
            return ContractAddress(address, text)
    contract_id = read_entity_id(text)
    assert isinstance(contract_id, int)
    return contract_id


def find_contract(text: str) -> int | None:
    """Return the id of the contract or account in the path; None if unknown. Errors: InvalidParameter."""
    name = read_in_path(read_contract, text, CONTRACT)
    (contract_id,) = find_contracts([Comparison("eq", name)])
    return contract_id.value  # type: ignore[no-any-return]


def find_contracts(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with encoded ids in place of names; None for an unknown address."""
    addresses = {name.evm_address for _, name in comparisons if isinstance(name, ContractAddress)}
    ids = entities.contracts_and_accounts_of_evm_addresses(list(addresses)) if addresses else {}
    for evm_address, several in ids.items():
        if len(several) > 1:
            address = f"0x{evm_address.hex()}"
            raise InternalError(
                f"More than one contract or account with the evm address {address} have been found."
            )
    return [
        Comparison(
            operator, ids.get(name.evm_address, [None])[0] if isinstance(name, ContractAddress) else name
        )
        for operator, name in comparisons
    ]


class OfContract(ReadView):
    """An endpoint of one contract or below it. Its path part is `{contractIdOrAddress}`.

    `read` gets as `contract` a text that has the form of a name, and turns it into an id by find_contract
    once everything else in the request has proved right.
    """

    path_first = True

    def resolve(self, **path: str) -> dict[str, Any]:
        text = path.pop("contract_id_or_address")
        require_form(is_entity_id, text, CONTRACT)
        return {**path, "contract": text}
