"""GET /api/v1/contracts and /api/v1/contracts/{contractIdOrAddress}: contracts with their code.

Source: entity and contract; at a time also entity_history; the bytecode of older contracts is the text of a
file (file_data). Errors: 400 malformed parameter or path; 404 no such contract, or none at the time.
"""

from typing import Any, TypedDict

from rest_framework.response import Response

from contracts.queries import contracts as queries
from contracts.queries.contracts import Contract
from ledger.api.names.contracts import (
    CONTRACT,
    ContractAddress,
    ContractName,
    OfContract,
    find_contracts,
    read_contract,
)
from ledger.queries import files
from ledger.queries.system_files import LAST_SYSTEM_FILE_NUM
from ledger.queries.versions_at import VersionRange
from mirror.core.db.reading.sql import MAX_INT64, Comparison, compare
from mirror.core.db.sql.bounds import Bounds
from mirror.core.rest.answers import not_loaded
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.views import ReadView
from mirror.core.rest.parameters.entity_ids import NotAnEntityId
from mirror.core.rest.parameters.parameter_set import InvalidValue, ParameterSet
from mirror.core.rest.parameters.types import (
    EntityIdParameter,
    LimitParameter,
    OrderParameter,
    TimestampParameter,
)
from mirror.core.values import entity_id, hexadecimal, keys, timestamp
from mirror.core.values.json_types import (
    EntityId,
    EvmAddress,
    Hex,
    Int32,
    Int64,
    KeyJson,
    Page,
    Timestamp,
    TimestampRangeJson,
)
from mirror.core.values.timestamp import NANOS_PER_SECOND

_HEX_DIGITS = 40  # of an EVM address


# PARAMETERS
class ContractIdParameter(EntityIdParameter):
    """A ContractName: an id in any form but 0x, or with eq alone an EVM address."""

    schema = {"type": "string"}
    out_of_range = CONTRACT

    def value_of(self, text: str) -> ContractName:
        if text.startswith("0x"):
            raise NotAnEntityId(text)
        return read_contract(text)

    def comparison(self, text: str, split: Any) -> Comparison:
        comparison = super().comparison(text, split)
        if comparison.operator != "eq" and len(text.rpartition(":")[2]) >= _HEX_DIGITS:
            raise InvalidValue(text)
        return comparison


class ContractsParameters(ParameterSet):
    contract_id = ContractIdParameter("contract.id", help="Contract id, or EVM address without 0x.")
    limit = LimitParameter()
    order = OrderParameter("desc")


class ContractParameters(ParameterSet):
    timestamp = TimestampParameter("timestamp", help="Time of the contract's state.")


# QUERY
def chosen(names: list[Comparison]) -> list[Comparison]:
    """Return the comparisons with encoded ids. Errors: NotFound for an unknown address without a realm."""
    comparisons = find_contracts(names)
    for (_, name), (_, contract_id) in zip(names, comparisons, strict=True):
        if contract_id is None and "." not in name.text:
            raise NotFound(
                f"No contract with the given evm address 0x{name.text} has been found.",
                detail=not_loaded.entity(),
            )
    return comparisons


def contract_at(name: int | bytes, comparisons: list[Comparison]) -> Contract | None:
    """Return the contract as it was at the timestamps, or without any as it is now."""
    if not comparisons:
        return queries.contract(name, None)
    return queries.contract(name, VersionRange.of(Bounds.of(comparisons)))


def bytecode(contract: Contract) -> str:
    """Return the code a contract was created with, in hex: the text of its file then, or its initcode."""
    if contract.file_id is not None and entity_id.decode(contract.file_id)[2] > LAST_SYSTEM_FILE_NUM:
        created = contract.created_timestamp
        content = files.content(contract.file_id, MAX_INT64 if created is None else created)
        text = (content or b"").decode("utf-8", "replace")
        return text if text.startswith("0x") else f"0x{text}"
    return hexadecimal.text(contract.initcode or b"")


# JSON
class ContractJson(TypedDict):
    admin_key: KeyJson | None
    auto_renew_account: EntityId | None
    auto_renew_period: Int64 | None
    contract_id: EntityId | None
    created_timestamp: Timestamp | None
    deleted: bool | None
    evm_address: EvmAddress | None
    expiration_timestamp: Timestamp | None
    file_id: EntityId | None
    max_automatic_token_associations: Int32 | None
    memo: str | None
    nonce: Int64 | None
    obtainer_id: EntityId | None
    permanent_removal: bool | None
    proxy_account_id: EntityId | None
    timestamp: TimestampRangeJson


class ContractsJson(Page):
    contracts: list[ContractJson]


class ContractWithCodeJson(ContractJson):
    bytecode: str
    runtime_bytecode: Hex


def contract_json(contract: Contract) -> ContractJson:
    return {
        "admin_key": keys.key_json(contract.key),
        "auto_renew_account": entity_id.text(contract.auto_renew_account_id),
        "auto_renew_period": contract.auto_renew_period,
        "contract_id": entity_id.text(contract.id),
        "created_timestamp": timestamp.text(contract.created_timestamp),
        "deleted": contract.deleted,
        "evm_address": hexadecimal.text(contract.evm_address or entity_id.long_zero(contract.id)),
        "expiration_timestamp": timestamp.text(_expiration(contract)),
        "file_id": entity_id.text(contract.file_id),
        "max_automatic_token_associations": contract.max_automatic_token_associations,
        "memo": contract.memo,
        "nonce": contract.ethereum_nonce,
        "obtainer_id": entity_id.text(contract.obtainer_id),
        "permanent_removal": contract.permanent_removal,
        "proxy_account_id": entity_id.text(contract.proxy_account_id),
        "timestamp": timestamp.range_json(contract.since, contract.until),
    }


def _expiration(contract: Contract) -> int | None:
    if contract.expiration_timestamp is not None:
        return contract.expiration_timestamp
    if contract.created_timestamp is None or contract.auto_renew_period is None:
        return None
    return contract.created_timestamp + contract.auto_renew_period * NANOS_PER_SECOND


# VIEWS
class Contracts(ReadView):
    """List contracts.

    Newest first, without their code.
    """

    parameters, max_age, answers = ContractsParameters, 10, ContractsJson
    paging = {"contract.id": "contract_id"}

    def read(self, parameters: ContractsParameters) -> Response:
        rows = queries.contracts(self.query.filter(compare("id", chosen(parameters.contract_id))))
        return self.page("contracts", [contract_json(row) for row in rows])


class ContractOfIdOrAddress(OfContract):
    """Get a contract with its code.

    With `timestamp` as it was at that time.
    """

    parameters, answers = ContractParameters, ContractWithCodeJson

    def read(self, parameters: ContractParameters, contract: str) -> ContractWithCodeJson:
        name = read_contract(contract)
        row = contract_at(
            name.evm_address if isinstance(name, ContractAddress) else name, parameters.timestamp
        )
        if row is None:
            raise NotFound(detail=not_loaded.entity())
        return {
            **contract_json(row),
            "bytecode": bytecode(row),
            "runtime_bytecode": hexadecimal.text(row.runtime_bytecode or b""),
        }
